package payout_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

// TestStopDuringPayouts: a server that is stopped while it creates a batch exits cleanly. Another
// server finishes the batch, and each partner is paid once.
func TestStopDuringPayouts(t *testing.T) {
	t.Parallel()
	const n = 3 * page
	base := apitest.Real(t)
	e := earner{base.Earner()}
	e.many(n)
	stopped := apitest.StartProcess(t, base)
	body := `{"program_id":"` + e.ProgramID + `","period_end":"` + base.Clock.Now().String() + `"}`
	post := func(ctx context.Context, url string) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/payout_batches", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+base.Key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "batch")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return res.StatusCode, res.Body.Close()
	}
	answered := make(chan int, 1)
	go func() {
		status, _ := post(t.Context(), stopped.URL) // 0 if the server had stopped listening
		answered <- status
	}()
	paid := func() (payouts int) {
		require.NoError(t, base.Pool.QueryRow(t.Context(), "SELECT count(*) FROM payouts WHERE program_id = $1",
			e.ProgramID).Scan(&payouts))
		return payouts
	}
	wait.Until(t, func() bool { return paid() > 0 }, "no payout is made")
	require.NoError(t, stopped.Cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, stopped.Cmd.Wait(), "it ends well")
	require.Equal(t, 201, <-answered, "what was begun is answered")
	t.Logf("%d of %d payouts when it ended", paid(), n)
	apitest.Balanced(t, base)

	other := apitest.StartProcess(t, base)
	status, err := post(t.Context(), other.URL)
	require.NoError(t, err)
	require.Equal(t, 201, status)
	wait.Until(t, func() bool { return paid() == n }, "the batch is not finished")
	wait.Until(t, func() bool {
		return len(base.Must(200, base.Get("/v1/payout_batches?program_id="+e.ProgramID)).Data()) == 1
	}, "there is one batch")
	var twice int
	require.NoError(t, base.Pool.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT partner_id FROM payouts
		WHERE program_id = $1 GROUP BY 1 HAVING count(*) > 1) p`, e.ProgramID).Scan(&twice))
	require.Zero(t, twice)
	apitest.Balanced(t, base)
}

// TestDeletedCustomerLeavesItsPayout: the sign-up commission of a deleted customer leaves its open payout, and refuses
// the deletion once the payout is on its way.
func TestDeletedCustomerLeavesItsPayout(t *testing.T) {
	t.Parallel()
	f := newFiler(t)
	f.Flow(f.ProgramID, M{"trigger": "new_signup", "rate_type": "fixed", "rate_value": 5000})
	partner, alone := f.Partner(f.ProgramID), f.Partner(f.ProgramID)
	for _, id := range []string{partner, alone} {
		f.Must(200, f.Post("/v1/partners/"+id, M{"payout_method": "bank_transfer"}))
	}
	first, second, only := f.Customer(f.ProgramID, partner), f.Customer(f.ProgramID, partner), f.Customer(f.ProgramID, alone)
	f.collect()
	require.EqualValues(t, 10000, f.payoutOf(partner).Int("amount_minor"))
	f.Must(200, f.Delete("/v1/customers/"+first))
	require.EqualValues(t, 5000, f.payoutOf(partner).Int("amount_minor"))
	f.Must(200, f.Delete("/v1/customers/"+only))
	require.Empty(t, f.Payouts("&partner_id="+alone), "a payout with nothing left is deleted")
	require.EqualValues(t, 1, f.exported(t, "csv").PayoutCount)
	f.Refused(409, "customer_has_paid_commissions", "", f.Delete("/v1/customers/"+second))
	require.EqualValues(t, 5000, f.payoutOf(partner).Int("amount_minor"))
	f.Tallied(t)
}
