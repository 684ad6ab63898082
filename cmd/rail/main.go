// Command rail runs affiliate programs behind a REST API; see `rail help`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"rail/server/cli"
	"rail/server/clock"
)

func main() {
	// A second signal ends the process at once.
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release)
	os.Exit(cli.Run(ctx, &cli.Env{Out: os.Stdout, Err: os.Stderr, Clock: clock.System{}}, os.Args[1:]))
}
