package importer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

// TestRefundsWithinImported: events of refunds from before an import take nothing that the import has taken, also if a
// refund is more than the rest of the sale, or if the source reports the sum of several refunds.
func TestRefundsWithinImported(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		imported int64
		events   []int64 // amounts
		due      int64   // of a commission of 1000 for 5000
	}{
		"more than the rest": {3000, []int64{3000}, 400},
		"several":            {1500, []int64{500, 1000}, 700},
		"one more":           {1500, []int64{500, 1000, 700}, 560},
		"more than imported": {500, []int64{800}, 840},
		"a part":             {2000, []int64{500}, 600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, h := newConnected(t)
			sold := payment("s", "b", "ch_1", 5000)
			sold.Sale.RefundedMinor, sold.Sale.RefundedAt = c.imported, new(long.Days(5))
			d.imports(person("1", "bob@example.com"), buyer("b", "1", "cus_1"), sold,
				earns("k", "1", "b", "s", source.Due, 1000-c.imported/5))
			for range 2 { // the second events are repetitions
				refunded := long.Days(4)
				for i, amount := range c.events {
					h.Receive(M{
						"type": "refund", "external_charge_id": "ch_1", "external_refund_id": "re_" + string(rune('1'+i)),
						"amount_minor": amount, "refunded_at": refunded,
					})
				}
				h.Work()
				due, _ := d.money("bob@example.com")
				require.Equal(t, c.due, due)
				apitest.Balanced(t, d.Server)
			}
			sale := d.Get("/v1/sales?program_id=" + d.program).Data()[0]
			var sum int64
			for _, r := range d.Get("/v1/refunds?program_id=" + d.program).Data() {
				sum += apitest.Answer{Body: r}.Int("amount_minor")
			}
			require.Equal(t, apitest.Answer{Body: sale}.Int("refunded_minor"), sum)
		})
	}
}
