package work_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/worktest"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/work"
)

// Short reads of a read-only unit may be batched; a write sees its own transaction.
func TestShort(t *testing.T) {
	t.Parallel()
	x := worktest.New(t)
	read := work.NewRun(x.Pool, work.Actor{}, clock.System{}.Now())
	require.Equal(t, pgtx.DBTX(x.Pool), read.Short())
	read.Reads = share.NewReads(x.Pool, 0, 1)
	var n int
	require.NoError(t, read.Short().QueryRow(t.Context(), "SELECT 1").Scan(&n))
	require.EqualValues(t, 1, read.Reads.Stats().Members)
	require.NoError(t, read.Within(t.Context(), func(u *work.Unit) error {
		require.Equal(t, pgtx.DBTX(u.Tx), u.Short())
		return u.Short().QueryRow(context.Background(), "SELECT 1").Scan(&n)
	}))
	require.Equal(t, 1, n)
}
