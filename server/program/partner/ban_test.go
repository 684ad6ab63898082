package partner_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// money is an amount in a ban's response.
func money(currency, minor string) M {
	return M{"currency": currency, "amount_minor": json.Number(minor)}
}

// openCount counts the partner's commissions that are not paid yet.
func openCount(s *apitest.Server, program, partner string) int64 {
	list := s.Must(200, s.Get("/v1/commissions?program_id="+program+"&partner_id="+partner+
		"&status=pending,approved,due&kind=referral,reward&limit=1"))
	return list.Int("total_count")
}

// A ban suspends the partner, rejects all open commissions, including those in a payout, and
// disables coupons. A dry run returns the same response and changes nothing.
func TestBanPartner(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	e := s.Earner()
	s.Flow(e.ProgramID)
	partner, _ := e.Referrer(10000, 5000)
	e.Batch(201)
	payout := e.Payouts("&partner_id=" + partner)[0].String("id")
	s.Must(201, apitest.Grant(s, e.ProgramID, partner, M{"amount_minor": 700, "currency": "EUR"}))
	s.Must(201, apitest.Grant(s, e.ProgramID, partner, M{"amount_minor": -300}))
	s.Must(201, s.Post("/v1/links", M{"program_id": e.ProgramID, "partner_id": partner, "destination_url": "https://shop.example"}))
	coupon := s.Must(201, s.Post("/v1/coupons", M{"program_id": e.ProgramID, "partner_id": partner, "code": "ADA20"})).String("id")
	path := "/v1/partners/" + partner + "/ban"
	before := len(s.Events(e.ProgramID))

	expected := M{
		"object": "partner_ban", "dry_run": true, "rejected_count": json.Number("3"),
		"rejected": []any{money("EUR", "700"), money("USD", "3000")}, "kept_count": json.Number("1"), "kept": []any{money("USD", "-300")},
		"remaining_count": json.Number("0"), "links_stopped": json.Number("1"), "coupons_stopped": json.Number("1"),
	}
	preview := s.Must(200, s.Post(path, M{"reason": "Stolen cards.", "dry_run": true}))
	require.Equal(t, "active", preview.Body["partner"].(M)["status"])
	delete(preview.Body, "partner")
	require.Equal(t, expected, preview.Body)
	require.Len(t, s.Events(e.ProgramID), before, "a dry run does nothing")
	require.Equal(t, payout, e.Payouts("&partner_id=" + partner)[0].String("id"))

	done := s.Must(200, s.Post(path, M{"reason": "Stolen cards."}))
	banned := done.Body["partner"].(M)
	require.Equal(t, []any{"suspended", "Stolen cards."}, []any{banned["status"], banned["suspension_reason"]})
	delete(done.Body, "partner")
	expected["dry_run"] = false
	require.Equal(t, expected, done.Body)
	require.Equal(t, map[string]int{
		"commission.updated": 3, "payout.deleted": 1, "affiliate.updated": 1, "affiliate_coupon.deactivated": 1,
		"affiliate.banned": 1,
	}, counted(s.EventTypes(e.ProgramID)[before:]))
	require.Empty(t, e.Payouts("&partner_id="+partner), "nothing is left of the payout")
	require.Equal(t, false, s.Must(200, s.Get("/v1/coupons/"+coupon)).Body["active"])
	for _, k := range s.Must(200, s.Get("/v1/commissions?program_id="+e.ProgramID+"&status=rejected")).Data() {
		require.Equal(t, "Stolen cards.", k["void_reason"])
	}
	log := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+e.ProgramID)).Data()
	require.Equal(t, "partner.banned", log[0]["action"])
	require.Equal(t, "Stolen cards.", log[0]["reason"])
	apitest.Balanced(t, s)

	again := s.Must(200, s.Post(path, M{"reason": "Stolen cards."}))
	require.EqualValues(t, 0, again.Int("rejected_count"))
	var mails int
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM mails WHERE purpose = 'partner_banned' AND plain LIKE '%Stolen cards.%'").Scan(&mails))
	require.Equal(t, 1, mails, "the same ban again tells nobody")
}

// counted counts how often each text occurs.
func counted(texts []string) map[string]int {
	out := map[string]int{}
	for _, x := range texts {
		out[x]++
	}
	return out
}

// Payouts in flight remain and are reported. A quiet ban sends no mail.
func TestBanKeepsInFlight(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	e := s.Earner()
	s.Flow(e.ProgramID)
	partner, _ := e.Referrer(10000)
	e.Batch(201)
	_, err := s.Pool.Exec(t.Context(), "UPDATE payouts SET status = 'processing', rail = 'test'")
	require.NoError(t, err)
	done := s.Must(200, s.Post("/v1/partners/"+partner+"/ban", M{"reason": "Spam.", "tell_partner": false}))
	require.Equal(t, []any{money("USD", "2000")}, done.Body["kept"])
	require.Equal(t, []any{}, done.Body["rejected"])
	var mails int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM mails WHERE purpose = 'partner_banned'").Scan(&mails))
	require.Zero(t, mails)
	apitest.Balanced(t, s)
}

func TestBanRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	pending := s.Partner(program, M{"status": "pending"})
	ban := func(id string, body M) apitest.Answer { return s.Post("/v1/partners/"+id+"/ban", body) }
	s.Refused(400, "parameter_missing", "reason", ban(partner, M{}))
	s.Refused(400, "parameter_invalid", "reason", ban(partner, M{"reason": strings.Repeat("x", 1001)}))
	for _, dry := range []bool{true, false} {
		s.Refused(409, "partner_not_reviewed", "status", ban(pending, M{"reason": "Spam.", "dry_run": dry}))
	}
	narrow := s.NewKey(s.Org, true, "partners:write", "commissions:write")
	s.Refused(403, "insufficient_scope", "", s.Do("POST", "/v1/partners/"+partner+"/ban", narrow, M{"reason": "Spam."}))
}

// grantMany makes 5,002 commissions of 1 minor unit, more than one call rejects.
func grantMany(t *testing.T, s *apitest.Server, program, partner string) {
	t.Helper()
	s.Must(201, apitest.Grant(s, program, partner, M{"amount_minor": 1}))
	for _, statement := range []string{
		`INSERT INTO commissions (id, org_id, program_id, partner_id, kind, amount_minor, currency, status, mature_at,
			approved_at, created_at, updated_at)
		SELECT 'com_many' || n, org_id, program_id, partner_id, kind, amount_minor, currency, status, mature_at, approved_at,
			created_at, updated_at FROM commissions, generate_series(1, 5001) n`,
		`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
			amount_minor, created_at)
		SELECT l.org_id, l.program_id, l.partner_id, k.id, l.currency, l.from_bucket, l.to_bucket, l.amount_minor, l.created_at
		FROM ledger_entries l, commissions k WHERE starts_with(k.id, 'com_many')`,
		`INSERT INTO audit_log_entries SELECT (jsonb_populate_record(a, jsonb_build_object('id', 'aud_many' || n, 'target_id',
			'com_many' || n))).* FROM audit_log_entries a, generate_series(1, 5001) n WHERE a.action = 'commission.created'`,
	} {
		_, err := s.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
}

// One call rejects a limited number of commissions and returns how many remain.
func TestBanOfMany(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	grantMany(t, s, program, partner)
	path := "/v1/partners/" + partner + "/ban"
	require.EqualValues(t, 5002, s.Must(200, s.Post(path, M{"reason": "Spam.", "dry_run": true})).Int("rejected_count"))
	first := s.Must(200, s.Post(path, M{"reason": "Spam."}))
	require.Equal(t, []int64{5000, 2}, []int64{first.Int("rejected_count"), first.Int("remaining_count")})
	second := s.Must(200, s.Post(path, M{"reason": "Spam."}))
	require.Equal(t, []int64{2, 0}, []int64{second.Int("rejected_count"), second.Int("remaining_count")})
	require.Zero(t, openCount(s, program, partner))
	apitest.Balanced(t, s)
}

// After a ban that races with sales, sign-ups, refunds, decisions and payouts, no commission is
// open and the books balance. Each of these happens before the ban or after it.
func TestRaceBan(t *testing.T) {
	t.Parallel()
	const rounds, callers = 10, 24
	e := apitest.NewEarner(t)
	s := e.Server
	s.Flow(e.ProgramID, M{"trigger": "new_signup", "rate_type": "fixed", "rate_value": 500})
	for round := range rounds {
		partner, sales := e.Referrer(10000, 5000, 2500)
		customer := s.Customer(e.ProgramID, partner)
		commission := s.Get("/v1/commissions?program_id=" + e.ProgramID + "&partner_id=" + partner).Data()[0]["id"].(string)
		answers := apitest.AtOnce(callers, func(i int) apitest.Answer {
			switch i % 7 {
			case 0:
				return s.Post("/v1/sales", saleOf(e.ProgramID, customer, round*callers+i))
			case 1:
				return s.Post("/v1/customers", M{"program_id": e.ProgramID, "partner_id": partner})
			case 2:
				return s.Post("/v1/sales/"+sales[i%3]+"/refund", M{"external_refund_id": fmt.Sprintf("re_%d_%d", round, i)})
			case 3:
				return s.Post("/v1/payout_batches", M{
					"program_id": e.ProgramID, "period_end": "2026-09-01", "partner_id": partner,
				})
			case 4:
				return s.Post("/v1/commissions/"+commission+"/reject", M{"reason": "By hand."})
			case 5:
				return s.Post("/v1/partners/"+partner, M{"first_name": "Ada"})
			}
			return s.Post("/v1/partners/"+partner+"/ban", M{"reason": "Spam."})
		})
		for _, a := range answers {
			require.Less(t, a.Status, 500, "%s", a.Raw)
		}
		require.Zero(t, openCount(s, e.ProgramID, partner), "round %d", round)
	}
	e.Tallied(t)
	apitest.Balanced(t, s)
}

// saleOf records a sale with a numbered charge.
func saleOf(program, customer string, n int) M {
	return apitest.SaleBody(program, customer, M{"external_charge_id": fmt.Sprintf("ban_%d", n)})
}
