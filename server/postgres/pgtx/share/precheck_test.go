package share_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
)

// TestPrecheck lets a precheck refuse the work or not: alone and shared, for work that reads and
// for work that only writes.
func TestPrecheck(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	refused := errors.New("refused")
	for i := range 8 {
		shared, reads, refuses := i&1 > 0, i&2 > 0, i&4 > 0
		name := fmt.Sprintf("shared %v reads %v refused %v", shared, reads, refuses)
		tx := pgtx.Begin(pool)
		if shared {
			tx = b.Begin("t")
		}
		zeroth, first, second := -1, 0, 0
		called := false
		require.NoError(t, tx.Precheck(t.Context(), one("SELECT 0", &zeroth)))
		err := tx.Precheck(t.Context(), func(q pgtx.DBTX) error {
			require.NoError(t, one("SELECT 1", &first)(q), name)
			require.Equal(t, shared && reads, called, "%s: in the round trip of the member's first read", name)
			if refuses {
				return refused
			}
			return nil
		})
		require.True(t, tx.Begun(), name)
		require.Equal(t, !shared && refuses, errors.Is(err, refused), name)
		if err == nil && reads {
			err = pgtx.First(tx.Together(t.Context(), func(q pgtx.DBTX) error {
				called = true
				return one("SELECT 2", &second)(q)
			}))
			require.Equal(t, refuses, errors.Is(err, refused), name)
			require.Equal(t, 2, second)
		}
		if err == nil {
			require.NoError(t, take(t.Context(), tx, i)) // is never written if the work is refused
			if err = tx.Settle(t.Context()); err == nil {
				err = tx.Commit(t.Context())
			}
		}
		require.Equal(t, refuses, errors.Is(err, refused), "%s: %v", name, err)
		require.Zero(t, zeroth, "%s: two prechecks", name)
		if refuses && shared {
			require.ErrorIs(t, tx.Commit(t.Context()), refused, name)
		}
		tx.Rollback()
	}
	require.Equal(t, 4, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}

// TestPrecheckAtCommit has a member commit without reading or calling Settle.
func TestPrecheckAtCommit(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	refused := errors.New("refused")
	for i, want := range []error{nil, refused} {
		tx := b.Begin("t")
		require.NoError(t, tx.Precheck(t.Context(), func(q pgtx.DBTX) error { return errors.Join(one("SELECT 1", new(int))(q), want) }))
		require.NoError(t, take(t.Context(), tx, i))
		require.ErrorIs(t, tx.Commit(t.Context()), want)
	}
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}

// TestPrecheckThatFails makes all members repeat their work alone.
func TestPrecheckThatFails(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	tries := 0
	errs := held(t, b, 2, func(i int) error {
		return run(t.Context(), pool, b, "t", func(tx *pgtx.Tx) error {
			err := tx.Precheck(t.Context(), func(q pgtx.DBTX) error {
				by := 1
				if i == 1 {
					by, tries = tries, tries+1
				}
				_, err := q.Exec(t.Context(), "SELECT 1 / $1::int", by)
				return err
			})
			if err != nil {
				return err
			}
			return count(t.Context(), tx, "n"+string(rune('a'+i)))
		})
	})
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, 2, tries)
	require.Equal(t, 2, number(t, pool, "SELECT sum(n) FROM counter"))
	idle(t, b)
}

// TestPrecheckThatPanics refuses the work, even if it ignores the error.
func TestPrecheckThatPanics(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	tx := b.Begin("t")
	require.NoError(t, tx.Precheck(t.Context(), func(q pgtx.DBTX) error {
		_ = one("SELECT 1", new(int))(q)
		panic("as a mistake does")
	}))
	tx.Together(t.Context(), one("SELECT 2", new(int)))
	require.NoError(t, take(t.Context(), tx, 1))
	require.ErrorContains(t, tx.Settle(t.Context()), "panicked")
	require.ErrorContains(t, tx.Commit(t.Context()), "panicked")
	require.Zero(t, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}

// TestNothingTogether runs no reads, alone and as a member.
func TestNothingTogether(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	for i, tx := range []*pgtx.Tx{pgtx.Begin(pool), b.Begin("t")} {
		require.Empty(t, tx.Together(t.Context(), []pgtx.Read{}...))
		require.NoError(t, take(t.Context(), tx, i))
		require.NoError(t, tx.Commit(t.Context()))
	}
	require.Equal(t, 2, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}
