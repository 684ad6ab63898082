package bench

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// table prints the medians of the rounds, and explains them. A ratio is taken in each round before
// the median, since what slows one side of a round mostly slows the other too.
func (b *bench) table(results map[string][]sample) {
	w := tabwriter.NewWriter(b.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nload\treq/s\tp50 ms\tp99 ms\tpgbench tx/s\tratio\tGo us/req\ttrips\tstatements\tgoal\t")
	for _, l := range b.loads {
		s := results[l.name]
		ratio := median(s, func(s sample) float64 { return s.rps / s.tps })
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t%.0f\t%.2f\t%.0f\t%d\t%d\t%s\t\n", l.title,
			median(s, func(s sample) float64 { return s.rps }),
			median(s, func(s sample) float64 { return float64(s.p50) / 1000 }),
			median(s, func(s sample) float64 { return float64(s.p99) / 1000 }),
			median(s, func(s sample) float64 { return s.tps }), ratio, median(s, func(s sample) float64 { return s.cpu }),
			len(b.sent[l.name].trips), b.statements(l), l.goal)
	}
	_ = w.Flush() // writes to the terminal
	b.hot(results)
	b.notes()
}

// statements returns how many statements a request of a load sends, in all round trips.
func (b *bench) statements(l load) int {
	n := 0
	for _, trip := range b.sent[l.name].trips {
		n += len(trip)
	}
	return n
}

// hot compares the sales of one partner with those of all, round by round. pgbench shows how much of
// the difference is the database's: all sales of a partner wait for the lock of one row.
func (b *bench) hot(results map[string][]sample) {
	spread, one := results["sale"], results["hot"]
	if len(spread) == 0 || len(one) == 0 {
		return
	}
	pairs := make([]sample, len(one))
	for i := range one {
		pairs[i] = sample{rps: one[i].rps / spread[i].rps, tps: one[i].tps / spread[i].tps}
	}
	fmt.Fprintf(b.Out, "\nhot partner to spread load: %.2f over HTTP (goal 0.60), %.2f in pgbench\n",
		median(pairs, func(s sample) float64 { return s.rps }), median(pairs, func(s sample) float64 { return s.tps }))
}

// notes prints under which conditions the figures were measured.
func (b *bench) notes() {
	jobs := "the server's jobs do not run (-jobs runs them)"
	if b.Jobs {
		jobs = "the server's jobs run in every run, pgbench's too"
	}
	if b.before != "" {
		fmt.Fprintf(b.Out,
			"\nload averages before the run: %s; above 0.3 something else took processor time and the figures mean little\n",
			b.before)
	}
	if b.Session != "" {
		jobs += "; session: " + b.Session
	}
	fmt.Fprintf(b.Out, `
%d cores, shared by PostgreSQL, the server and the load generator or pgbench: trust the ratios.
PostgreSQL %s, fsync, full_page_writes and synchronous_commit on; checkpoints kept out of the runs.
%d sales and commissions, %d programs, %d partners, %d customers; %d clients, medians of %d rounds of %d s, HTTP and pgbench in turns.
pgbench sends the statements of one warm request in the same round trips, prepared, with the server's session settings; random ids are
put together in SQL (a concatenation), NULLs are literal. The server validates, authenticates (key looked up once in 0.9 s), limits, logs
each request to /dev/null and counts it; %s.
`, runtime.NumCPU(), b.db.version, b.size.Sales, programs, partners, b.size.Customers+hotCustomers, b.Clients,
		b.Rounds, b.Seconds, jobs)
}

// loadAverages returns the load averages of 1, 5 and 15 minutes, "" where /proc does not
// have them.
func loadAverages() string {
	text, err := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 3 {
		return ""
	}
	return strings.Join(fields[:3], " ")
}

// median returns the middle of a figure over the rounds.
func median(s []sample, of func(sample) float64) float64 {
	// Copied, since sorting would mix up the rounds.
	v := make([]float64, len(s))
	for i := range s {
		v[i] = of(s[i])
	}
	slices.Sort(v)
	if len(v)%2 == 0 {
		return (v[len(v)/2-1] + v[len(v)/2]) / 2
	}
	return v[len(v)/2]
}
