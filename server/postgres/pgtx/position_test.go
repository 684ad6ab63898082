package pgtx_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
)

func TestParsePosition(t *testing.T) {
	t.Parallel()
	p := pgtx.Position{Timeline: 26, LSN: 0x16b3748}
	require.Equal(t, "1a-16b3748", p.String())
	again, ok := pgtx.ParsePosition(p.String())
	require.True(t, ok)
	require.Equal(t, p, again)
	again, ok = pgtx.ParsePosition(pgtx.Unknown.String())
	require.True(t, ok)
	require.Equal(t, pgtx.Unknown, again)
	for _, bad := range []string{"", "1", "1-", "-1", "1-x", "1-1 ", "1/1", "123456789-1", "1-12345678901234567"} {
		_, ok := pgtx.ParsePosition(bad)
		require.False(t, ok, bad)
	}
}

func TestPositionOrder(t *testing.T) {
	t.Parallel()
	at := func(timeline uint32, lsn uint64) pgtx.Position { return pgtx.Position{Timeline: timeline, LSN: lsn} }
	require.Equal(t, at(1, 9), at(1, 9).Later(at(1, 8)))
	require.Equal(t, at(2, 1), at(1, 9).Later(at(2, 1)))
	require.True(t, at(2, 9).Reaches(at(1, 9)))
	require.False(t, at(2, 8).Reaches(at(1, 9)), "the branch may be behind it")
	require.False(t, at(1, 9).Reaches(at(2, 1)))
}

// TestTrace: a traced transaction has the position after its commit, alone and shared. A
// transaction that fails or sends nothing has none.
func TestTrace(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t, pgtest.DurableDSN(t))
	ctx := t.Context()
	_, err := pool.Exec(ctx, "CREATE TABLE noted (n int PRIMARY KEY)")
	require.NoError(t, err)
	write := func(tx *pgtx.Tx, n int) error {
		defer tx.Rollback()
		tx.Trace()
		_, err := tx.Later().Exec(ctx, "INSERT INTO noted VALUES ($1)", n)
		require.NoError(t, err)
		return tx.Commit(ctx)
	}
	before := pgtx.Current(ctx, pool)
	tx := pgtx.Begin(pool)
	require.NoError(t, write(tx, 1))
	require.True(t, tx.Position().Reaches(before))
	require.NotEqual(t, before, tx.Position())
	require.True(t, pgtx.Current(ctx, pool).Reaches(tx.Position()))

	refused := pgtx.Begin(pool)
	require.Error(t, write(refused, 1))
	require.Zero(t, refused.Position())
	idle := pgtx.Begin(pool)
	idle.Trace()
	require.NoError(t, idle.Commit(ctx))
	require.Zero(t, idle.Position())

	commits := share.NewGroupCommit(pool, 0, 1)
	var members sync.WaitGroup
	for n := range 8 {
		members.Go(func() {
			member := commits.Begin("org")
			if err := write(member, 10+n); err != nil || !member.Position().Reaches(tx.Position()) || member.Position() == pgtx.Unknown {
				t.Error(err, member.Position())
			}
		})
	}
	members.Wait()
}

// TestPositionUnknown: without an answer of the database, the position is Unknown.
func TestPositionUnknown(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	pool := pgtest.New(t)
	end()
	require.Equal(t, pgtx.Unknown, pgtx.Current(ctx, pool))
}
