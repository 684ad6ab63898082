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
