// Command bench measures the server against its own limit: pgbench running the
// statements that the server sends. It is a tool, not a test; it brings its own
// durable PostgreSQL in a temporary directory.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"rail/server/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o bench.Options
	load := flag.Bool("load", false, "be the load generator: a child of the benchmark, with its orders on standard input")
	only := flag.String("only", "", "comma-separated loads to run; all unless set: "+strings.Join(bench.Names(), ", "))
	flag.IntVar(&o.Rows, "rows", 1_000_000, "sales, and as many commissions, to begin with; at least 10000")
	flag.IntVar(&o.Seconds, "seconds", 5, "length of one run")
	flag.IntVar(&o.Rounds, "rounds", 3, "runs of each load; the median counts")
	flag.IntVar(&o.Clients, "clients", 8, "clients at once, of HTTP and of pgbench")
	flag.BoolVar(&o.Jobs, "jobs", false, "run the server's jobs too, in all runs")
	flag.StringVar(&o.Session, "session", "", "name=value of a session setting to change, for the server and for pgbench, such as plan_cache_mode=auto")
	flag.StringVar(&o.Profiles, "profiles", "", "directory for a CPU profile of the server, and the pgbench script, of each load")
	flag.Parse()
	if *load {
		return bench.Generate(os.Stdin, os.Stdout)
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	o.Out = os.Stdout
	return bench.Run(ctx, o)
}
