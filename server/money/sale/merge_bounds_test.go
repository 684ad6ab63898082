package sale_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestBoundsOfMergeAndCredit: one credit accepts 500 sales, and one merge 1,000. More are refused,
// by a dry run too.
func TestBoundsOfMergeAndCredit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	h.bounty()
	now := h.Clock.Now().Time
	batch := func(customer string, n int) {
		t.Helper()
		items := make([]M, n)
		for i := range items {
			items[i] = M{
				"customer_id": customer, "external_charge_id": apitest.Unique("ch_"), "amount_minor": 10000, "currency": "USD",
				"occurred_at": now.AddDate(0, 0, -i-1),
			}
		}
		done := h.Must(200, h.Post("/v1/sales/batch", M{"program_id": h.ProgramID, "items": items}))
		require.EqualValues(t, n, done.Int("succeeded"))
	}
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c1", "occurred_at": now.AddDate(-1, -11, 0)}))
	direct := h.Last("recorded", nil).String("customer_id")
	batch(direct, 500)
	path := "/v1/customers/" + direct + "/credit"
	for _, dry := range []bool{true, false} {
		h.Refused(409, "credit_limit", "since",
			h.Post(path, M{"partner_id": h.PartnerID, "since": now.AddDate(-2, 0, 0), "dry_run": dry}))
	}
	credit := h.Must(200, h.Post(path, M{"partner_id": h.PartnerID, "since": now.AddDate(0, 0, -500)}))
	require.Len(t, credit.Body["sales"], 500)
	into := h.CreateCustomer(nil)
	batch(into, 499)
	one := h.CreateCustomer(nil)
	h.Sell(one, "ch_one", now)
	dry := h.Must(200, h.Merge(into, direct, M{"dry_run": true}))
	done := h.Must(200, h.Merge(into, direct, nil))
	require.Equal(t, dry.Body["commissions"], done.Body["commissions"])
	require.EqualValues(t, 501, done.Int("sales"))
	for _, dry := range []bool{true, false} {
		h.Refused(409, "customer_merge_limit", "customer_id", h.Merge(into, one, M{"dry_run": dry}))
	}
	apitest.Balanced(t, h.Server)
}

// TestBoundsOfCreditAndCorrection: an invalid time or amount is refused, and the error names the
// parameter.
func TestBoundsOfCreditAndCorrection(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	k := h.CreateCustomer(nil)
	for _, since := range []any{
		"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01", "", nil, 5, "294277-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
	} {
		h.Refused(400, "parameter_invalid", "since",
			h.Post("/v1/customers/"+k+"/credit", M{"partner_id": h.PartnerID, "since": since}))
	}
	h.Sell(k, "ch_1", h.Clock.Now().Time)
	id := h.Get("/v1/commissions?program_id=" + h.ProgramID).Data()[0]["id"].(string)
	for _, amount := range []any{int64(9223372036854775807), 1.5, "5", nil, 0, -1} {
		h.Refused(400, "parameter_invalid", "amount_minor",
			h.Post("/v1/commissions/"+id, M{"amount_minor": amount, "reason": "x"}))
	}
	require.EqualValues(t, 2000, h.Earned())
	apitest.Balanced(t, h.Server)
}
