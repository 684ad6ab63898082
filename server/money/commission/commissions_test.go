package commission_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

func TestCommissionFields(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program(M{"holding_period_days": 10})
	partner := s.Partner(program)
	customer := s.Customer(program, partner)
	flow := s.Flow(program, M{"approval_mode": "manual"})
	sale := s.Sale(program, customer, M{"currency": "eur"}).String("id")
	k, ok := s.SoleCommission(program, sale)
	require.True(t, ok)
	require.EqualValues(t, 1000, k.Int("amount_minor"))
	require.EqualValues(t, 4999, k.Int("revenue_minor"))
	one := s.Must(200, s.Get("/v1/commissions/"+k.String("id")))
	require.Equal(t, apitest.JSONOf(t, k.Body), apitest.JSONOf(t, one.Body))
	delete(k.Body, "amount_minor")
	delete(k.Body, "revenue_minor")
	require.Equal(t, M{
		"id": k.String("id"), "object": "commission", "program_id": program, "partner_id": partner, "sale_id": sale,
		"customer_id": customer, "flow_id": flow,
		"flow_branch_id": nil, "kind": "referral", "currency": "EUR", "status": "pending",
		"mature_at": "2026-09-11T12:00:00.000Z", "approved_at": nil,
		"voided_at": nil, "void_reason": nil, "payout_id": nil, "metadata": nil, "created_at": "2026-09-01T12:00:00.000Z",
		"updated_at": "2026-09-01T12:00:00.000Z",
	}, k.Body)
	stranger := apitest.On(t, s.DSN, s.Clock)
	stranger.Refused(404, "resource_not_found", "", stranger.Get("/v1/commissions/"+k.String("id")))
}

// TestCommissionStatus: the approval mode and the holding period decide the first status
// (decisions, 102).
func TestCommissionStatus(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, c := range []struct {
		hold         int
		flow         M
		status       string
		pending, due int64
	}{
		{0, nil, "due", 0, 1000},
		{30, nil, "approved", 1000, 0},
		{0, M{"approval_mode": "manual"}, "pending", 1000, 0},
		{0, M{"approval_mode": "after_days", "approval_delay_days": 5}, "pending", 1000, 0},
	} {
		program := s.Program(M{"holding_period_days": c.hold})
		partner := s.Partner(program)
		s.Flow(program, c.flow)
		sale := s.Sale(program, s.Customer(program, partner)).String("id")
		k, ok := s.SoleCommission(program, sale)
		require.True(t, ok)
		require.Equal(t, c.status, k.String("status"), "%+v", c)
		require.Equal(t, c.status == "pending", k.Body["approved_at"] == nil, "%+v", c)
		pending, due, paid := s.Balance(program, partner, "USD")
		require.Equal(t, []int64{c.pending, c.due, 0}, []int64{pending, due, paid}, "%+v", c)
	}
}

func TestCommissionList(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ann, bob := s.Partner(program), s.Partner(program)
	flow := s.Flow(program)
	customers := map[string]string{ann: s.Customer(program, ann), bob: s.Customer(program, bob)}
	var all, anns []string
	var sale string
	for i := range 5 {
		s.Clock.Advance(time.Minute)
		if i == 4 {
			s.Must(200, s.Post("/v1/flows/"+flow, M{"approval_mode": "manual"}))
		}
		partner := []string{ann, bob}[i%2]
		sale = s.Sale(program, customers[partner]).String("id")
		k, ok := s.SoleCommission(program, sale)
		require.True(t, ok)
		all = slices.Insert(all, 0, k.String("id"))
		if partner == ann {
			anns = slices.Insert(anns, 0, k.String("id"))
		}
	}
	base := "/v1/commissions?program_id=" + program
	apitest.PagedBothWays(t, s, base, all)
	apitest.PagedBothWays(t, s, base+"&partner_id="+ann, anns)
	apitest.PagedBothWays(t, s, base+"&sale_id="+sale, all[:1])
	apitest.PagedBothWays(t, s, base+"&status=pending", all[:1])
	apitest.PagedBothWays(t, s, base+"&status=due", all[1:])
	apitest.PagedBothWays(t, s, base+"&status=due,pending&kind=referral", all)
	require.EqualValues(t, 0, s.Get(base+"&kind=clawback,reward").Int("total_count"))
	apitest.PagedBothWays(t, s, base+"&created_after=2026-09-01&created_before=2026-09-02", all)
	for _, none := range []string{"&created_after=2099-01-01", "&created_before=2026-09-01"} {
		require.EqualValues(t, 0, s.Get(base+none).Int("total_count"))
	}
	s.Refused(400, "parameter_invalid", "created_after", s.Get(base+"&created_after=today"))
	s.Refused(400, "parameter_invalid", "status", s.Get(base+"&status=open"))
	s.Refused(400, "parameter_invalid", "kind", s.Get(base+"&kind=bonus"))
	s.Refused(404, "resource_not_found", "payout_id", s.Get(base+"&payout_id=pyt_none"))
	s.Refused(400, "invalid_reference", "sale_id", s.Get("/v1/commissions?program_id="+s.Program()+"&sale_id="+sale))
	s.Refused(400, "invalid_cursor", "starting_after", s.Get(base+"&partner_id="+bob+"&starting_after="+anns[0]))

	for _, path := range []string{base + "&limit=1", "/v1/commissions/" + all[0] + "?program_id=" + program} {
		full := s.Must(200, s.Get(path+"&expand[]=partner&expand[]=customer&expand[]=sale&expand=flow,payout"))
		k := full.Body
		if len(full.Data()) > 0 {
			k = full.Data()[0]
		}
		require.Equal(t, ann, k["partner"].(M)["id"])
		require.Equal(t, customers[ann], k["customer"].(M)["id"])
		require.Equal(t, sale, k["sale"].(M)["id"])
		require.Equal(t, flow, k["flow"].(M)["id"])
		require.Nil(t, k["payout"])
	}
	s.Must(200, s.Delete("/v1/flows/"+flow))
	k := s.Must(200, s.Get("/v1/commissions/"+all[0]+"?expand=flow"))
	require.Equal(t, flow, k.String("flow_id"), "the id stays")
	flowShown, present := k.Body["flow"]
	require.True(t, present)
	require.Nil(t, flowShown, "a deleted flow expands to null")
}
