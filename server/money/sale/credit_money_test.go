package sale_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestRefundAfterCredit: if a sale was refunded in part before the credit, its commission shares
// only in later refunds.
func TestRefundAfterCredit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c1", "amount_minor": 10000}))
	e := h.Last("recorded", nil)
	sale := e.String("sale_id")
	refund := func(body M, left int64) {
		t.Helper()
		h.Must(200, h.Post("/v1/sales/"+sale+"/refund", body))
		require.Equal(t, left, h.CommissionsOf(sale))
		apitest.Balanced(t, h.Server)
	}
	refund(M{"amount_minor": 5000}, 0)
	h.Credit(e.String("customer_id"))
	require.EqualValues(t, 1000, h.CommissionsOf(sale), "20 % of 50.00")
	apitest.Balanced(t, h.Server)
	refund(M{"amount_minor": 2500}, 500)
	refund(M{}, 0)
}

// TestCreditCountsSales: a rule that counts the partner's sales counts each credited sale as if it
// had been recorded for the partner. A dry run counts the same.
func TestCreditCountsSales(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		operator string
		count    int
		want     int64
	}{{"lte", 2, 2*5000 + 3*500}, {"eq", 1, 5000 + 4*500}, {"gte", 5, 5000 + 4*500}, {"gt", 5, 5 * 500}} {
		h := newInboxed(t, apitest.RecordDirect)
		h.Flow(h.ProgramID, M{
			"name": "By sales", "partner_id": h.PartnerID, "rate_type": "percent", "rate_value": 1000,
			"branches": []M{{
				"conditions": []M{{"field": "partner.sales_count", "operator": c.operator, "value": c.count}},
				"rate_type":  "fixed", "rate_value": 5000,
			}},
		})
		now := h.Clock.Now().Time
		for i, charge := range []string{"ch_1", "ch_2", "ch_3", "ch_4", "ch_5"} {
			h.Receive(apitest.Paid(charge, M{"external_customer_id": "c1", "occurred_at": now.Add(time.Duration(i-10) * time.Hour)}))
		}
		path := "/v1/customers/" + h.Last("recorded", nil).String("customer_id") + "/credit"
		for _, dry := range []bool{true, false} {
			done := h.Must(200, h.Post(path, M{"partner_id": h.PartnerID, "since": now.AddDate(0, -1, 0), "dry_run": dry}))
			require.Equal(t, c.want, done.Int("amount_minor"), "%s %d, dry run %t", c.operator, c.count, dry)
		}
		require.Equal(t, c.want, h.Earned(), "%s %d", c.operator, c.count)
		apitest.Balanced(t, h.Server)
	}
}

// TestEventsOfCreditAndMerge: subscribers get an event for every commission that a credit creates
// or a merge changes.
func TestEventsOfCreditAndMerge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	h.FirstPays("fixed", 5000)
	h.Receive(apitest.Paid("ch_1", M{"external_customer_id": "c1", "occurred_at": h.Clock.Now().Time.AddDate(0, 0, -2)}))
	direct := h.Last("recorded", nil).String("customer_id")
	heard := len(h.Events(h.ProgramID))
	news := func() []string {
		t.Helper()
		all := h.EventTypes(h.ProgramID)
		defer func() { heard = len(all) }()
		return all[heard:]
	}
	h.Credit(direct)
	require.Equal(t, []string{"commission.created"}, news())
	into := h.CreateCustomer(nil)
	h.Sell(into, "ch_2", h.Clock.Now().Time)
	news()
	h.Must(200, h.Merge(into, direct, M{"dry_run": true}))
	require.Empty(t, news())
	h.Must(200, h.Merge(into, direct, nil))
	require.Equal(t, []string{"commission.updated"}, news())
	events := h.Events(h.ProgramID)
	data := apitest.Answer{Body: events[len(events)-1].Body["data"].(M)}
	require.Equal(t, []int64{5000, 1000}, []int64{data.Int("previous_amount_minor"), data.Int("amount_minor")})
	apitest.Balanced(t, h.Server)
}

// TestCreditSetsManual: a credit decides for a customer whom a person gave to the partner. A dry run decides the same.
func TestCreditSetsManual(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, apitest.RecordDirect)
	h.Flow(h.ProgramID, M{
		"name": "Not by hand", "partner_id": h.PartnerID, "rate_type": "percent", "rate_value": 1000,
		"branches": []M{{
			"conditions": []M{{"field": "customer.tracked_by", "operator": "eq", "value": "manual"}},
			"rate_type":  "percent", "rate_value": 0,
		}},
	})
	path := "/v1/customers/" + h.PaidBy("ch_1", M{"external_customer_id": "c1"}).String("id") + "/credit"
	for _, dry := range []bool{true, false} {
		done := h.Must(200, h.Post(path, M{
			"partner_id": h.PartnerID, "since": h.Clock.Now().Time.AddDate(0, -1, 0), "dry_run": dry,
		}))
		require.Zero(t, done.Int("amount_minor"), "dry run %t", dry)
	}
	apitest.Balanced(t, h.Server)
}
