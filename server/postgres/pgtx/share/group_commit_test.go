package share_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// one returns a read of a number.
func one(sql string, into *int) pgtx.Read {
	return func(q pgtx.DBTX) error { return q.QueryRow(context.Background(), sql).Scan(into) }
}

// counters returns a pool of a database with a table of counters by name, and a table of unique
// values.
func counters(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	_, err := pool.Exec(t.Context(), `CREATE TABLE counter (name text PRIMARY KEY, n int NOT NULL);
		CREATE TABLE taken (v int CONSTRAINT taken_v_key UNIQUE, xid xid8 NOT NULL DEFAULT pg_current_xact_id())`)
	require.NoError(t, err)
	return pool
}

// count adds one to a counter as a request does: it claims and locks the counter, reads it, and
// queues the write.
func count(ctx context.Context, tx *pgtx.Tx, name string) error {
	if err := tx.Claim(name); err != nil {
		return err
	}
	n := 0
	errs := tx.Together(ctx,
		func(q pgtx.DBTX) error {
			_, err := q.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", name)
			return err
		},
		func(q pgtx.DBTX) error {
			return q.QueryRow(ctx, "SELECT coalesce(max(n), 0) FROM counter WHERE name = $1", name).Scan(&n)
		})
	if err := pgtx.First(errs); err != nil {
		return err
	}
	_, err := tx.Later().Exec(ctx,
		"INSERT INTO counter VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET n = excluded.n", name, n+1)
	return err
}

// take queues the INSERT of a unique value.
func take(ctx context.Context, tx *pgtx.Tx, v int) error {
	_, err := tx.Later().Exec(ctx, "INSERT INTO taken VALUES ($1)", v)
	return err
}

// run runs work as a request does: shared, and again alone if that may help.
func run(ctx context.Context, pool *pgxpool.Pool, b *share.GroupCommit, tenant string, work func(*pgtx.Tx) error) error {
	tx := b.Begin(tenant)
	for attempt := 1; ; attempt++ {
		err := work(tx)
		if err == nil {
			err = tx.Commit(ctx)
		}
		tx.Rollback()
		if err == nil || !pgtx.Again(err) || attempt == 4 {
			return err
		}
		tx = pgtx.Begin(pool)
	}
}

// number returns the number that a query selects.
func number(t require.TestingT, pool *pgxpool.Pool, sql string) (n int) {
	require.NoError(t, pool.QueryRow(context.Background(), sql).Scan(&n))
	return n
}

// held runs n members in one shared transaction: it holds another one open until all have joined.
// The results are in order.
func held(t *testing.T, b *share.GroupCommit, n int, work func(i int) error) []error {
	t.Helper()
	first, errs := b.Begin("first"), make([]error, n)
	require.NoError(t, pgtx.First(first.Together(t.Context(), func(q pgtx.DBTX) error {
		_, err := q.Exec(t.Context(), "SELECT 1")
		return err
	})))
	var all sync.WaitGroup
	for i := range n {
		before := b.Waiting()
		all.Go(func() { errs[i] = work(i) })
		wait.Until(t, func() bool { return b.Waiting() > before })
	}
	first.Rollback()
	all.Wait()
	return errs
}

// idle waits until no transaction waits or runs.
func idle(t require.TestingT, b *share.GroupCommit) {
	wait.Until(t, b.Idle)
}

// TestGroupCommitShares has ten members share one transaction, with one INSERT of ten rows.
func TestGroupCommitShares(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	errs := held(t, b, 10, func(i int) error {
		return run(t.Context(), pool, b, "t", func(tx *pgtx.Tx) error {
			if err := count(t.Context(), tx, strconv.Itoa(i)); err != nil {
				return err
			}
			return take(t.Context(), tx, i)
		})
	})
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, 10, number(t, pool, "SELECT sum(n) FROM counter"))
	require.Equal(t, 1, number(t, pool, "SELECT count(DISTINCT xid) FROM taken"))
	idle(t, b)
}

// TestGroupCommitAlone runs a single request in an unshared transaction.
func TestGroupCommitAlone(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 1, 1)
	tx := b.Begin("t")
	_, err := tx.Exec(t.Context(), "INSERT INTO taken VALUES (1)") // not allowed for a member
	require.NoError(t, err)
	second := b.Begin("t")
	_, err = second.Exec(t.Context(), "SELECT 1")
	require.True(t, pgtx.Again(err), "the second request shares")
	second.Rollback()
	require.NoError(t, tx.Commit(t.Context()))
	idle(t, b)
}

// TestGroupCommitEqualClaims runs members with an equal claim one after the other.
func TestGroupCommitEqualClaims(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	errs := held(t, b, 8, func(int) error {
		return run(t.Context(), pool, b, "t", func(tx *pgtx.Tx) error { return count(t.Context(), tx, "one") })
	})
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, 8, number(t, pool, "SELECT n FROM counter"))
}

// TestGroupCommitFailure has one of ten members violate a constraint, and one refuse: the other
// eight succeed, and the two get their own errors.
func TestGroupCommitFailure(t *testing.T) {
	t.Parallel()
	pool, refused := counters(t), errors.New("refused")
	require.NoError(t, run(t.Context(), pool, share.NewGroupCommit(pool, 1, 1), "t", func(tx *pgtx.Tx) error {
		return take(t.Context(), tx, 3)
	}))
	b := share.NewGroupCommit(pool, 0, 1)
	errs := held(t, b, 10, func(i int) error {
		return run(t.Context(), pool, b, "t", func(tx *pgtx.Tx) error {
			if err := count(t.Context(), tx, strconv.Itoa(i)); err != nil {
				return err
			}
			if i == 5 {
				return refused
			}
			return take(t.Context(), tx, i)
		})
	})
	for i, err := range errs {
		var pg *pgconn.PgError
		switch i {
		case 3:
			require.ErrorAs(t, err, &pg)
			require.Equal(t, "taken_v_key", pg.ConstraintName)
		case 5:
			require.ErrorIs(t, err, refused)
		default:
			require.NoError(t, err)
		}
	}
	require.Equal(t, 9, number(t, pool, "SELECT count(*) FROM taken"))
	require.Equal(t, 8, number(t, pool, "SELECT count(*) FROM counter"))
	idle(t, b)
}

// TestGroupCommitSingleMember: the only member of a shared transaction may wait for a lock as long
// as an unshared transaction does.
func TestGroupCommitSingleMember(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	holder, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer holder.Rollback(context.Background())
	_, err = holder.Exec(t.Context(), "INSERT INTO taken VALUES (1)")
	require.NoError(t, err)
	b, attempts := share.NewGroupCommit(pool, 0, 1), 0
	err = run(t.Context(), pool, b, "lone", func(tx *pgtx.Tx) error {
		if attempts++; attempts == 2 {
			require.NoError(t, holder.Rollback(t.Context()))
		}
		return take(t.Context(), tx, 1)
	})
	require.NoError(t, err)
	require.Equal(t, 2, attempts, "one shared, and one alone")
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM taken"))
	require.Zero(t, b.Penalty("lone"), "no other tenant was affected")
	idle(t, b)
}

// TestGroupCommitIsolatesFailures isolates a tenant whose reads fail twice in a row, and no other.
func TestGroupCommitIsolatesFailures(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	for range 2 {
		errs := held(t, b, 3, func(i int) error {
			tenant := "good"
			return run(t.Context(), pool, b, map[bool]string{true: "bad", false: tenant}[i == 1], func(tx *pgtx.Tx) error {
				if i == 1 {
					return pgtx.First(tx.Together(t.Context(), func(q pgtx.DBTX) error {
						return q.QueryRow(t.Context(), "SELECT 1 / 0").Scan(new(int))
					}))
				}
				return count(t.Context(), tx, strconv.Itoa(i))
			})
		})
		require.NoError(t, errors.Join(errs[0], errs[2]))
		require.ErrorContains(t, errs[1], "division by zero")
	}
	require.Equal(t, 100, b.Penalty("bad"))
	require.Zero(t, b.Penalty("good"))
	tx := b.Begin("bad")
	_, err := tx.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err, "in an unshared transaction")
	tx.Rollback()
	require.Equal(t, 99, b.Penalty("bad"))
	_, shared := b.Share("bad")
	require.False(t, shared)
	_, shared = b.Share("good")
	require.True(t, shared)
}

// TestGroupCommitDropsSlowMembers has a member that does not continue: the others commit without
// it, and it must repeat its work.
func TestGroupCommitDropsSlowMembers(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	others := make(chan struct{})
	errs := held(t, b, 3, func(i int) error {
		tx := b.Begin("t")
		defer tx.Rollback()
		if err := count(t.Context(), tx, strconv.Itoa(i)); err != nil {
			return err
		}
		if i == 0 {
			<-others
		}
		err := tx.Commit(t.Context())
		if i == 2 {
			close(others)
		}
		return err
	})
	require.True(t, pgtx.Again(errs[0]))
	require.NoError(t, errors.Join(errs[1:]...))
	require.Equal(t, 2, number(t, pool, "SELECT count(*) FROM counter"))
	idle(t, b)
}

// TestGroupCommitIsolatesSlowTenants isolates a tenant that delays others by a slow read, or by
// slow work between two reads.
func TestGroupCommitIsolatesSlowTenants(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	for _, reads := range []bool{true, false} {
		b := share.NewGroupCommit(pool, 0, 1)
		for range 2 {
			var others sync.WaitGroup
			others.Add(2)
			errs := held(t, b, 3, func(i int) error {
				tenant, sql := fmt.Sprint(i), "SELECT 1"
				switch {
				case i < 2:
					defer others.Done()
				case reads:
					tenant, sql = "slow", "SELECT pg_sleep(1.5)"
				default:
					tenant = "slow"
				}
				return run(t.Context(), pool, b, tenant, func(tx *pgtx.Tx) error {
					errs := tx.Together(t.Context(), func(q pgtx.DBTX) error {
						_, err := q.Exec(t.Context(), sql)
						return err
					})
					if i == 2 && !reads {
						others.Wait()
					}
					return errs[0]
				})
			})
			require.NoError(t, errors.Join(errs...))
			idle(t, b)
		}
		require.Equal(t, 100, b.Penalty("slow"), reads)
		require.Zero(t, b.Penalty("0")+b.Penalty("1"), reads)
	}
}

// TestGroupCommitDelaysItself does not penalize a tenant that only delays itself.
func TestGroupCommitDelaysItself(t *testing.T) {
	t.Parallel()
	b := share.NewGroupCommit(counters(t), 0, 1)
	for range 2 {
		tx := b.Begin("t")
		require.NoError(t, pgtx.First(tx.Together(t.Context(), one("SELECT 1", new(int)))))
		other := b.Begin("t")
		require.NoError(t, pgtx.First(other.Together(t.Context(), one("SELECT 1", new(int)))), "begins when the first is slow")
		other.Rollback()
		tx.Rollback()
		idle(t, b)
	}
	require.Zero(t, b.Penalty("t"))
}

// TestGroupCommitPanics has the encoding of a member's statement panic, in a read and in a queued
// write: nothing was sent, and all members repeat their work alone.
func TestGroupCommitPanics(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	for round := range 2 {
		var panicked atomic.Bool
		errs := held(t, b, 3, func(i int) error {
			return run(t.Context(), pool, b, "t", func(tx *pgtx.Tx) error {
				send := func(q pgtx.DBTX) error {
					_, err := q.Exec(t.Context(), "SELECT $1::text", panicsOnce{&panicked})
					return err
				}
				switch {
				case i == 1 && round == 0:
					if err := send(tx.Later()); err != nil {
						return err
					}
				case i == 1:
					if errs := tx.Together(t.Context(), send); errs[0] != nil {
						return errs[0]
					}
				}
				return take(t.Context(), tx, 3*round+i)
			})
		})
		require.NoError(t, errors.Join(errs...))
		require.True(t, panicked.Load())
		idle(t, b)
	}
	require.Equal(t, 6, number(t, pool, "SELECT count(*) FROM taken"))
}

// TestGroupCommitCutOff ends the connection of ten members: nothing is kept, and each gets an error
// for which Again is false.
func TestGroupCommitCutOff(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	errs := held(t, b, 10, func(i int) error {
		tx := b.Begin("t")
		defer tx.Rollback()
		if err := count(t.Context(), tx, strconv.Itoa(i)); err != nil {
			return err
		}
		if i == 5 {
			_, err := tx.Later().Exec(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())")
			require.NoError(t, err)
		}
		return errors.Join(take(t.Context(), tx, i), tx.Commit(t.Context()))
	})
	for _, err := range errs {
		require.Error(t, err)
		require.False(t, pgtx.Again(err), "in general, the commit may have happened")
	}
	require.Zero(t, number(t, pool, "SELECT (SELECT count(*) FROM counter) + (SELECT count(*) FROM taken)"))
	idle(t, b)
}

// TestGroupCommitGivesUp ends the request of a member that waits for its batch.
func TestGroupCommitGivesUp(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	b := share.NewGroupCommit(pool, 0, 1)
	ctx, cancel := context.WithCancel(t.Context())
	errs := make(chan error)
	first := b.Begin("first")
	require.NoError(t, count(t.Context(), first, "first"))
	go func() {
		errs <- run(ctx, pool, b, "t", func(tx *pgtx.Tx) error { return count(ctx, tx, "one") })
	}()
	wait.Until(t, func() bool { return b.Waiting() == 1 })
	cancel()
	require.ErrorIs(t, <-errs, context.Canceled)
	require.NoError(t, first.Commit(t.Context()))
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM counter"))
	idle(t, b)
}

// TestGroupCommitModel has random members, some of which fail in every possible way, add to a few
// counters: each counter ends as if they had run one by one.
func TestGroupCommitModel(t *testing.T) {
	t.Parallel()
	pool, refused := counters(t), errors.New("refused")
	rapid.Check(t, func(rt *rapid.T) {
		_, err := pool.Exec(t.Context(), "TRUNCATE counter, taken")
		require.NoError(rt, err)
		b := share.NewGroupCommit(pool, rapid.IntRange(0, 2).Draw(rt, "lone"), rapid.IntRange(1, 2).Draw(rt, "workers"))
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 30).Draw(rt, "names")
		ends := rapid.SliceOfN(rapid.IntRange(0, 9), len(names), len(names)).Draw(rt, "ends")
		want, got := map[string]int{}, make([]error, len(names))
		var all sync.WaitGroup
		for i, name := range names {
			all.Go(func() {
				got[i] = run(t.Context(), pool, b, name, func(tx *pgtx.Tx) error {
					if err := count(t.Context(), tx, name); err != nil {
						return err
					}
					switch ends[i] {
					case 0:
						return refused
					case 1: // a value that another member may insert
						return take(t.Context(), tx, 0)
					case 2: // an immediate statement
						_, err := tx.Exec(t.Context(), "SELECT 1")
						return err
					case 3: // a second claim
						return tx.Claim("x" + names[0])
					}
					return nil
				})
			})
		}
		all.Wait()
		for i, name := range names {
			if got[i] == nil {
				want[name]++
			} else if ends[i] > 1 {
				rt.Fatalf("member %d: %v", i, got[i])
			}
		}
		for name, n := range want {
			require.Equal(rt, n, number(rt, pool, "SELECT coalesce(max(n), 0) FROM counter WHERE name = '"+name+"'"), name)
		}
		idle(rt, b)
	})
}

// TestNested runs pieces of work inside one transaction: failed ones leave nothing, those with
// equal claims run in order, and one with an immediate statement runs alone.
func TestNested(t *testing.T) {
	t.Parallel()
	pool, refused := counters(t), errors.New("refused")
	tx := pgtx.Begin(pool)
	defer tx.Rollback()
	require.NoError(t, take(t.Context(), tx, 100))
	var mu sync.Mutex
	done := map[string][]int{}
	errs := share.Nested(t.Context(), tx, 8, func(i int, member *pgtx.Tx) error {
		name := []string{"a", "b"}[i%2]
		if err := count(t.Context(), member, name); err != nil {
			return err
		}
		switch i {
		case 2:
			return refused
		case 3:
			return take(t.Context(), member, 100) // taken by the transaction itself
		case 4:
			if _, err := member.Exec(t.Context(), "SELECT 1"); err != nil {
				return err
			}
		case 5:
			panic("a bug")
		}
		mu.Lock()
		defer mu.Unlock()
		done[name] = append(done[name], i)
		return nil
	})
	require.NoError(t, errors.Join(errs[0], errs[1], errs[4], errs[6], errs[7]))
	require.ErrorIs(t, errs[2], refused)
	require.ErrorContains(t, errs[3], "taken_v_key")
	require.ErrorContains(t, errs[5], "a bug")
	require.Equal(t, map[string][]int{"a": {0, 4, 6}, "b": {1, 7}}, done, "in order, even those that ran alone")
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, 3, number(t, pool, "SELECT n FROM counter WHERE name = 'a'"))
	require.Equal(t, 2, number(t, pool, "SELECT n FROM counter WHERE name = 'b'"))
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM taken"))
}
