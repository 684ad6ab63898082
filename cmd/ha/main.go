// Command ha kills and cuts off the primary of three PostgreSQL servers under Patroni while two Rail servers take
// writes, and exits with 1 if an acknowledged write is lost. It needs root, for network namespaces.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"rail/server/harness/bar"
)

func main() {
	o := bar.HAOptions{Out: os.Stdout, Seed: rand.Uint64N(1 << 32)}
	flag.IntVar(&o.Kills, "kills", 20, "number of kills of the primary")
	flag.IntVar(&o.Cuts, "cuts", 3, "number of network cuts of the primary")
	flag.DurationVar(&o.Within, "within", 0, "start no failures after this time; 0 for no limit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bar.HA(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "ha:", err)
		os.Exit(1)
	}
}
