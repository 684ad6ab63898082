// Command bar tests the service against the reliability bar and prints the figures as a table. It exits
// with 1 if a stage fails. BAR_SEED repeats a run: everything random follows from it.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"rail/server/harness/bar"
)

func main() {
	o := bar.Options{Out: os.Stdout, Seed: rand.Uint64N(1 << 32)}
	only := flag.String("stage", "", "run only these stages, separated by commas: "+strings.Join(bar.Names(), ", "))
	flag.BoolVar(&o.Smoke, "smoke", false, "run the small sizes")
	flag.StringVar(&o.Bug, "bug", "", "run only the seeded bugs whose names contain this text")
	flag.Parse()
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bar:", err)
		os.Exit(1)
	}
}

// run takes the seed of the environment, or the random one of o, and prints it before anything can fail.
func run(o bar.Options) error {
	if text := os.Getenv("BAR_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("BAR_SEED: %w", err)
		}
		o.Seed = seed
	}
	fmt.Fprintf(o.Out, "BAR_SEED=%d\n", o.Seed)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return bar.Run(ctx, o)
}
