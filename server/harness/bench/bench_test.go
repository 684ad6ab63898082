package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain is the load generator where the test has started it, as cmd/bench is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-load" {
		if err := Generate(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A smoke run: every figure of a write and of a read is measured, beside pgbench and the floor, saved, and read back.
// The values are not checked.
func TestRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "run", "first.json")
	var out bytes.Buffer
	err := Run(t.Context(), Options{
		Rows: partners, Seconds: 1, Rounds: 1, Clients: []int{8},
		Only: []string{"sale", "retrieve", "events", "webhooks"}, Save: path, Out: &out,
	})
	require.NoError(t, err)
	saved, err := baseRun(path)
	require.NoError(t, err)
	for _, load := range []string{"sale", "retrieve"} {
		f := saved.of(load, 8)
		for i, v := range f.measured() {
			floors, logged := i >= 9 && i < 12, i >= 12
			if load == "sale" || !logged { // the writes of a read belong to other processes
				require.Equal(t, load == "retrieve" || !floors, *v > 0, "%s: figure %d of %+v", load, i, f)
			}
		}
	}
	require.Positive(t, saved.events(8).Recorded)
	require.Positive(t, saved.deliveries(manyEndpoints))
	require.Contains(t, out.String(), "POST /v1/sales")
	require.Contains(t, out.String(), "retrieve, 8 clients: processor time to the floor's")
}

// TestLogEnd prints the statement that the database refused.
func TestLogEnd(t *testing.T) {
	t.Parallel()
	p, err := NewDatabase(t.Context(), "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.Error(t, p.exec(t.Context(), "SELECT pg_sleep(-1) FROM no_such_table"))
	require.Contains(t, p.logEnd(), "STATEMENT:  SELECT pg_sleep(-1) FROM no_such_table")
}

// TestSpoiled finds a slice that was slow on either side.
func TestSpoiled(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{1, 2}, spoiled([]figure{
		{CPU: 100, PgbenchCPU: 200}, {CPU: 141, PgbenchCPU: 200}, {CPU: 140, PgbenchCPU: 281}, {CPU: 140, PgbenchCPU: 280},
	}))
}

// TestDecided: few pairs decide only if they agree.
func TestDecided(t *testing.T) {
	t.Parallel()
	const below, above = maxOrigin, maxOrigin + 0.01
	require.True(t, decided([]float64{below, below, below, below}))
	require.True(t, decided([]float64{above, above, above, above}))
	require.False(t, decided([]float64{below, below, below, below, above}))
	require.False(t, decided([]float64{below, below, below, below, below, below, below, above, above}))
	require.True(t, decided([]float64{below, below, below, below, below, below, below, below, above}))
}

func TestGoals(t *testing.T) {
	t.Parallel()
	now := run{
		Figures: []figure{
			{Load: "list", Clients: 8, Ratio: 0.49}, {Load: "sale", Clients: 8, Ratio: 1, PgbenchCPU: 2 * reference},
			{Load: "sale", Clients: 32, Ratio: 1.59},
			{Load: "retrieve", Clients: 64, FloorRatio: 1.4}, {Load: "retrieve", Clients: 128, FloorRatio: 1.41},
		},
		Events:     []paid{{Clients: 8, Recorded: 249}},
		Deliveries: []deliveries{{1, 10}, {manyEndpoints, 0}},
		Delay:      delay{100, 501},
	}
	var out bytes.Buffer
	b := &bench{Options: Options{Out: &out}}
	require.Equal(t, 5, b.judge(now))
	require.Equal(t, `
goals:
this machine takes 2.0 times the reference's processor time for a sale in pgbench; limits in seconds, milliseconds and a second are adjusted
holds   sale, 8 clients: requests to pgbench: 1, at least 0.95
missed  sale, 32 clients: requests to pgbench: 1.59, at least 1.6
holds   retrieve, 64 clients: processor time to the floor's: 1.4, at most 1.4
missed  retrieve, 128 clients: processor time to the floor's: 1.41, at most 1.4
missed  events of Stripe, 8 clients: commissions a second: 249, at least 250 (500 on the reference)
missed  webhooks: deliveries a second to many endpoints: 0, at least 2000 (4000 on the reference)
holds   webhooks: median delay, ms: 100, at most 100 (50 on the reference)
missed  webhooks: 99th percentile of the delay, ms: 501, at most 500 (250 on the reference)
`, out.String())
	require.InDelta(t, 1, run{}.slowness(), 0, "without a sale in pgbench")
	require.InDelta(t, 1, run{Figures: []figure{{Load: "sale", Clients: 8, PgbenchCPU: 10}}}.slowness(), 0, "a quick machine")
}

// Of an even number of rounds, the median lies between two.
func TestMiddle(t *testing.T) {
	t.Parallel()
	got := middle([]figure{{Load: "sale", Rate: 4, CPU: 1}, {Rate: 1, CPU: 5}, {Rate: 3, CPU: 2}, {Rate: 2, CPU: 3}})
	require.Equal(t, figure{Load: "sale", Rate: 2.5, CPU: 2.5}, got)
}

func TestBaseRun(t *testing.T) {
	t.Parallel()
	_, err := baseRun(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist, "asked for by name")
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = baseRun(path)
	require.ErrorContains(t, err, "no saved run")
	want := run{Rows: 3, Deliveries: []deliveries{{200, 1.5}}}
	require.NoError(t, want.save(path))
	got, err := baseRun(path)
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.InDelta(t, 1.5, got.deliveries(200), 0)
}

// The warm-up is not counted, and a line without progress is an error.
func TestProgress(t *testing.T) {
	t.Parallel()
	line := func(second, rate int) string {
		return fmt.Sprintf("progress: %d.5 s, %d.0 tps, lat 1 ms\n", second, rate)
	}
	seen, _, err := pgbench{seconds: 2}.watch(strings.NewReader(line(10, 99)+line(11, 5)+line(13, 7)+line(14, 1)), os.Getpid(), 0)
	require.NoError(t, err)
	require.Equal(t, outcome{Requests: 19, Seconds: 3}, seen)
	warm := strings.NewReader(line(10, 99) + line(11, 99) + line(12, 99) + line(13, 5) + line(14, 5))
	seen, _, err = pgbench{seconds: 2}.watch(warm, os.Getpid(), 2)
	require.NoError(t, err)
	require.Equal(t, outcome{Requests: 10, Seconds: 2}, seen)
	_, _, err = pgbench{seconds: 2}.watch(strings.NewReader(line(10, 99)+"client 0 aborted\nFATAL: gone\n"), os.Getpid(), 0)
	require.ErrorContains(t, err, "client 0 aborted")
	_, _, err = pgbench{seconds: 2}.watch(strings.NewReader(line(10, 99)), os.Getpid(), 0)
	require.ErrorContains(t, err, "ended early")
}

// A load generator that ends before its outcome is an error, not a figure of nothing.
func TestWatch(t *testing.T) {
	t.Parallel()
	b := &bench{}
	_, _, err := b.watch(bufio.NewScanner(strings.NewReader("start\ndone\n")), "")
	require.ErrorContains(t, err, "ended early")
	seen, used, err := b.watch(bufio.NewScanner(strings.NewReader("start\ndone\n{\"Requests\": 4}\n")), "")
	require.NoError(t, err)
	require.Equal(t, 4, seen.Requests)
	require.GreaterOrEqual(t, used.program, spent{}.program)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, clients := range [][]int{nil, {0}, {8, maxClients + 1}} {
		err := Run(context.Background(), Options{Rows: partners, Seconds: 1, Rounds: 1, Clients: clients, Out: &bytes.Buffer{}})
		require.ErrorContains(t, err, "-clients")
	}
}
