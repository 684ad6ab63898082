package backfill

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/connection"
	"rail/server/inbound/stripe"
)

// sourceOf returns the source of objects that makes a kind of events.
func sourceOf(t *testing.T, kind string) source {
	t.Helper()
	for _, s := range objects {
		if s.kind == kind {
			return s
		}
	}
	t.Fatalf("no source makes %s", kind)
	return source{}
}

// TestEventOfObject checks that an object becomes one event with an id that does not change, and that objects in another
// state are skipped.
func TestEventOfObject(t *testing.T) {
	t.Parallel()
	invoices := sourceOf(t, "invoice.paid")
	invoice := json.RawMessage(`{"id": "in_1", "object": "invoice", "status": "paid", "created": 1767225600, "customer": "cus_1",
		"currency": "usd", "amount_paid": 1200, "total": 1200, "payment_intent": "pi_1", "charge": "ch_1"}`)
	first, ok := invoices.event(invoice, true)
	require.True(t, ok)
	second, ok := invoices.event(invoice, true)
	require.True(t, ok)
	require.Equal(t, "rail_invoice.paid_in_1_paid", first.ID)
	require.Equal(t, first.body, second.body)
	require.NotNil(t, first.Payment)
	require.EqualValues(t, 1200, *first.amount())
	require.NotEmpty(t, first.link().Charge)
	for _, skipped := range []string{
		`{"id": "in_2", "status": "open"}`, `{"status": "paid"}`, `[]`, `1`, `{"id": 5, "status": []}`,
	} {
		_, ok := invoices.event(json.RawMessage(skipped), true)
		require.False(t, ok, skipped)
	}
	// Disputes count in every state.
	dispute, ok := sourceOf(t, "charge.dispute.updated").event(json.RawMessage(`{
		"id": "dp_1", "object": "dispute", "status": "lost", "created": 1767225600,
		"amount": 500, "currency": "usd", "payment_intent": "pi_1", "charge": {"id": "ch_1", "payment_intent": "pi_1", "invoice": null}}`), false)
	require.True(t, ok)
	require.Equal(t, "rail_charge.dispute.updated_dp_1_lost", dispute.ID)
	require.NotNil(t, dispute.Dispute)
	require.EqualValues(t, 500, *dispute.amount())
	// Events keep the ids of Stripe, also if they cannot be read.
	unread, ok := events[0].event(json.RawMessage(`{"id": "evt_1", "type": "checkout.session.completed", "data": 7}`), true)
	require.True(t, ok)
	require.Equal(t, "evt_1", unread.ID)
	_, ok = events[0].event(json.RawMessage(`{}`), true)
	require.False(t, ok)
}

// TestFilter checks the parameters of the lists.
func TestFilter(t *testing.T) {
	t.Parallel()
	from := clock.At(time.Unix(1_000, 0))
	to := clock.At(time.Unix(2_000, 0))
	require.Equal(t, "created%5Bgte%5D=1000&created%5Blt%5D=2000&status=paid", sourceOf(t, "invoice.paid").filter(from, to).Encode())
	require.Equal(t, "created%5Bgte%5D=1000&created%5Blt%5D=2000&expand%5B%5D=data.charge",
		sourceOf(t, "refund.updated").filter(from, to).Encode())
	require.Equal(t, []string{"charge.succeeded", "charge.captured"}, events[3].filter(from, to)["types[]"])
}

// TestTypesOfMoney: a backfill reads every type of Stripe's events that Rail uses, except types that move no money
// or repeat another one.
func TestTypesOfMoney(t *testing.T) {
	t.Parallel()
	unread := []string{
		"coupon.deleted", "customer.created", "customer.discount.created", "customer.discount.updated",
		"customer.subscription.resumed", "customer.subscription.updated", "customer.updated", "invoice.payment_succeeded",
		"promotion_code.created", "promotion_code.updated", "radar.early_fraud_warning.created", "radar.early_fraud_warning.updated",
	}
	for _, s := range events {
		unread = append(unread, s.types...)
		require.LessOrEqual(t, len(s.types), 20, "Stripe's limit of a list")
	}
	require.ElementsMatch(t, stripe.Events(), unread)
}

// TestSkipped checks which connections are not read, and that a report lists so many differences only.
func TestSkipped(t *testing.T) {
	t.Parallel()
	now := clock.At(time.Unix(1_000, 0))
	for why, c := range map[string]db.ProcessorConnection{
		"only Stripe is supported":      {Processor: connection.Paddle, Status: db.ConnectionStatusActive, APIKey: []byte("x")},
		"the connection has ended":      {Processor: connection.Stripe, Status: db.ConnectionStatusDisconnected, APIKey: []byte("x")},
		"the connection has no API key": {Processor: connection.Stripe, Status: db.ConnectionStatusActive},
	} {
		r, err := Backfill{}.Run(t.Context(), c, now, now.Days(1))
		require.NoError(t, err)
		require.Equal(t, why, r.Skipped)
		require.Equal(t, now, r.Until, "nothing was read")
	}
	var r Report
	for range maxDifferences + 3 {
		r.add(Difference{})
	}
	require.Equal(t, []int64{maxDifferences, 3}, []int64{int64(len(r.Differences)), r.LeftOut})
}
