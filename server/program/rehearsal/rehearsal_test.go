package rehearsal_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

type M = apitest.M

// rehearse rehearses a purchase of 49.00 USD by the link of Ada.
func rehearse(s *apitest.Server, program string, more ...M) apitest.Answer {
	body := M{"program_id": program, "value": "ada", "amount_minor": 4900, "currency": "USD"}
	for _, m := range more {
		for name, value := range m {
			if body[name] = value; value == nil { // a missing member
				delete(body, name)
			}
		}
	}
	return s.Post("/v1/sales/rehearse", body)
}

// rows counts the rows of the tables that a purchase writes to.
func rows(t *testing.T, s *apitest.Server) string {
	t.Helper()
	var out string
	for _, table := range []string{
		"clicks", "referrals", "customers", "sales", "commissions", "ledger_entries", "events", "mails",
		"audit_log_entries", "risk_flags", "idempotency_keys",
	} {
		var n int
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n), table)
		out += fmt.Sprintln(table, n)
	}
	return out
}

// TestRehearseSale: a rehearsal has the steps of a real purchase, and leaves no row, event or email behind.
func TestRehearseSale(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	program := s.Program()
	ada := s.Partner(program, M{"handle": "ada"})
	s.Flow(program, M{"name": "Creators", "rate_value": 2000})
	s.Flow(program, M{"name": "Hello", "trigger": "new_signup", "rate_type": "fixed", "rate_value": 500})
	before := rows(t, s)
	a := s.Must(200, rehearse(s, program, M{"email": "grace@example.com", "interval": "month"}))
	require.Equal(t, before, rows(t, s))
	require.Nil(t, a.Body["refused"])
	click, customer, sale := a.Body["click"].(M), a.Body["customer"].(M), a.Body["sale"].(M)
	require.Equal(t, ada, click["partner_id"])
	require.Contains(t, click["landing_url"], "ref=ada")
	require.Equal(t, []any{ada, "grace@example.com", "active"},
		[]any{customer["partner_id"], customer["email"], customer["status"]})
	require.Equal(t, []any{"commission_created", "subscription", customer["id"]},
		[]any{sale["activity_outcome"], sale["billing_type"], sale["customer_id"]})
	commissions := a.Body["commissions"].([]any)
	require.Len(t, commissions, 2)
	signUp, earned := commissions[0].(M), commissions[1].(M)
	require.Equal(t, []any{json.Number("500"), nil}, []any{signUp["amount_minor"], signUp["sale_id"]})
	require.Equal(t, []any{json.Number("980"), sale["id"]}, []any{earned["amount_minor"], earned["sale_id"]})
	require.Equal(t, []any{"percent", json.Number("2000")}, []any{a.Body["rate_type"], a.Body["rate_value"]})
	require.Equal(t, "20 % of 49.00 USD, by the flow Creators.", earned["explanation"].(M)["amount"])

	// A real purchase has the same events and amounts.
	eventsBefore := len(s.Events(program))
	real := s.Must(201, s.Post("/v1/clicks", M{
		"program_id": program, "value": "ada", "visitor_token": "visitor-1", "landing_url": "https://shop.example/?ref=ada",
	}))
	buyer := s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "click_id": real.String("id"), "email": "grace@example.com",
	}))
	s.Must(201, s.Post("/v1/sales", M{
		"program_id": program, "customer_id": buyer.String("id"), "external_charge_id": "ch_1", "amount_minor": 4900,
		"currency": "USD", "interval": "month",
	}))
	var types []string
	for _, kind := range a.Body["event_types"].([]any) {
		types = append(types, kind.(string))
	}
	require.Equal(t, s.EventTypes(program)[eventsBefore:], types)
	apitest.Balanced(t, s)
}

// TestRehearseCoupon: a coupon needs no click, and the partner of the coupon earns.
func TestRehearseCoupon(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada := s.Partner(program)
	s.Flow(program)
	s.Must(201, s.Post("/v1/coupons", M{"program_id": program, "partner_id": ada, "code": "ADA20"}))
	a := s.Must(200, rehearse(s, program, M{"value": nil, "coupon_code": "ada20"}))
	require.Nil(t, a.Body["click"])
	customer := a.Body["customer"].(M)
	require.Equal(t, []any{ada, "coupon"}, []any{customer["partner_id"], customer["tracked_by"]})
	require.Len(t, a.Body["commissions"], 1)
}

// TestRehearsalStops: the response names the step that a rule refuses, and why a sale earns nothing.
func TestRehearsalStops(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada := s.Partner(program, M{"handle": "ada", "email": "ada@example.com"})
	stops := func(step, code string, more ...M) {
		t.Helper()
		a := s.Must(200, rehearse(s, program, more...))
		refused := a.Body["refused"].(M)
		require.Equal(t, []any{step, code}, []any{refused["step"], refused["code"]})
		require.NotEmpty(t, refused["message"])
		require.Equal(t, []any{}, a.Body["commissions"])
		require.Nil(t, a.Body["sale"])
	}
	warns := func(code string, more ...M) {
		t.Helper()
		a := s.Must(200, rehearse(s, program, more...))
		require.Equal(t, code, a.Body["sale"].(M)["warnings"].([]any)[0].(M)["code"])
		require.Equal(t, []any{}, a.Body["commissions"])
	}
	warns("no_commission_from_rules")
	s.Flow(program, M{"rate_type": "fixed", "rate_value": 500})
	warns("fixed_rate_currency_mismatch", M{"currency": "EUR"})
	stops("customer", "self_referral_blocked", M{"email": "ada@example.com"})
	stops("click", "tracking_value_not_found", M{"value": "nobody"})
	stops("customer", "resource_not_found", M{"value": nil, "coupon_code": "NOPE"})
	s.Must(200, s.Post("/v1/partners/"+ada, M{"status": "suspended"}))
	stops("click", "tracking_value_not_found")
	s.Must(200, s.Post("/v1/programs/"+program, M{"status": "paused"}))
	stops("click", "program_paused")
}

// TestRehearsalRefusals: mistakes of the request are refused as such.
func TestRehearsalRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	s.Partner(program, M{"handle": "ada"})
	s.Refused(400, "parameter_missing", "value", rehearse(s, program, M{"value": nil}))
	s.Refused(400, "parameters_exclusive", "coupon_code", rehearse(s, program, M{"coupon_code": "ADA20"}))
	s.Refused(404, "resource_not_found", "program_id", rehearse(s, "prg_01kb2m4q8e7v9t3n5x6c0d1f2g"))
	s.Refused(400, "parameter_invalid", "amount_minor", rehearse(s, program, M{"amount_minor": 0}))
	s.Must(200, s.Do("POST", "/v1/sales/rehearse", s.NewKey(s.Org, true, "read"),
		M{"program_id": program, "value": "ada", "amount_minor": 1, "currency": "USD"}))
}
