package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/dataset"
	"rail/server/harness/scale"
	"rail/server/postgres/embedded"
	"rail/server/postgres/migrate"
)

// loadUsage is the text of "bench load -help" before the flags.
const loadUsage = `bench load fills the configured database (RAIL_DATABASE_URL, or the private one
of RAIL_DATA_DIR) with a large customer's data. The database must have no
organization and no other session. At -scale 1 it gets %d clicks, %d
customers, %d sales and as many commissions of two years up to today, %d
partners with links, coupons, payouts and balances, and the events and
deliveries of the last month (a quarter as many as sales). The organization %s
has most of it, %s the rest.

The role must be a superuser or have the right to set session_replication_role:
triggers and foreign keys are off while the rows are written, and plain indexes
are created afterwards. rail audit is clean on the result.

`

// load fills a database to measure on. It writes into the configured database, unlike the rest of the
// command, and so needs -yes.
func load(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench load", flag.ContinueOnError)
	fs.Usage = func() {
		full := dataset.Full
		fmt.Fprintf(fs.Output(), loadUsage, full.Clicks, full.Customers, full.Sales, full.Partners, dataset.Big,
			dataset.Small)
		fs.PrintDefaults()
	}
	// The factor is a flag, not a number of rows: all tables keep their proportions.
	size := fs.Float64("scale", 1, "`FACTOR` of the full size, such as 0.1")
	yes := fs.Bool("yes", false, "confirm filling the configured database")
	if err := parse(fs, args); err != nil {
		return err
	}
	if !*yes {
		return errors.New("this fills the configured database with generated data: confirm with -yes")
	}
	if *size <= 0 || *size > 10 {
		return errors.New("-scale must be above 0 and at most 10")
	}
	cfg, err := config.Read(nil)
	if err != nil {
		return err
	}
	// As for the server: the configured database, else the private one.
	if cfg.DatabaseURL != "" {
		return fill(ctx, cfg.DatabaseURL, *size)
	}
	s, err := embedded.Start(ctx, embedded.Options{Dir: cfg.DataDir, Durable: true})
	if err != nil {
		return err
	}
	return errors.Join(fill(ctx, s.DSN("postgres"), *size), s.Stop())
}

// fill creates the tables in an empty database, and adds the rows. It refuses a database of another version, and
// dataset.Load refuses one in use.
func fill(ctx context.Context, dsn string, size float64) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	// Only an empty database is migrated; the operator upgrades a database in use.
	err = migrate.Serves(ctx, conn)
	if errors.Is(err, migrate.ErrEmpty) {
		err = migrate.Up(ctx, dsn)
	}
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		return err
	}
	// The dataset ends with the last midnight, so that its days are whole.
	now := clock.System{}.Now()
	err = dataset.Load(ctx, dsn, dataset.Options{
		Size: dataset.Full.Times(size), Until: clock.At(now.Truncate(24 * time.Hour)), Org: dataset.Big, Other: dataset.Small,
		Log: func(format string, args ...any) { slog.Info(fmt.Sprintf(format, args...)) },
	})
	if err != nil {
		return err
	}
	fmt.Printf("the data is loaded; create a key with: rail key create --org %s --scope read --scope write\n", dataset.Big)
	return nil
}

// measureScale measures every read and job in a small and a large database. It fails, with status 1,
// for a cost that grows without a known reason.
func measureScale(ctx context.Context, args []string) error {
	fs, o := flag.NewFlagSet("bench scale", flag.ContinueOnError), scale.Options{Out: os.Stdout}
	fs.Float64Var(&o.Small, "small", 0.1, "`FACTOR` of the full size for the smaller database")
	fs.Float64Var(&o.Full, "full", 1, "`FACTOR` of the full size for the larger one")
	fs.StringVar(&o.SmallDSN, "small-database", "",
		"`URL` of a database filled by bench load, in place of a private one")
	fs.StringVar(&o.FullDSN, "full-database", "", "`URL` of another")
	fs.StringVar(&o.Dir, "dir", "", "`DIRECTORY` for the private databases; 70 GB at the full size")
	fs.StringVar(&o.Only, "only", "", "`PREFIX` of the requests to measure, such as listSales")
	fs.IntVar(&o.Rounds, "rounds", 7, "`TIMES` that each request is measured; the median counts")
	fs.BoolVar(&o.Jobs, "jobs", true, "measure jobs too, which changes the databases")
	fs.BoolVar(&o.All, "all", false, "print every request, not only the slowest and the growing ones")
	if err := parse(fs, args); err != nil {
		return err
	}
	// Equal sizes are allowed: they show how much of a ratio is noise.
	if o.Small <= 0 || o.Full < o.Small || o.Rounds < 1 {
		return errors.New("-small must be above 0, -full at least as much, and -rounds at least 1")
	}
	return scale.Run(ctx, o)
}
