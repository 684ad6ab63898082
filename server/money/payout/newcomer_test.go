package payout_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// TestMinPayingCustomers: the first payout needs paying customers, of whom refunded ones do not count; preview and batch
// agree; a partner who was paid once is not asked again.
func TestMinPayingCustomers(t *testing.T) {
	t.Parallel()
	e := apitest.NewEarner(t, M{"min_paying_customers": 2})
	s := e.Server
	partner, _ := e.Referrer(10000)
	e.Sale(e.ProgramID, e.Customer(e.ProgramID, partner), M{"amount_minor": 2000, "external_charge_id": "ch_1"})
	s.Must(201, s.Post("/v1/refunds", M{
		"program_id": e.ProgramID, "external_charge_id": "ch_1", "amount_minor": 2000, "external_refund_id": "re_1",
	}))
	e.Batch(201)
	p := e.Payouts("&partner_id=" + partner)[0]
	require.Equal(t, []any{"not_eligible", "too_few_customers"}, []any{p.Body["status"], p.Body["reason"]})
	require.Equal(t, "20.00 USD is due, but the partner has 1 of the 2 paying customers that a first payout needs.", p.String("reason_text"))
	month := M{"program_id": e.ProgramID, "period_end": "2026-09-01"}
	preview := s.Must(200, s.Post("/v1/payout_batches/preview", month)).Body
	require.Equal(t, "too_few_customers", preview["totals"].([]any)[0].(M)["reason"])

	e.Sale(e.ProgramID, e.Customer(e.ProgramID, partner), M{"amount_minor": 5000, "external_charge_id": "ch_2"})
	e.Batch(200)
	p = e.Payouts("&partner_id=" + partner)[0]
	require.Equal(t, "pending", p.String("status"))
	s.Must(200, s.Post("/v1/payouts/"+p.String("id")+"/mark_paid", nil))

	s.Must(200, s.Post("/v1/programs/"+e.ProgramID, M{"min_paying_customers": 1000}))
	s.Clock.Advance(31 * 24 * time.Hour)
	e.Sale(e.ProgramID, e.Customer(e.ProgramID, partner), M{"amount_minor": 5000, "external_charge_id": "ch_3"})
	s.Must(201, s.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": s.Clock.Now().String()}))
	require.Len(t, e.Payouts("&status=pending&partner_id="+partner), 1)
	e.Tallied(t)
}
