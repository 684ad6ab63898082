// Command bench measures the server. Without a subcommand it runs a load test beside pgbench, which is the limit;
// "bench scale" measures which costs grow with the tables, "bench import" measures an import beside other sales, and
// "bench load" fills a database for measurements. It is a tool, not a test, and not part of the product. It starts a private PostgreSQL in a temporary directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"rail/server/harness/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run chooses by the first word; flags alone are a measurement of speed.
func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "load":
			return load(ctx, args[1:])
		case "scale":
			return measureScale(ctx, args[1:])
		case "import":
			return measureImport(ctx, args[1:])
		}
	}
	return measureSpeed(ctx, args)
}

// parse parses the flags and refuses further arguments: a mistyped subcommand would otherwise start
// a run of several minutes.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q is neither a flag nor load, scale or import", fs.Arg(0))
	}
	return nil
}

// measureImport measures an import of a large program.
func measureImport(ctx context.Context, args []string) error {
	fs, o := flag.NewFlagSet("bench import", flag.ContinueOnError), bench.ImportOptions{Out: os.Stdout}
	fs.IntVar(&o.Partners, "partners", 10_000, "number of partners")
	fs.IntVar(&o.Commissions, "commissions", 1_000_000, "number of sales and of commissions; five a customer")
	fs.IntVar(&o.Rate, "rate", 50, "sales a second that other programs record meanwhile")
	if err := parse(fs, args); err != nil {
		return err
	}
	return bench.Import(ctx, o)
}

// measureSpeed measures the server beside pgbench running the same statements. BENCH_BASE and BENCH_SAVE name
// the files of the run to compare with and of this one, instead of the last run's. With -load it is the child
// of such a run, which no one calls by hand.
func measureSpeed(ctx context.Context, args []string) error {
	fs, o := flag.NewFlagSet("bench", flag.ContinueOnError), bench.Options{Out: os.Stdout}
	child := fs.Bool("load", false, "run as the load generator, a child of the benchmark with its input on standard input")
	only := fs.String("only", "", "comma-separated loads to run; default all: "+strings.Join(bench.Names(), ", "))
	fs.IntVar(&o.Rows, "rows", 1_000_000, "initial number of sales and of commissions; at least 10000")
	fs.IntVar(&o.Seconds, "seconds", 2, "length of one slice; server and pgbench alternate")
	fs.IntVar(&o.Rounds, "rounds", 5, "slices per load; the median counts")
	clients := fs.String("clients", "8,32,128", "comma-separated `NUMBERS` of clients at once, of HTTP and of pgbench")
	fs.BoolVar(&o.Goals, "goals", false, "exit with status 1 if a goal is missed")
	fs.BoolVar(&o.Jobs, "jobs", false, "run the server's jobs too, in all runs")
	fs.StringVar(&o.Session, "session", "",
		"name=value of a session setting to change, for the server and for pgbench, such as plan_cache_mode=auto")
	fs.StringVar(&o.Profiles, "profiles", "",
		"directory for a CPU profile of the server, and the pgbench script, of each load")
	if err := parse(fs, args); err != nil {
		return err
	}
	if *child {
		return bench.Generate(os.Stdin, os.Stdout)
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-clients: %w", err)
		}
		o.Clients = append(o.Clients, n)
	}
	o.Base, o.Save = os.Getenv("BENCH_BASE"), os.Getenv("BENCH_SAVE")
	return bench.Run(ctx, o)
}
