package payout_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRemovedPayoutMethod: a partner whose payout method the program removes is not paid by the next batch until it has
// chosen another one; a payout of an existing batch stays.
func TestRemovedPayoutMethod(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"payout_methods": []string{"paypal"}})
	partner, _ := e.Referrer(50000)
	e.Must(200, e.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
	first := e.Batch(201)
	require.EqualValues(t, 1, first.Int("payout_count"))
	e.Must(200, e.Post("/v1/programs/"+e.ProgramID, M{"payout_methods": []string{"wise"}}))
	require.Equal(t, "pending", e.Payouts("&partner_id=" + partner)[0].String("status"))
	e.Must(200, e.Delete("/v1/payouts/"+e.Payouts("&partner_id=" + partner)[0].String("id")))
	e.Refused(400, "parameter_invalid", "payout_method", e.Post("/v1/partners/"+partner, M{"payout_method": "paypal"}))
	require.Zero(t, e.Batch(200).Int("payout_count"))
	require.Equal(t, "no_payout_method", e.Payouts("&partner_id=" + partner)[0].String("reason"))
	e.Must(200, e.Post("/v1/partners/"+partner, M{"payout_method": "wise"}))
	e.Must(200, e.Delete("/v1/payouts/"+e.Payouts("&partner_id=" + partner)[0].String("id")))
	require.EqualValues(t, 1, e.Batch(200).Int("payout_count"))
}
