package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"rail/server/clock"
	"rail/server/growth"
	"rail/server/world"
)

func loadHelp() string {
	return fmt.Sprintf(`The database must have no organization and no other session. At --scale 1 it
gets %d clicks, %d customers, %d sales and as many commissions of
two years up to today, %d partners with links, coupons, payouts and balances,
and the events and deliveries of the last month (a quarter as many as sales).
Most of it is one organization's, %s; %s has the rest.

The role must be a superuser's, or one that may set session_replication_role:
triggers and foreign keys rest while the rows are written, and plain indexes are
made after them. rail audit finds nothing wrong with the result.
`, world.Full.Clicks, world.Full.Customers, world.Full.Sales, world.Full.Partners, world.Big, world.Small)
}

func benchLoad(fs *flag.FlagSet) action {
	scale := fs.Float64("scale", 1, "`FACTOR` of the full size, such as 0.1")
	yes := toggle(fs, "yes", "confirm that the configured database is to be filled")
	return func(ctx context.Context, env *Env, _ []string) error {
		if !*yes {
			return usagef("this fills the configured database with made-up data: confirm it with --yes")
		}
		if *scale <= 0 || *scale > 10 {
			return usagef("--scale must be above 0 and at most 10")
		}
		cfg, err := opening{}.configure(env)
		if err != nil {
			return err
		}
		at, err := locate(ctx, cfg, nil)
		if err != nil {
			return err
		}
		err = fillWorld(ctx, env, at, *scale)
		return errors.Join(err, at.close())
	}
}

func fillWorld(ctx context.Context, env *Env, at place, scale float64) error {
	if err := atVersion(ctx, at.direct, raising{empty: true, older: at.private()}); err != nil {
		return err
	}
	now := env.Clock.Now()
	err := world.Load(ctx, at.direct, world.Options{
		Size: world.Full.Times(scale), Until: clock.At(now.Truncate(24 * time.Hour)), Org: world.Big, Other: world.Small,
		Log: func(format string, args ...any) { fmt.Fprintf(env.Err, format+"\n", args...) },
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "the world is loaded; make a key with: rail key create --org %s --scope read --scope write\n", world.Big)
	return err
}

func benchScale(fs *flag.FlagSet) action {
	o := growth.Options{Jobs: true}
	fs.Float64Var(&o.Small, "small", 0.1, "`FACTOR` of the full size for the smaller database")
	fs.Float64Var(&o.Full, "full", 1, "`FACTOR` of the full size for the larger one")
	fs.StringVar(&o.SmallDSN, "small-database", "", "`URL` of a database that rail bench load has filled, instead of a private one")
	fs.StringVar(&o.FullDSN, "full-database", "", "`URL` of another")
	fs.StringVar(&o.Dir, "dir", "", "`DIRECTORY` for the private databases; 15 GB at the full size")
	fs.StringVar(&o.Only, "only", "", "`PREFIX` of the requests to measure, such as listSales")
	fs.IntVar(&o.Rounds, "rounds", 7, "`TIMES` that each request is measured; the median counts")
	fs.Var((*toggled)(&o.Jobs), "jobs", "measure jobs too, which changes the databases")
	fs.Var((*toggled)(&o.All), "all", "print every request, not only the slowest and those that grow")
	return func(ctx context.Context, env *Env, _ []string) error {
		if o.Small <= 0 || o.Full < o.Small || o.Rounds < 1 {
			return usagef("--small must be above 0, --full at least as much, and --rounds at least 1")
		}
		o.Out = env.Out
		return growth.Run(ctx, o)
	}
}
