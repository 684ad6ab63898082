package event_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
	"rail/server/work/event"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

// record writes events about an object of programs.
func record(ctx context.Context, tx pgtx.DBTX, subject string, programs ...string) error {
	r := event.Recorder{Now: now}
	for _, p := range programs {
		r.Record("org_1", event.Subject{ProgramID: p, ID: subject}, events.AffiliateUpdated(api.AffiliateUpdatedData{}))
	}
	return r.Flush(ctx, tx)
}

// follow reads events of a program below the horizon, as the sender does.
func follow(ctx context.Context, pool *pgxpool.Pool, program string,
	after int64) (subjects []string, seqs []int64, err error) {
	h, err := event.ReadHorizon(ctx, pool)
	if err != nil {
		return nil, nil, err
	}
	classes, belows := h.Arrays()
	rows, err := pool.Query(ctx,
		`SELECT subject_id, seq FROM events WHERE program_id = $1 AND seq > $2 AND seq < least($3::bigint,
		(SELECT min(x.below) FROM unnest($4::integer[], $5::bigint[]) x (class, below) WHERE x.class IN (0, hashtext($1)))) ORDER BY seq`, program, after, h.End, classes, belows)
	if err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		var subject string
		var seq int64
		if err := rows.Scan(&subject, &seq); err != nil {
			return nil, nil, err
		}
		subjects, seqs = append(subjects, subject), append(seqs, seq)
	}
	return subjects, seqs, rows.Err()
}

// near sets the next number just below a lock's maximum.
func near(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	_, err := pool.Exec(t.Context(), "SELECT setval('events_seq_seq', $1)", int64(5)<<32-200)
	require.NoError(t, err)
}

var errUndone = errors.New("undone")

// write changes objects of two programs in a transaction and records each change with its number: several times,
// some of them rolled back, while others do the same.
func write(ctx context.Context, pool *pgxpool.Pool, rounds int) error {
	for range rounds {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			objects := rand.Perm(3)[:1+rand.IntN(2)]
			slices.Sort(objects) // in one order, against deadlocks
			for _, object := range objects {
				program, n := fmt.Sprint("prg_", object%2), 0
				if err := tx.QueryRow(ctx, "UPDATE objects SET n = n + 1 WHERE id = $1 RETURNING n", object).Scan(&n); err != nil {
					return err
				}
				if err := record(ctx, tx, fmt.Sprintf("%d/%d", object, n), program); err != nil {
					return err
				}
			}
			if rand.IntN(5) == 0 {
				return errUndone
			}
			return nil
		})
		if err != nil && !errors.Is(err, errUndone) {
			return err
		}
	}
	return nil
}

// TestOrder: a reader up to the horizon never misses an event and sees those of an object in the order of its
// changes, with many concurrent writers, and beyond a lock's maximum number.
func TestOrder(t *testing.T) {
	t.Parallel()
	const writers, rounds = 8, 60
	pool := pgtest.New(t)
	near(t, pool)
	_, err := pool.Exec(t.Context(),
		"CREATE TABLE objects (id int PRIMARY KEY, n int NOT NULL); INSERT INTO objects SELECT g, 0 FROM generate_series(0, 2) g")
	require.NoError(t, err)
	ended := make(chan struct{})
	var writing, reading sync.WaitGroup
	for range writers {
		writing.Go(func() {
			if err := write(t.Context(), pool, rounds); err != nil {
				t.Error(err)
			}
		})
	}
	seen := make([]map[string]int, 2)
	for i := range seen {
		seen[i] = map[string]int{}
		reading.Go(func() {
			last := int64(0)
			for over := false; ; {
				subjects, seqs, err := follow(t.Context(), pool, fmt.Sprint("prg_", i), last)
				if err != nil {
					t.Error(err)
					return
				}
				for j, s := range subjects {
					object, n, _ := strings.Cut(s, "/")
					if seen[i][object]++; strconv.Itoa(seen[i][object]) != n {
						t.Errorf("change %s of %s came as number %d", n, object, seen[i][object])
						return
					}
					last = seqs[j]
				}
				if over && len(subjects) == 0 {
					return
				}
				select {
				case <-ended:
					over = true
				default:
				}
			}
		})
	}
	writing.Wait()
	close(ended)
	reading.Wait()
	for object := range 3 {
		var n int
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT n FROM objects WHERE id = $1", object).Scan(&n))
		require.Equal(t, n, seen[object%2][strconv.Itoa(object)])
	}
}

// TestLocks: a transaction delays only later events of its programs, and has one lock for any number of
// programs.
func TestLocks(t *testing.T) {
	t.Parallel()
	many := []string{}
	for i := range 40 {
		many = append(many, fmt.Sprint("prg_", i))
	}
	for name, c := range map[string]struct {
		programs      []string
		locks, others int // events read of other programs in the meantime
	}{
		"one": {many[:1], 1, 1}, "some": {many[:16], 16, 1}, "many": {many, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := pgtest.New(t)
			near(t, pool)
			count := func(program string) int {
				subjects, _, err := follow(t.Context(), pool, program, 0)
				require.NoError(t, err)
				return len(subjects)
			}
			require.NoError(t, record(t.Context(), pool, "before", "prg_0", "prg_other"))
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			t.Cleanup(func() { _ = tx.Rollback(context.Background()) }) // it may have ended
			require.NoError(t, record(t.Context(), tx, "open", c.programs...))
			require.NoError(t, record(t.Context(), pool, "after", "prg_0", "prg_other"))
			h, err := event.ReadHorizon(t.Context(), pool)
			require.NoError(t, err)
			require.Len(t, h.Locks, c.locks)
			require.Equal(t, []int{1, 1 + c.others}, []int{count("prg_0"), count("prg_other")})
			listened, err := db.New().EventsSince(t.Context(), pool, db.EventsSinceParams{
				OrgID: "org_1", BeforeSeq: h.Lowest(), Lim: 100,
			})
			require.NoError(t, err)
			require.Len(t, listened, 2, "who follows all programs waits for all")
			require.NoError(t, tx.Commit(t.Context()))
			require.Equal(t, []int{3, 2}, []int{count("prg_0"), count("prg_other")})
		})
	}
}
