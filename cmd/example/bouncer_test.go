package main

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/money/ledger/check"
)

// TestBouncer runs the example many times at once on two servers behind a PgBouncer in
// transaction mode, while its sessions come and go.
func TestBouncer(t *testing.T) {
	t.Parallel()
	base := apitest.Real(t)
	through := pgtest.Bouncer(t, base.DSN)
	servers := apitest.Processes(t, base, 2, "RAIL_DATABASE_URL="+through, "RAIL_DATABASE_SESSION_URL="+base.DSN)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			<-time.After(time.Duration(i) * 100 * time.Millisecond) // outlasts the sessions of the pool
			s := servers[i%2].Server
			var out bytes.Buffer
			if err := run(t.Context(), &out, s.URL, s.Key); err != nil {
				t.Error(err)
				return
			}
			done(t, s, out.Bytes())
		})
	}
	all.Wait()
	broken, err := check.Run(t.Context(), base.Pool)
	require.NoError(t, err)
	require.Empty(t, broken)
}
