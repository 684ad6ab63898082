package pgtx_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/postgres/pgtx"
)

// TestAhead refuses work, or does not, by what was read ahead of it: alone and
// together with others, whether the work reads anything or only writes.
func TestAhead(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := pgtx.NewBus(pool, 0, 1)
	refused := errors.New("refused")
	for i := range 8 {
		rides, reads, refuses := i&1 > 0, i&2 > 0, i&4 > 0
		name := fmt.Sprintf("rides %v reads %v refused %v", rides, reads, refuses)
		tx := pgtx.Begin(pool)
		if rides {
			tx = b.Begin("t")
		}
		zeroth, first, second := -1, 0, 0
		asked := false
		require.NoError(t, tx.Ahead(t.Context(), one("SELECT 0", &zeroth)))
		err := tx.Ahead(t.Context(), func(q pgtx.DBTX) error {
			require.NoError(t, one("SELECT 1", &first)(q), name)
			require.Equal(t, rides && reads, asked, "%s: in the trip of the first of a rider's work", name)
			if refuses {
				return refused
			}
			return nil
		})
		require.True(t, tx.Begun(), name)
		require.Equal(t, !rides && refuses, errors.Is(err, refused), name)
		if err == nil && reads {
			err = pgtx.First(tx.Together(t.Context(), func(q pgtx.DBTX) error {
				asked = true
				return one("SELECT 2", &second)(q)
			}))
			require.Equal(t, refuses, errors.Is(err, refused), name)
			require.Equal(t, 2, second)
		}
		if err == nil {
			require.NoError(t, take(t.Context(), tx, i)) // puts off what is never written if it is refused
			if err = tx.Settle(t.Context()); err == nil {
				err = tx.Commit(t.Context())
			}
		}
		require.Equal(t, refuses, errors.Is(err, refused), "%s: %v", name, err)
		require.Zero(t, zeroth, "%s: two go ahead", name)
		if refuses && rides {
			require.ErrorIs(t, tx.Commit(t.Context()), refused, name)
		}
		tx.Rollback()
	}
	require.Equal(t, 4, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}

// TestAheadOfTheCommit has a rider commit without asking what went ahead of it.
func TestAheadOfTheCommit(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := pgtx.NewBus(pool, 0, 1)
	refused := errors.New("refused")
	for i, want := range []error{nil, refused} {
		tx := b.Begin("t")
		require.NoError(t, tx.Ahead(t.Context(), func(q pgtx.DBTX) error { return errors.Join(one("SELECT 1", new(int))(q), want) }))
		require.NoError(t, take(t.Context(), tx, i))
		require.ErrorIs(t, tx.Commit(t.Context()), want)
	}
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}

// TestAheadThatFails has all do their work again, alone.
func TestAheadThatFails(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := pgtx.NewBus(pool, 0, 1)
	tries := 0
	errs := held(t, b, 2, func(i int) error {
		return ride(t.Context(), pool, b, "t", func(tx *pgtx.Tx) error {
			err := tx.Ahead(t.Context(), func(q pgtx.DBTX) error {
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

// TestAheadThatPanics bars the work, whatever that makes of it.
func TestAheadThatPanics(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := pgtx.NewBus(pool, 0, 1)
	tx := b.Begin("t")
	require.NoError(t, tx.Ahead(t.Context(), func(q pgtx.DBTX) error {
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

// TestNothingTogether asks for nothing, alone and as a rider.
func TestNothingTogether(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := pgtx.NewBus(pool, 0, 1)
	for i, tx := range []*pgtx.Tx{pgtx.Begin(pool), b.Begin("t")} {
		require.Empty(t, tx.Together(t.Context(), []pgtx.Read{}...))
		require.NoError(t, take(t.Context(), tx, i))
		require.NoError(t, tx.Commit(t.Context()))
	}
	require.Equal(t, 2, number(t, pool, "SELECT count(*) FROM taken"))
	idle(t, b)
}

// TestReadThatAsksTooLate gets an error, and not the process an end.
func TestReadThatAsksTooLate(t *testing.T) {
	t.Parallel()
	tx := begin(t, counters(t))
	var left pgtx.DBTX
	tx.Together(t.Context(), func(q pgtx.DBTX) error { left = q; return nil })
	require.Error(t, one("SELECT 1", new(int))(left))
}
