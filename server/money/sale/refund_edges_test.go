package sale_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

// TestDeductionThatRefundsUndidStays: a deduction was in flight when its sale was refunded, and a
// reward undid it. It can no longer be rejected, because that would return the money twice.
func TestDeductionThatRefundsUndidStays(t *testing.T) {
	t.Parallel()
	w := sell(t, 10000, M{"holding_period_days": 0})
	deduction := w.s.Must(201, apitest.Grant(w.s, w.program, w.partner, M{"amount_minor": -700, "sale_id": w.saleID})).String("id")
	w.s.Must(201, w.s.Post("/v1/payout_batches", M{"program_id": w.program, "period_end": w.s.Clock.Now().String()}))
	payout := w.s.Get("/v1/payouts?program_id=" + w.program).Data()[0]["id"].(string)
	set := func(status string) {
		_, err := w.s.Pool.Exec(t.Context(), "UPDATE payouts SET status = $1, rail = 'file' WHERE id = $2", status, payout)
		require.NoError(t, err)
	}
	set("processing")
	w.s.Must(200, w.refund(nil))
	set("failed")
	w.s.Must(200, w.s.Delete("/v1/payouts/"+payout))
	w.s.Refused(409, "commission_not_open", "", w.s.Post("/v1/commissions/"+deduction+"/reject", M{"reason": "x"}))
	_, due, _ := w.s.Balance(w.program, w.partner, "USD")
	require.Zero(t, due)
	apitest.Balanced(t, w.s)
}

// TestRefundWaitsForItsCharge: a refund by the sale's id waits for a processor's event about the same charge, which limits
// its own refund to the rest of the sale.
func TestRefundWaitsForItsCharge(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000)
	tx, err := w.s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	charge := db.ChargeLockParams{ProgramID: w.program}
	require.NoError(t, tx.QueryRow(t.Context(), "SELECT org_id, external_charge_id FROM sales WHERE id = $1", w.saleID).
		Scan(&charge.OrgID, &charge.ExternalChargeID))
	require.NoError(t, db.New().ChargeLock(t.Context(), tx, charge))
	answered := make(chan apitest.Answer, 1)
	go func() { answered <- w.s.Post("/v1/sales/"+w.saleID+"/refund", M{"amount_minor": 400}) }()
	wait.ForLocks(t, w.s.Pool, "advisory", 1)
	require.NoError(t, tx.Commit(t.Context()))
	w.s.Must(200, <-answered)
}

// TestRepeatedMetadata: a repeat with the same metadata in another order or spacing is the same
// request.
func TestRepeatedMetadata(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000)
	post := func(status int, metadata string) apitest.Answer {
		return w.s.Must(status, w.s.Post("/v1/sales", `{"program_id":"`+w.program+`","customer_id":"`+w.customer+
			`","external_charge_id":"ch_m","amount_minor":100,"currency":"USD","metadata":`+metadata+`}`))
	}
	post(201, `{"a":"1","b":2}`)
	require.Empty(t, post(200, `{"b": 2, "a": "1"}`).Body["warnings"])
	require.Len(t, post(200, `{"b":3,"a":"1"}`).Body["warnings"], 1)
}

// TestUnmatchedRefundDiffers: a refund that is applied later keeps the values of its first
// report, and the response warns about the difference.
func TestUnmatchedRefundDiffers(t *testing.T) {
	t.Parallel()
	w := sell(t, 1000)
	w.s.Must(202, w.s.Post("/v1/refunds", apitest.RefundBody(w.program, "ch_1", "re_1", M{"amount_minor": 400})))
	w.s.Clock.Advance(30 * 24 * time.Hour)
	apitest.RunJob(t, w.s, "expire-refunds")
	w.s.Sale(w.program, w.customer, M{"external_charge_id": "ch_1", "amount_minor": 1000})
	late := w.s.Must(201, w.s.Post("/v1/refunds", apitest.RefundBody(w.program, "ch_1", "re_1", M{"amount_minor": 300})))
	require.EqualValues(t, 400, late.Int("amount_minor"))
	require.Len(t, late.Body["warnings"], 1)
	apitest.Balanced(t, w.s)
}
