package sale_test

import (
	"testing"
	"time"

	"rail/server/harness/apitest"

	"github.com/stretchr/testify/require"
)

// TestClockSet: if the clock is set back by an hour and forward again, no write is refused or
// repeated, and the books balance.
func TestClockSet(t *testing.T) {
	t.Parallel()
	h := newInboxed(t)
	customer := h.Customer(h.ProgramID, h.PartnerID)
	first := h.Sell(customer, "ch_first", h.Clock.Now().Time)
	once := func(charge string) string {
		t.Helper()
		a := h.Do("POST", "/v1/sales", h.Key, M{
			"program_id": h.ProgramID, "customer_id": customer, "external_charge_id": charge, "amount_minor": 5000,
			"currency": "USD",
		}, "Idempotency-Key", charge)
		return h.Must(201, a).String("id")
	}
	repeatedSale := once("ch_kept")
	sold := 2
	for _, step := range []time.Duration{-time.Hour, time.Hour, time.Hour, -time.Hour} {
		h.Clock.Advance(step)
		require.Equal(t, repeatedSale, once("ch_kept"), "a repeated request after %s", step)
		sale := h.Sell(customer, "ch_"+step.String()+h.Clock.Now().String(), h.Clock.Now().Time)
		sold++
		h.Must(200, h.Post("/v1/sales/"+sale+"/refund", M{"amount_minor": 1000}))
		h.Must(200, h.Post("/v1/sales/"+first+"/refund", M{"amount_minor": 100}))
		h.Must(200, h.Post("/v1/partners/"+h.PartnerID, M{"display_name": "After " + step.String()}))
		h.Receive(M{"type": "nothing"})
		h.Work()
		batch := h.Post("/v1/payout_batches", M{"program_id": h.ProgramID, "period_end": h.Clock.Now().String()})
		require.Equal(t, 2, batch.Status/100, "%s", batch.Raw)
		for _, p := range h.Get("/v1/payouts?status=pending&program_id=" + h.ProgramID).Data() {
			h.Must(200, h.Post("/v1/payouts/"+p["id"].(string)+"/mark_paid", nil))
		}
		for _, job := range []string{"mature-commissions", "fold-balances", "sum-reports", "clean-up", "keep-months"} {
			apitest.RunJob(t, h.Server, job)
		}
		require.EqualValues(t, sold, h.Get("/v1/sales?program_id="+h.ProgramID).Int("total_count"))
		apitest.Balanced(t, h.Server)
	}
}
