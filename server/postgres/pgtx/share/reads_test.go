package share_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
)

// gate keeps the only worker busy until it is opened: scanning into it waits.
type gate struct{ entered, open chan struct{} }

func (g gate) Scan(any) error {
	close(g.entered)
	<-g.open
	return nil
}

// shut occupies the only worker and returns the function that frees it.
func shut(t *testing.T, r *share.Reads) (open func()) {
	t.Helper()
	g := gate{make(chan struct{}), make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- r.For("gate").QueryRow(context.Background(), "SELECT 1").Scan(g) }()
	<-g.entered
	return func() {
		close(g.open)
		require.NoError(t, <-ended)
	}
}

// together runs n reads in one batch, in order, and returns their errors.
func together(t *testing.T, r *share.Reads, n int, read func(i int) error) []error {
	t.Helper()
	open := shut(t, r)
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		before := r.Waiting()
		all.Go(func() { errs[i] = read(i) })
		wait.Until(t, func() bool { return r.Waiting() > before })
	}
	open()
	all.Wait()
	quiet(t, r)
	return errs
}

// quiet waits until no read waits or runs.
func quiet(t require.TestingT, r *share.Reads) {
	wait.Until(t, r.Idle)
}

// backend selects the connection and its transaction.
const backend = "SELECT pg_backend_pid(), transaction_timestamp()"

// TestReadsShare runs ten reads in one batch on one connection.
func TestReadsShare(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	pids, times := make([]int, 10), make([]time.Time, 10)
	errs := together(t, r, 10, func(i int) error {
		return r.For("t").QueryRow(t.Context(), backend).Scan(&pids[i], &times[i])
	})
	require.NoError(t, errors.Join(errs...))
	for i := range pids {
		require.Equal(t, []any{pids[0], times[0]}, []any{pids[i], times[i]})
	}
}

// TestReadsAlone runs reads alone while few are active.
func TestReadsAlone(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 2, 1)
	open := shut(t, r) // the first of two
	one := func() {
		n := 0
		require.NoError(t, r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(&n))
	}
	one()
	require.Zero(t, r.Stats().Members)
	second := shut(t, r)
	one()
	require.EqualValues(t, 1, r.Stats().Members, "the third is in a batch")
	second()
	open()
	quiet(t, r)
}

// TestReadsEndTheirBatch cancels a slow read at the database, too.
func TestReadsEndTheirBatch(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	r := share.NewReads(pool, 0, 1)
	ctx, end := context.WithTimeout(t.Context(), 5*time.Second) // alone, it may take as long as its request
	defer end()
	n := 0
	require.Error(t, r.For("t").QueryRow(ctx, "SELECT 1 FROM pg_sleep(60)").Scan(&n))
	require.EqualValues(t, 1, r.Stats().Retries)
	const asleep = `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'active' AND query LIKE 'SELECT 1 FROM pg_sleep(60%'`
	wait.Until(t, func() bool { return number(t, pool, asleep) == 0 })
	quiet(t, r)
}

// TestReadsMany fills several batches.
func TestReadsMany(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	times := make([]time.Time, 130)
	require.NoError(t, errors.Join(together(t, r, len(times), func(i int) error {
		return r.For("t").QueryRow(t.Context(), "SELECT transaction_timestamp()").Scan(&times[i])
	})...))
	for i := range times {
		first := i / 64 * 64
		require.Equal(t, times[first], times[i], i)
	}
	require.NotEqual(t, times[0], times[64])
	require.NotEqual(t, times[64], times[128])
}

// TestReadsFail returns an error only to the request whose read failed.
func TestReadsFail(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	got := make([]int, 8)
	errs := together(t, r, len(got), func(i int) error {
		return r.For("t").QueryRow(t.Context(), "SELECT 12 / (3 - $1::int) WHERE $1::int <> 5", i).Scan(&got[i])
	})
	require.ErrorContains(t, errs[3], "division by zero")
	require.ErrorIs(t, errs[5], pgx.ErrNoRows)
	errs[3], errs[5] = nil, nil
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, []int{4, 6, 12, 0, -12, 0, -4, -3}, got)
}

// TestReadsSlow has a read that waits for a lock, and a slow one: the others do not wait for them,
// and both succeed.
func TestReadsSlow(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	holder := pgtx.Begin(pool)
	defer holder.Rollback()
	_, err := holder.Exec(t.Context(), "LOCK TABLE counter")
	require.NoError(t, err)
	for _, slow := range []string{"SELECT count(*) FROM counter", "SELECT count(*) FROM (SELECT pg_sleep(1)) s"} {
		r := share.NewReads(pool, 0, 1)
		var others sync.WaitGroup
		var through atomic.Int32
		others.Add(3)
		errs := together(t, r, 4, func(i int) error {
			n := -1
			if i != 1 {
				defer others.Done()
				defer through.Add(1)
				return r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(&n)
			}
			go func() {
				others.Wait()
				holder.Rollback()
			}()
			err := r.For("slow").QueryRow(t.Context(), slow).Scan(&n)
			require.EqualValues(t, 3, through.Load(), slow)
			return err
		})
		require.NoError(t, errors.Join(errs...), slow)
	}
}

// TestReadsCanceled ends the request of a running read: the others continue, and its destination is not
// written to.
func TestReadsCanceled(t *testing.T) {
	t.Parallel()
	r := share.NewReads(counters(t), 0, 1)
	gone, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	errs := together(t, r, 3, func(i int) error {
		n := -1
		switch i {
		case 0:
			return r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(ender{end, ended})
		case 1: // behind the read that ends its request
			defer close(ended)
			err := r.For("t").QueryRow(gone, "SELECT 1").Scan(&n)
			n++
			return err
		}
		return r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(&n)
	})
	require.ErrorIs(t, errs[1], context.Canceled)
	require.NoError(t, errors.Join(errs[0], errs[2]))
}

// TestReadsGiveUp does not send a read whose request ends while it waits.
func TestReadsGiveUp(t *testing.T) {
	t.Parallel()
	r := share.NewReads(counters(t), 0, 1)
	ctx, end := context.WithCancel(t.Context())
	open, err := shut(t, r), make(chan error)
	go func() { err <- r.For("t").QueryRow(ctx, "SELECT 1").Scan(new(int)) }()
	wait.Until(t, func() bool { return r.Waiting() == 1 })
	end()
	require.ErrorIs(t, <-err, context.Canceled)
	require.Zero(t, r.Waiting())
	open()
	quiet(t, r)
	require.EqualValues(t, 1, r.Stats().Members, "the read that kept the worker busy")
}

// ender is a destination that ends another request and waits for its end.
type ender struct {
	end  func()
	gone chan struct{}
}

func (e ender) Scan(any) error {
	e.end()
	<-e.gone
	return nil
}

// broken is a destination that panics.
type broken struct{}

func (broken) Scan(any) error { panic("broken") }

// TestReadsPanic has a destination that panics: only its own request panics.
func TestReadsPanic(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	errs := together(t, r, 4, func(i int) error {
		n := 0
		if i == 1 {
			require.PanicsWithValue(t, "broken", func() { _ = r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(broken{}) })
			return nil
		}
		return r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(&n)
	})
	require.NoError(t, errors.Join(errs...))
}

// panicsOnce is an argument whose encoding panics the first time.
type panicsOnce struct{ panicked *atomic.Bool }

func (u panicsOnce) TextValue() (pgtype.Text, error) {
	if u.panicked.CompareAndSwap(false, true) {
		panic("panicsOnce")
	}
	return pgtype.Text{String: "fine", Valid: true}, nil
}

// TestReadsEncodingPanics has an argument panic before anything is sent: each read repeats alone.
func TestReadsEncodingPanics(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	var panicked atomic.Bool
	errs := together(t, r, 3, func(i int) error {
		fine := ""
		if i == 1 {
			return r.For("t").QueryRow(t.Context(), "SELECT $1::text", panicsOnce{&panicked}).Scan(&fine)
		}
		return r.For("t").QueryRow(t.Context(), "SELECT 'fine'").Scan(&fine)
	})
	require.NoError(t, errors.Join(errs...))
	require.True(t, panicked.Load())
	require.EqualValues(t, 3, r.Stats().Retries)
}

// TestReadsConnection loses the connection of a batch: its reads repeat alone.
func TestReadsConnection(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	errs := together(t, r, 4, func(i int) error {
		if i == 1 {
			var ok bool
			return r.For("t").QueryRow(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())").Scan(&ok)
		}
		n := 0
		return r.For("t").QueryRow(t.Context(), "SELECT 1").Scan(&n)
	})
	require.ErrorContains(t, errs[1], "terminating connection")
	errs[1] = nil
	require.NoError(t, errors.Join(errs...))
}

// TestReadsPenalty isolates a tenant whose reads keep failing.
func TestReadsPenalty(t *testing.T) {
	t.Parallel()
	r := share.NewReads(pgtest.New(t), 0, 1)
	n := 0
	fail := func() { require.Error(t, r.For("bad").QueryRow(t.Context(), "SELECT 1 / 0").Scan(&n)) }
	fail()
	require.NoError(t, r.For("bad").QueryRow(t.Context(), "SELECT 1").Scan(&n))
	quiet(t, r) // resets the failures
	fail()
	require.Zero(t, r.Penalty("bad"))
	fail()
	quiet(t, r)
	require.Equal(t, 100, r.Penalty("bad"))
	for range 100 {
		fail()
	}
	require.Zero(t, r.Penalty("bad"), "its reads share again")
}

// TestReadsOther runs the statements that are never shared.
func TestReadsOther(t *testing.T) {
	t.Parallel()
	pool := counters(t)
	q := share.NewReads(pool, 0, 1).For("t")
	_, err := q.Exec(t.Context(), "INSERT INTO counter VALUES ('a', 1), ('b', 2)")
	require.NoError(t, err)
	rows, err := q.Query(t.Context(), "SELECT n FROM counter ORDER BY n")
	require.NoError(t, err)
	got, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, got)
}

// TestReadsModel runs random reads, some of which end at any time: each gets the same result as
// alone.
func TestReadsModel(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	rapid.Check(t, func(t *rapid.T) {
		r := share.NewReads(pool, rapid.IntRange(0, 3).Draw(t, "lone"), rapid.IntRange(1, 3).Draw(t, "workers"))
		kinds := rapid.SliceOfN(rapid.SampledFrom([]string{
			"row", "row", "row", "none", "fails", "gone", "ends", "refused",
		}), 1, 60).Draw(t, "reads")
		errs := make([]error, len(kinds))
		var all sync.WaitGroup
		for i, kind := range kinds {
			all.Go(func() { errs[i] = modelled(r, pool, kind, i) })
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		quiet(t, r)
	})
}

// modelled runs a read of a kind, and returns an error if its result differs from that of a read alone.
func modelled(r *share.Reads, pool *pgxpool.Pool, kind string, i int) error {
	ctx, end := context.WithCancel(context.Background())
	defer end()
	sql, n := "SELECT $1::int", -1
	switch kind {
	case "none":
		sql += " WHERE false"
	case "fails":
		sql = "SELECT $1::int / 0"
	case "refused": // before it is sent
		sql = "SELECT nothing FROM nowhere WHERE $1"
	case "gone":
		end()
	case "ends":
		time.AfterFunc(time.Duration(i)*10*time.Microsecond, end)
	}
	err := r.For(fmt.Sprint(i%3)).QueryRow(ctx, sql, i).Scan(&n)
	if kind == "gone" || kind == "ends" {
		if errors.Is(err, context.Canceled) || err == nil && n == i { // its answer may have arrived first
			n = 0 // the request may write to it again
			return nil
		}
		return fmt.Errorf("%s: %w, %d", kind, err, n)
	}
	want := -1
	wantErr := pool.QueryRow(ctx, sql, i).Scan(&want)
	if n != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
		return fmt.Errorf("%s: got %d, %w, want %d, %w", kind, n, err, want, wantErr)
	}
	return nil
}
