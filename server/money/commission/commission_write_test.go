package commission_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestManualCommission(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 10})
	partner := s.Partner(program)
	reward := s.Must(201, apitest.Grant(s, program, partner))
	require.Equal(t, "reward", reward.String("kind"))
	require.Equal(t, "approved", reward.String("status"))
	require.Equal(t, "USD", reward.String("currency"))
	require.Equal(t, "2026-09-11T12:00:00.000Z", reward.String("mature_at"))
	require.Equal(t, s.Clock.Now().String(), reward.String("approved_at"))
	require.Nil(t, reward.Body["flow_id"])
	clawback := s.Must(201, apitest.Grant(s, program, partner, M{"amount_minor": -200, "currency": "eur"}))
	require.Equal(t, []string{"clawback", "due", "EUR"}, []string{
		clawback.String("kind"), clawback.String("status"), clawback.String("currency"),
	})
	require.Equal(t, []string{"affiliate.created", "commission.created", "commission.updated", "commission.created"},
		s.EventTypes(program))
	events := s.Events(program)
	created := apitest.Answer{Body: events[1].Body["data"].(M)}
	require.Equal(t, "pending", created.String("status"))
	require.Nil(t, created.Body["rule_id"])
	require.Equal(t, "due", apitest.Answer{Body: events[3].Body["data"].(M)}.String("status"))
	pending, due, _ := s.Balance(program, partner, "USD")
	require.Equal(t, []int64{500, 0}, []int64{pending, due})
	_, due, _ = s.Balance(program, partner, "EUR")
	require.EqualValues(t, -200, due)
	log := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+program+"&target_id="+reward.String("id")))
	require.EqualValues(t, 1, log.Int("total_count"))
	line := apitest.Answer{Body: log.Data()[0]}
	require.Equal(t, []string{"commission.created", "A good year."}, []string{
		line.String("action"), line.String("reason"),
	})
	require.NotEmpty(t, line.String("api_key_id"))
	require.Equal(t, reward.Header.Get("Rail-Request-Id"), line.String("request_id"))
	apitest.Balanced(t, s)
}

func TestManualCommissionRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	partner, stranger := s.Partner(program), s.Partner(other)
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"amount_minor": 0}, 400, "parameter_invalid", "amount_minor"},
		{M{"amount_minor": nil}, 400, "parameter_invalid", "amount_minor"},
		{M{"reason": nil}, 400, "parameter_invalid", "reason"},
		{M{"currency": "XYZ"}, 400, "parameter_invalid", "currency"},
		{M{"partner_id": "part_none"}, 404, "resource_not_found", "partner_id"},
		{M{"partner_id": stranger}, 400, "invalid_reference", "partner_id"},
		{M{"customer_id": s.Customer(other, stranger)}, 400, "invalid_reference", "customer_id"},
		{M{"sale_id": "sale_none"}, 404, "resource_not_found", "sale_id"},
		{M{"program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
	} {
		s.Refused(c.status, c.code, c.param, apitest.Grant(s, program, partner, c.body))
	}
	require.EqualValues(t, 0, s.Get("/v1/commissions?program_id="+program).Int("total_count"))
}

func TestCommissionDecisions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 5})
	partner := s.Partner(program)
	s.Flow(program, M{"approval_mode": "manual"})
	customer := s.Customer(program, partner)
	earned := func() string {
		sale := s.Sale(program, customer)
		return s.Must(200,
			s.Get("/v1/commissions?program_id="+program+"&sale_id="+sale.String("id"))).Data()[0]["id"].(string)
	}
	early, late, bad := earned(), earned(), earned()
	approved := s.Must(200, s.Post("/v1/commissions/"+early+"/approve", M{"reason": "fine"}))
	require.Equal(t, "approved", approved.String("status"))
	s.Clock.Advance(5 * 24 * time.Hour)
	require.Equal(t, "due", s.Must(200, s.Post("/v1/commissions/"+late+"/approve", nil)).String("status"))
	rejected := s.Must(200, s.Post("/v1/commissions/"+bad+"/reject", M{"reason": "fraud"}))
	require.Equal(t, []string{"rejected", "fraud", s.Clock.Now().String()}, []string{
		rejected.String("status"), rejected.String("void_reason"), rejected.String("voided_at"),
	})
	for id, status := range map[string]string{early: "approved", late: "due", bad: "rejected"} {
		refused := s.Refused(409, "commission_not_pending", "", s.Post("/v1/commissions/"+id+"/approve", nil))
		require.Contains(t, string(refused.Raw), status)
	}
	s.Refused(409, "commission_not_open", "", s.Post("/v1/commissions/"+bad+"/reject", M{"reason": "again"}))
	s.Refused(400, "parameter_missing", "reason", s.Post("/v1/commissions/"+late+"/reject", M{}))
	s.Refused(404, "resource_not_found", "", s.Post("/v1/commissions/com_none/approve", nil))
	types := s.EventTypes(program)
	require.Equal(t, []string{"commission.updated", "commission.updated", "commission.updated"}, types[len(types)-3:])
	pending, due, _ := s.Balance(program, partner, "USD")
	require.Equal(t, []int64{1000, 1000}, []int64{pending, due})
	require.EqualValues(t, 3, s.Get("/v1/audit_log_entries?program_id="+program).Int("total_count"))
	require.EqualValues(t, 1,
		s.Get("/v1/audit_log_entries?program_id="+program+"&action=commission.rejected").Int("total_count"))
	apitest.Balanced(t, s)
}

func TestMaturity(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 3})
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	flow := s.Flow(program, M{"approval_mode": "after_days", "approval_delay_days": 1})
	s.Sale(program, customer)
	s.Sale(program, customer, M{"occurred_at": "2026-08-20T00:00:00Z"})
	s.Must(200, s.Post("/v1/flows/"+flow, M{"approval_mode": "immediate"}))
	s.Sale(program, customer)
	statuses := func() (out []string) {
		for _, k := range s.Get("/v1/commissions?program_id=" + program).Data() {
			out = append(out, fmt.Sprint(k["status"]))
		}
		return out
	}
	run := func() { apitest.RunJob(t, s, "approve-commissions"); apitest.RunJob(t, s, "mature-commissions") }
	run()
	require.Equal(t, []string{"approved", "pending", "pending"}, statuses())
	s.Clock.Advance(24 * time.Hour)
	run()
	require.Equal(t, []string{"approved", "due", "approved"}, statuses())
	s.Clock.Advance(48*time.Hour - time.Microsecond)
	run()
	require.Equal(t, []string{"approved", "due", "approved"}, statuses(), "not a moment too early")
	s.Clock.Advance(time.Microsecond)
	before := apitest.Tally(s, program, "commission.updated")
	apitest.AtOnce(4, func(int) apitest.Answer { run(); return apitest.Answer{} })
	require.Equal(t, []string{"due", "due", "due"}, statuses())
	require.Equal(t, before+2, apitest.Tally(s, program, "commission.updated"), "several replicas do it once")
	_, due, _ := s.Balance(program, partner, "USD")
	require.EqualValues(t, 3000, due)
	events := s.Events(program)
	require.Regexp(t, `^run_`, events[len(events)-1].Body["request"].(M)["id"])
	apitest.Balanced(t, s)
}

func TestMaturing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 10})
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	s.Flow(program)
	for _, day := range []string{"2026-08-25T23:59:59.999Z", "2026-08-26T00:00:00Z", "2026-08-24T00:00:00Z"} {
		s.Sale(program, customer, M{"occurred_at": day})
	}
	get := func(query string) apitest.Answer {
		return s.Get("/v1/commissions/maturing?program_id=" + program + query)
	}
	times := func(query string) (out []string) {
		for _, k := range s.Must(200, get(query)).Data() {
			out = append(out, k["mature_at"].(string))
		}
		return out
	}
	require.Equal(t, []string{"2026-09-03T00:00:00.000Z", "2026-09-04T23:59:59.999Z"},
		times("&from=2026-09-01&to=2026-09-04"))
	require.Equal(t, []string{"2026-09-05T00:00:00.000Z"},
		times("&from=2026-09-05&to=2026-09-05T00:00:00Z&status=approved"))
	require.Empty(t, times("&from=2026-09-01&to=2026-09-30&status=pending,due"))
	first := get("&from=2026-09-01&to=2026-09-30&limit=1&expand=sale,partner").Data()[0]
	require.Equal(t, partner, first["partner"].(M)["id"])
	require.Len(t, times("&from=2026-09-01&to=2026-09-30&limit=1&starting_after="+first["id"].(string)), 1)
	require.Empty(t, times("&from=2026-09-01&to=2026-09-30&ending_before="+first["id"].(string)))
	s.Refused(400, "parameter_missing", "to", get("&from=2026-09-01"))
	s.Refused(400, "parameter_invalid", "from", get("&from=soon&to=2026-09-01"))
	s.Refused(400, "parameter_invalid", "to", get("&from=2026-09-02&to=2026-09-01"))
	s.Refused(400, "invalid_cursor", "starting_after",
		get("&from=2026-09-04&to=2026-09-30&starting_after="+first["id"].(string)))
}

func TestReferralsExpire(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"cookie_days": 1})
	s.Partner(program, M{"handle": "expiring"})
	s.Click(program, "expiring")
	current := func() (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM referrals WHERE current").Scan(&n))
		return n
	}
	apitest.RunJob(t, s, "expire-referrals")
	require.Equal(t, 1, current())
	s.Clock.Advance(24 * time.Hour)
	apitest.RunJob(t, s, "expire-referrals")
	require.Equal(t, 0, current())
}

// TestRetrieveAuditLogEntry: the retrieved entry equals the entry of the list. Entries about
// console users are in no list and cannot be retrieved.
func TestRetrieveAuditLogEntry(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	reward := s.Must(201, s.Post("/v1/commissions", M{
		"program_id": program, "partner_id": s.Partner(program), "amount_minor": 500, "reason": "Thanks",
	}))
	listed := s.Get("/v1/audit_log_entries?program_id=" + program + "&target_id=" + reward.String("id")).Data()[0]
	url := "/v1/audit_log_entries/" + listed["id"].(string)
	require.Equal(t, listed, s.Must(200, s.Get(url)).Body)
	s.Refused(404, "resource_not_found", "program_id", s.Get(url+"?program_id="+s.Program()))
	stranger := s.NewKey(s.NewOrg("Stranger"), true, "read")
	s.Refused(404, "resource_not_found", "", s.Do("GET", url, stranger, nil))
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, actor_type,
		after, created_at) VALUES ('aud_people', $1, $1, 'user.invited', 'usr_1', 'operator', '{}', now())`, s.Org)
	require.NoError(t, err)
	s.Refused(404, "resource_not_found", "", s.Get("/v1/audit_log_entries/aud_people"))
}
