package importer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/inbound/importer/source"
)

// newConnected returns a desk with a connection to a payment processor.
func newConnected(t *testing.T) (*desk, apitest.Inboxed) {
	t.Helper()
	d := newDesk(t)
	d.Flow(d.program)
	return d, d.Server.Inboxed(d.program)
}

// TestPaymentBeforeImport: a payment that arrived before its customer was imported is recorded after the import.
func TestPaymentBeforeImport(t *testing.T) {
	t.Parallel()
	d, h := newConnected(t)
	h.Receive(apitest.Paid("ch_9", M{"external_customer_id": "cus_9"}))
	h.Last("ignored", "no_partner")
	d.Clock.Advance(2 * time.Minute)
	h.Last("ignored", "no_partner")
	d.Clock.Advance(time.Hour)
	d.imports(person("1", "bob@example.com"), buyer("b", "1", "cus_9"))
	h.Last("recorded", nil)
	pending, due, paid := d.Balance(d.program, d.partners()["bob@example.com"], "USD")
	require.EqualValues(t, 1000, pending+due+paid)
}

// TestRefundBeforeImport: a refund that arrived by the API before its sale was imported is applied after the import.
func TestRefundBeforeImport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.Must(202, d.Post("/v1/refunds", apitest.RefundBody(d.program, "ch_1", "re_1", M{"amount_minor": 2500})))
	d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), payment("s", "b", "ch_1", 5000),
		earns("k", "1", "b", "s", source.Due, 1000))
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 500, due)
	require.Equal(t, "applied", d.Get("/v1/refunds?program_id=" + d.program).Data()[0]["status"])
}

// TestRefundOfBefore: the event of a refund from before an import takes nothing that the import has taken, also if the
// refund is more than the rest of the sale. A later refund is taken.
func TestRefundOfBefore(t *testing.T) {
	t.Parallel()
	d, h := newConnected(t)
	sold := payment("s", "b", "ch_1", 5000)
	sold.Sale.RefundedMinor, sold.Sale.RefundedAt = 3000, new(long.Days(5))
	d.imports(person("1", "bob@example.com"), buyer("b", "1", "cus_1"), sold, earns("k", "1", "b", "s", source.Due, 400))
	refund := func(id string, at clock.Time) {
		h.Receive(M{
			"type": "refund", "external_charge_id": "ch_1", "external_refund_id": id, "amount_minor": 3000, "refunded_at": at,
		})
	}
	refund("re_1", long.Days(4))
	h.Last("ignored", "already_recorded")
	due, _ := d.money("bob@example.com")
	require.EqualValues(t, 400, due)
	refund("re_2", d.Clock.Now())
	h.Last("recorded", nil)
	due, _ = d.money("bob@example.com")
	require.Zero(t, due)
	apitest.Balanced(t, d.Server)
}

// TestRefundOfBeforeWaits: a refund that has waited for its sale is not taken again if the import has taken it.
func TestRefundOfBeforeWaits(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	body := apitest.RefundBody(d.program, "ch_1", "re_1", M{"amount_minor": 2000, "refunded_at": long.Days(4)})
	waiting := d.Must(202, d.Post("/v1/refunds", body))
	sold := payment("s", "b", "ch_1", 5000)
	sold.Sale.RefundedMinor, sold.Sale.RefundedAt = 2000, new(long.Days(5))
	d.imports(person("1", "ann@example.com"), buyer("b", "1", "cus_1"), sold, earns("k", "1", "b", "s", source.Due, 600))
	for range 2 {
		again := d.Must(200, d.Post("/v1/refunds", body))
		require.Equal(t, []any{waiting.String("id"), "applied"}, []any{again.String("id"), again.Body["status"]})
	}
	due, _ := d.money("ann@example.com")
	require.EqualValues(t, 600, due)
	require.Len(t, d.Get("/v1/refunds?program_id="+d.program).Data(), 1)
	apitest.Balanced(t, d.Server)
}
