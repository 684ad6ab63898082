package pgtx_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// table returns a pool over a database with an empty table q(a).
func table(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), "CREATE TABLE q (a int CONSTRAINT q_a_key UNIQUE)")
	require.NoError(t, err)
	return pool
}

func sum(t *testing.T, pool *pgxpool.Pool) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT coalesce(sum(a), 0) FROM q").Scan(&n))
	return n
}

func begin(t *testing.T, pool *pgxpool.Pool) *pgtx.Tx {
	t.Helper()
	tx := pgtx.Begin(pool)
	t.Cleanup(tx.Rollback)
	return tx
}

func later(t *testing.T, tx *pgtx.Tx, a int) {
	t.Helper()
	_, err := tx.Later().Exec(t.Context(), "INSERT INTO q VALUES ($1)", a)
	require.NoError(t, err)
}

// one returns a read of one number.
func one(sql string, into *int) pgtx.Read {
	return func(q pgtx.DBTX) error { return q.QueryRow(context.Background(), sql).Scan(into) }
}

func TestTogether(t *testing.T) {
	t.Parallel()
	pool := table(t)
	tx := begin(t, pool)
	var a, b int
	errs := tx.Together(t.Context(), one("SELECT 1", &a), one("SELECT 2 WHERE false", &b), one("SELECT 3", &b),
		func(pgtx.DBTX) error { return nil })
	require.NoError(t, pgtx.First(errs))
	require.ErrorIs(t, errs[1], pgx.ErrNoRows)
	require.Equal(t, []int{1, 3}, []int{a, b})
	errs = tx.Together(t.Context(), func(q pgtx.DBTX) error {
		return errors.Join(one("SELECT 1", &a)(q), one("SELECT 2", &a)(q))
	})
	require.ErrorContains(t, errs[0], "more than one statement")
}

func TestTogetherFails(t *testing.T) {
	t.Parallel()
	pool := table(t)
	tx := begin(t, pool)
	later(t, tx, 1)
	later(t, tx, 1)
	var a int
	errs := tx.Together(t.Context(), one("SELECT 1", &a))
	require.ErrorContains(t, pgtx.First(errs), "q_a_key")
	require.True(t, pgtx.Again(pgtx.First(errs)))
	tx.Rollback()
	require.Zero(t, sum(t, pool))
}

func TestLaterTravelsWithCommit(t *testing.T) {
	t.Parallel()
	pool := table(t)
	tx := begin(t, pool)
	later(t, tx, 4)
	var n int
	require.NoError(t, tx.QueryRow(t.Context(), "SELECT count(*) FROM q").Scan(&n))
	require.Equal(t, 1, n, "a read sees what was put off before it")
	later(t, tx, 5)
	require.Zero(t, sum(t, pool))
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 9, sum(t, pool))
	require.Error(t, tx.Commit(t.Context()), "ended")
	_, err := tx.Exec(t.Context(), "SELECT 1")
	require.Error(t, err, "ended")
}

func TestCommitThatFailsKeepsNothing(t *testing.T) {
	t.Parallel()
	pool := table(t)
	tx := begin(t, pool)
	later(t, tx, 7)
	later(t, tx, 7)
	require.ErrorContains(t, tx.Commit(t.Context()), "q_a_key")
	require.Zero(t, sum(t, pool))
	require.Zero(t, pool.Stat().AcquiredConns())
}

func TestUndo(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]bool{"nothing sent": false, "sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := table(t)
			tx := begin(t, pool)
			_, err := tx.Exec(t.Context(), "INSERT INTO q VALUES (1)")
			require.NoError(t, err)
			tx.Savepoint()
			later(t, tx, 2)
			if sent {
				_, err := tx.Exec(t.Context(), "INSERT INTO q VALUES (3)")
				require.NoError(t, err)
			}
			later(t, tx, 4)
			tx.Undo()
			later(t, tx, 10)
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, 11, sum(t, pool))
		})
	}
}

// TestRollbackOfCancelled: the rollback of an ended request returns its connection to the pool.
func TestRollbackOfCancelled(t *testing.T) {
	t.Parallel()
	pool := table(t)
	ctx, cancel := context.WithCancel(t.Context())
	tx := pgtx.Begin(pool)
	_, err := tx.Exec(ctx, "INSERT INTO q VALUES (1)")
	require.NoError(t, err)
	cancel()
	_, err = tx.Exec(ctx, "SELECT pg_sleep(5)")
	require.Error(t, err)
	tx.Rollback()
	require.Zero(t, sum(t, pool))
	require.Zero(t, pool.Stat().AcquiredConns())
}

// TestReadAfterItsEnd uses the DBTX of a read that has returned: it gets an error.
func TestReadAfterItsEnd(t *testing.T) {
	t.Parallel()
	tx := begin(t, table(t))
	var outer pgtx.DBTX
	tx.Together(t.Context(), func(q pgtx.DBTX) error { outer = q; return nil })
	require.Error(t, one("SELECT 1", new(int))(outer))
}
