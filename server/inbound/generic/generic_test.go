package generic

import (
	"encoding/json"
	"testing"

	"rail/server/harness/lenient"
)

type members = map[string]any

func samples() [][]byte {
	var all [][]byte
	for _, kind := range []string{"sale", "refund", "sale.created", "invoice"} {
		b, _ := json.Marshal(members{
			"type": kind, "external_charge_id": "ch_1", "external_customer_id": "cu_1", "amount_minor": 4999, "tax_minor": 400, "fee_minor": 100,
			"currency": "USD", "occurred_at": "2026-03-01T12:00:00Z", "interval": "month", "product_id": "p", "product_name": "Pro",
			"click_id": "clk_01kb2m4q8e7v9t3n5x6c0d1f2g", "identifier": "user-7", "email": "ann@acme.example", "name": "Ann",
			"coupon_external_id": "c_1", "metadata": members{"plan": "pro", "of": members{"a": []any{"b", 3}}}, "external_refund_id": "re_1",
			"refunded_at": "2026-03-01T12:00:00Z",
		})
		all = append(all, b)
	}
	return all
}

// TestEveryMemberMayChange removes and retypes every member of events.
func TestEveryMemberMayChange(t *testing.T) {
	t.Parallel()
	lenient.Changes(t, Source{}.Read, samples()...)
}

// FuzzRead reads any input, and returns a reading or the reason for none.
func FuzzRead(f *testing.F) { lenient.Fuzz(f, Source{}.Read, samples()...) }
