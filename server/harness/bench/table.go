package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
)

// table prints the medians of the rounds beside those of the base run, and explains them.
func (b *bench) table(now, base run) {
	w := tabwriter.NewWriter(b.Out, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "\nload\tclients\treq/s\tp50 ms\tp99 ms\tpgbench tx/s\tratio\tbase\tserver us\twith database\tpgbench us\tof that\tbase",
		"\ttrips\tstatements\tlog bytes\tfile bytes\tallocations\tof bytes\t\n")
	for _, f := range now.Figures {
		l, before := b.load(f.Load), base.of(f.Load, f.Clients)
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.2f\t%.2f\t%.0f\t%.2f\t%s\t%.0f\t%.0f\t%.0f\t%.2f\t%s\t%d\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t\n", l.title, f.Clients,
			f.Rate, f.P50/1000, f.P99/1000, f.Pgbench, f.Ratio, orDash(before.Ratio), f.Server, f.CPU, f.PgbenchCPU, f.CPURatio,
			orDash(before.CPURatio), len(b.sent[l.name].trips), b.statements(l), f.Log, f.Files, f.Objects, f.Heap)
	}
	_ = w.Flush() // writes to the terminal
	for _, f := range now.Figures {
		if f.FloorCPU > 0 {
			fmt.Fprintf(b.Out, "%s, %d clients: the floor (net/http, one query) takes %.0f us with the database, the server %.2f of it%s\n",
				f.Load, f.Clients, f.FloorCPU, f.FloorRatio, was("%.2f", base.of(f.Load, f.Clients).FloorRatio))
		}
	}
	b.notes(now, base)
}

// orDash returns a figure of the base run, or a dash.
func orDash(figure float64) string {
	if figure == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", figure)
}

// was returns a figure of the base run to stand behind this run's, or nothing.
func was(format string, figure float64) string {
	if figure == 0 {
		return ""
	}
	return fmt.Sprintf(" (base "+format+")", figure)
}

// load returns a load of this run.
func (b *bench) load(name string) load {
	for _, l := range b.loads {
		if l.name == name {
			return l
		}
	}
	return load{}
}

// statements returns how many statements a request of a load sends, in all round trips.
func (b *bench) statements(l load) int {
	n := 0
	for _, trip := range b.sent[l.name].trips {
		n += len(trip)
	}
	return n
}

// notes prints under which conditions the figures were measured.
func (b *bench) notes(now, base run) {
	jobs := "the server's jobs do not run (-jobs runs them)"
	if b.Jobs {
		jobs = "the server's jobs run in every run, pgbench's too"
	}
	if now.Load != "" {
		fmt.Fprintf(b.Out,
			"\nload averages before the run: %s; above 0.3 something else took processor time and the figures mean little\n",
			now.Load)
	}
	if !base.At.IsZero() {
		fmt.Fprintf(b.Out, "base run: %s, %d sales, load averages %s\n", base.At.Format("2006-01-02 15:04"), base.Rows, base.Load)
	}
	if b.Session != "" {
		jobs += "; session: " + b.Session
	}
	fmt.Fprintf(b.Out, `
%d cores, shared by PostgreSQL, the server and the load generator or pgbench: trust the ratios.
PostgreSQL %s, fsync, full_page_writes and synchronous_commit on; checkpoints kept out of the runs.
%d sales and commissions, %d programs, %d partners, %d customers; medians of %d slices of %d s, HTTP and pgbench in turns.
Processor time is that of a request, of the server or pgbench and of every process of the database; the load generator's is not in it.
pgbench sends the statements of one warm request in the same round trips, prepared, with the server's session settings; random ids are
put together in SQL (a concatenation), NULLs are literal. The server validates, authenticates (key looked up once in 0.9 s), limits, logs
each request to /dev/null and counts it; %s.
`, runtime.NumCPU(), b.db.version, b.size.Sales, programs, partners, b.size.Customers+hotCustomers, b.Rounds, b.Seconds, jobs)
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
