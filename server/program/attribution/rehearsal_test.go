package attribution_test

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// touched makes a visitor who clicked on the links of ann and then bob, and returns both clicks.
func (w *world) touched(visitor string) (ann, bob string) {
	w.T.Helper()
	ann = w.Click(w.ProgramID, "ann", M{"visitor_token": visitor}).String("id")
	w.Clock.Advance(time.Hour)
	return ann, w.Click(w.ProgramID, "bob", M{"visitor_token": visitor}).String("id")
}

// signUp creates a customer.
func (w *world) signUp(with M) string {
	w.T.Helper()
	body := M{"program_id": w.ProgramID}
	maps.Copy(body, with)
	return w.Must(201, w.Post("/v1/customers", body)).String("id")
}

// id returns the id of the partner with a handle.
func (w *world) id(handle string) string {
	for id, h := range w.handle {
		if h == handle {
			return id
		}
	}
	return ""
}

// moves returns the partners and reasons of the customers who would have another partner.
func moves(a apitest.Answer) map[string][]any {
	out := map[string][]any{}
	for _, c := range a.Body["customers"].([]any) {
		k := c.(M)
		out[k["customer_id"].(string)] = []any{k["from_partner_id"], k["to_partner_id"], k["reason"]}
	}
	return out
}

// TestRehearsalOfMoney: the commissions are those of the other partner's flow, and of sales in the program's currency.
func TestRehearsalOfMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(apitest.New(t), M{})
	ann, bob := w.id("ann"), w.id("bob")
	w.Flow(w.ProgramID, M{"partner_id": ann, "rate_value": 5000, "name": "Half for Ann"})
	w.Flow(w.ProgramID, M{"trigger": "new_signup", "rate_type": "fixed", "rate_value": 300, "name": "A sign-up"})
	_, click := w.touched("visitor-0001")
	k := w.signUp(M{"click_id": click})
	w.Sale(w.ProgramID, k, M{"amount_minor": 10000})
	w.Sale(w.ProgramID, k, M{"amount_minor": 700, "currency": "EUR"})
	done := w.rehearse(M{"attribution_model": "first"})
	require.Equal(t, map[string][]any{k: {bob, ann, "first_click"}}, moves(done))
	partners, err := json.Marshal(done.Body["partners"])
	require.NoError(t, err)
	require.JSONEq(t, `[{
		"partner_id": "`+ann+`", "name": "ann", "customers_before": 0, "customers_after": 1, "revenue_before_minor": 0,
		"revenue_after_minor": 10000, "commissions_before_minor": 0, "commissions_after_minor": 5300,
		"commissions_difference_minor": 5300
	}, {
		"partner_id": "`+bob+`", "name": "bob", "customers_before": 1, "customers_after": 0, "revenue_before_minor": 10000,
		"revenue_after_minor": 0, "commissions_before_minor": 2300, "commissions_after_minor": 0,
		"commissions_difference_minor": -2300
	}]`, string(partners))
	require.EqualValues(t, 1, done.Int("other_currency_sales_count"))
	require.EqualValues(t, 2, done.Int("partners_count"))
	require.Equal(t, []any{"last", "first"}, []any{
		done.Body["settings_before"].(M)["attribution_model"], done.Body["settings_after"].(M)["attribution_model"],
	})
}

// TestRehearsalKeepsChoices: customers whom a person, the API or an import gave to a partner never change, and merged
// customers are not decided.
func TestRehearsalKeepsChoices(t *testing.T) {
	t.Parallel()
	w := newWorld(apitest.New(t), M{})
	_, click := w.touched("visitor-0001")
	w.signUp(M{"partner_id": w.id("cem")})
	byHand := w.signUp(M{"click_id": click})
	w.Must(200, w.Post("/v1/customers/"+byHand, M{"partner_id": w.id("cem")}))
	done := w.rehearse(M{"attribution_model": "first", "coupon_beats_link": true})
	require.Empty(t, moves(done))
	require.EqualValues(t, 2, done.Int("unchanged_count"))

	_, other := w.touched("visitor-0002")
	into, from := w.signUp(M{"click_id": other}), w.signUp(M{"partner_id": w.id("bob")})
	require.Len(t, moves(w.rehearse(M{"attribution_model": "first"})), 1)
	w.Must(200, w.Post("/v1/customers/"+into+"/merge", M{"customer_id": from}))
	done = w.rehearse(M{"attribution_model": "first"})
	require.Empty(t, moves(done))
	require.EqualValues(t, 1, done.Int("undecided_count"))
}

// TestRehearsalOfLongerWindow: a customer whose click had expired has no partner, and gets one with a longer window. A
// shorter window takes a customer from its partner.
func TestRehearsalOfLongerWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(apitest.New(t), M{"cookie_days": 5})
	expired := w.Click(w.ProgramID, "ann", M{"visitor_token": "visitor-0001"}).String("id")
	w.Clock.Advance(6 * day)
	live := w.Click(w.ProgramID, "bob", M{"visitor_token": "visitor-0002"}).String("id")
	w.Clock.Advance(3 * day)
	late := w.PaidBy("ch_1", M{"external_customer_id": "cus_1", "click_id": expired}).String("id")
	soon := w.PaidBy("ch_2", M{"external_customer_id": "cus_2", "click_id": live}).String("id")
	require.Empty(t, moves(w.rehearse(nil)))
	longer := w.rehearse(M{"cookie_days": 30})
	require.Equal(t, map[string][]any{late: {nil, w.id("ann"), "last_click"}}, moves(longer))
	gets := apitest.Answer{Body: longer.Body["customers"].([]any)[0].(M)}
	require.EqualValues(t, 1000, gets.Int("commissions_after_minor"))
	shorter := w.rehearse(M{"cookie_days": 2})
	require.Equal(t, map[string][]any{soon: {w.id("bob"), nil, "no_route"}}, moves(shorter))
}

// TestRehearsalWithoutClicks: a customer is not decided if clicks of its window may have been deleted.
func TestRehearsalWithoutClicks(t *testing.T) {
	t.Parallel()
	w := newWorld(apitest.New(t), M{})
	_, click := w.touched("visitor-0001")
	w.signUp(M{"click_id": click})
	_, err := w.Pool.Exec(t.Context(), `INSERT INTO forgotten (org_id, program_id, list, partner_id, link_id, day, total)
		VALUES ($1, $2, 'clicks', $3, '', $4, 1)`, w.Org, w.ProgramID, w.PartnerID, w.Clock.Now().Time)
	require.NoError(t, err)
	done := w.rehearse(M{"attribution_model": "first"})
	require.Empty(t, moves(done))
	require.EqualValues(t, 1, done.Int("undecided_count"))
	require.NotNil(t, done.Body["clicks_since"])
}

// TestRehearsalOfPartners: a partner who is not active gets no further customer, but keeps those it has; and no partner
// gets itself.
func TestRehearsalOfPartners(t *testing.T) {
	t.Parallel()
	w := newWorld(apitest.New(t), M{})
	ann, bob := w.id("ann"), w.id("bob")
	_, click := w.touched("visitor-0001")
	k := w.signUp(M{"click_id": click, "email": w.Get("/v1/partners/" + ann).String("email")})
	require.Equal(t, map[string][]any{k: {bob, nil, "self_referral"}}, moves(w.rehearse(M{"attribution_model": "first"})))
	w.Must(200, w.Post("/v1/programs/"+w.ProgramID, M{"block_self_referrals": false}))
	require.Equal(t, map[string][]any{k: {bob, ann, "first_click"}}, moves(w.rehearse(M{"attribution_model": "first"})))
	w.Must(200, w.Post("/v1/partners/"+ann, M{"status": "suspended"}))
	w.Must(200, w.Post("/v1/partners/"+bob, M{"status": "suspended"}))
	require.Empty(t, moves(w.rehearse(M{"attribution_model": "first"})))
	require.Empty(t, moves(w.rehearse(nil)))
}

// TestRehearsalIsRead: a key that can only read may rehearse, nothing is written, and bad input is refused.
func TestRehearsalIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(apitest.New(t), M{})
	_, click := w.touched("visitor-0001")
	w.signUp(M{"click_id": click})
	written := func() (n int64) {
		require.NoError(t, w.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM events) +
			(SELECT count(*) FROM audit_log_entries) + (SELECT count(*) FROM risk_flags)`).Scan(&n))
		return n
	}
	before, body := written(), M{"program_id": w.ProgramID, "attribution_model": "first"}
	w.Must(200, w.Do("POST", "/v1/attribution/rehearse", w.NewKey(w.Org, true, "read"), body))
	require.Equal(t, before, written())
	w.Refused(404, "resource_not_found", "program_id",
		w.Do("POST", "/v1/attribution/rehearse", w.NewKey(w.NewOrg("Other"), true, "write"), body))
	bad := M{"days": 366, "cookie_days": 0, "attribution_model": "middle", "coupon_beats_link": "yes"}
	for name, value := range bad {
		a := w.Post("/v1/attribution/rehearse", M{"program_id": w.ProgramID, name: value})
		require.Equal(t, []any{400, name}, []any{a.Status, a.Body["error"].(M)["param"]})
	}
	old := w.Must(200, w.Post("/v1/attribution/rehearse", M{"program_id": w.ProgramID, "days": 1}))
	require.EqualValues(t, 1, old.Int("customers_count"))
	w.Clock.Advance(2 * day)
	old = w.Must(200, w.Post("/v1/attribution/rehearse", M{"program_id": w.ProgramID, "days": 1}))
	require.Zero(t, old.Int("customers_count"))
}
