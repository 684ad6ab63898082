package handlers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/inbound/connection"
)

// recordDirect has a connection record payments of customers without a partner.
func recordDirect(in *connection.Input) { in.RecordDirect = true }

// credit credits the past sales of a customer to the partner.
func (h inboxed) credit(customer string) {
	h.t.Helper()
	h.Must(200, h.Post("/v1/customers/"+customer+"/credit", M{
		"partner_id": h.partner, "since": h.Clock.Now().Time.AddDate(0, -1, 0),
	}))
}

// TestRefundAfterCredit: if a sale was refunded in part before the credit, its commission shares
// only in later refunds.
func TestRefundAfterCredit(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, recordDirect)
	h.send(paid("ch_1", M{"external_customer_id": "c1", "amount_minor": 10000}))
	e := h.last("recorded", nil)
	sale := e.String("sale_id")
	refund := func(body M, left int64) {
		t.Helper()
		h.Must(200, h.Post("/v1/sales/"+sale+"/refund", body))
		require.Equal(t, left, h.of(sale))
		balanced(t, h.Server)
	}
	refund(M{"amount_minor": 5000}, 0)
	h.credit(e.String("customer_id"))
	require.EqualValues(t, 1000, h.of(sale), "20 % of 50.00")
	balanced(t, h.Server)
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
		h := newInboxed(t, recordDirect)
		h.Flow(h.program, M{
			"name": "By sales", "partner_id": h.partner, "rate_type": "percent", "rate_value": 1000,
			"branches": []M{{
				"conditions": []M{{"field": "partner.sales_count", "operator": c.operator, "value": c.count}},
				"rate_type":  "fixed", "rate_value": 5000,
			}},
		})
		now := h.Clock.Now().Time
		for i, charge := range []string{"ch_1", "ch_2", "ch_3", "ch_4", "ch_5"} {
			h.send(paid(charge, M{"external_customer_id": "c1", "occurred_at": now.Add(time.Duration(i-10) * time.Hour)}))
		}
		path := "/v1/customers/" + h.last("recorded", nil).String("customer_id") + "/credit"
		for _, dry := range []bool{true, false} {
			done := h.Must(200, h.Post(path, M{"partner_id": h.partner, "since": now.AddDate(0, -1, 0), "dry_run": dry}))
			require.Equal(t, c.want, done.Int("amount_minor"), "%s %d, dry run %t", c.operator, c.count, dry)
		}
		require.Equal(t, c.want, h.earned(), "%s %d", c.operator, c.count)
		balanced(t, h.Server)
	}
}

// TestEventsOfCreditAndMerge: subscribers get an event for every commission that a credit creates
// or a merge changes.
func TestEventsOfCreditAndMerge(t *testing.T) {
	t.Parallel()
	h := newInboxed(t, recordDirect)
	h.firstPays("fixed", 5000)
	h.send(paid("ch_1", M{"external_customer_id": "c1", "occurred_at": h.Clock.Now().Time.AddDate(0, 0, -2)}))
	direct := h.last("recorded", nil).String("customer_id")
	heard := len(h.Events(h.program))
	news := func() []string {
		t.Helper()
		all := h.EventTypes(h.program)
		defer func() { heard = len(all) }()
		return all[heard:]
	}
	h.credit(direct)
	require.Equal(t, []string{"commission.created"}, news())
	into := h.create(nil)
	h.sell(into, "ch_2", h.Clock.Now().Time)
	news()
	h.Must(200, h.merge(into, direct, M{"dry_run": true}))
	require.Empty(t, news())
	h.Must(200, h.merge(into, direct, nil))
	require.Equal(t, []string{"commission.updated"}, news())
	events := h.Events(h.program)
	data := apitest.Answer{Body: events[len(events)-1].Body["data"].(M)}
	require.Equal(t, []int64{5000, 1000}, []int64{data.Int("previous_amount_minor"), data.Int("amount_minor")})
	balanced(t, h.Server)
}
