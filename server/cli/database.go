package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/config"
	"rail/server/migrate"
	"rail/server/pgembed"
	"rail/server/postgres"
	"rail/server/secret"
)

// place is where the database is. server is set where this process has started
// or joined the private one.
type place struct {
	dsn    string
	direct string // past any pooler of transactions, for migrations
	server *pgembed.Server
}

func (p place) private() bool { return p.server != nil }

// close stops the private server, unless it belongs to another process.
func (p place) close() error {
	if p.server == nil {
		return nil
	}
	return p.server.Stop()
}

// locate finds the configured database, starting the private one when nobody
// else runs it. logf is told what the private one does; it may be nil.
func locate(ctx context.Context, cfg config.Config, logf func(string, ...any)) (place, error) {
	if cfg.DatabaseURL != "" {
		return place{dsn: cfg.DatabaseURL, direct: cmp.Or(cfg.SessionURL, cfg.DatabaseURL)}, nil
	}
	s, err := pgembed.Start(ctx, pgembed.Options{Dir: cfg.DataDir, Durable: true, Logf: logf})
	if err != nil {
		return place{}, err
	}
	return place{dsn: s.DSN("postgres"), direct: s.DSN("postgres"), server: s}, nil
}

// database is an open database at the right schema version.
type database struct {
	place
	config config.Config
	pool   *pgxpool.Pool
	keeper *secret.Keeper
}

// opening says how to open a database. up brings one that is neither private nor
// empty to the right version too, which otherwise is left to the operator.
type opening struct {
	up   bool
	logf func(string, ...any)
}

// withDatabase runs work on the configured database.
func withDatabase(ctx context.Context, env *Env, work func(*database) error) error {
	return opening{}.with(ctx, env, work)
}

func (o opening) with(ctx context.Context, env *Env, work func(*database) error) error {
	cfg, err := config.Load(env.Environ)
	if err != nil {
		return err
	}
	at, err := locate(ctx, cfg, o.logf)
	if err != nil {
		return err
	}
	d := &database{place: at, config: cfg}
	err = d.open(ctx, o.up)
	if err == nil {
		err = work(d)
		d.pool.Close()
	}
	return errors.Join(err, at.close())
}

func (d *database) open(ctx context.Context, up bool) (err error) {
	if d.private() || up {
		err = migrate.Up(ctx, d.direct)
	}
	if !d.private() && !up || errors.Is(err, migrate.ErrNewer) { // a newer one may serve
		err = atVersion(ctx, d.direct)
	}
	if err != nil {
		return err
	}
	if d.keeper, err = secret.New(d.config.SecretKey, d.config.FormerKeys()...); err != nil {
		return err
	}
	d.pool, err = postgres.Open(ctx, d.dsn, postgres.Options{MaxConns: d.config.DBMaxConns, Check: true})
	return err
}

// atVersion brings an empty database to this binary's version, and refuses one
// that does not serve it: an upgrade is for the operator to begin.
func atVersion(ctx context.Context, dsn string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	err = migrate.Serves(ctx, conn)
	closed := conn.Close(context.WithoutCancel(ctx))
	switch {
	case errors.Is(err, migrate.ErrEmpty):
		err = migrate.Up(ctx, dsn)
	case errors.Is(err, migrate.ErrOlder):
		err = fmt.Errorf("%w: run rail migrate up", err)
	}
	return errors.Join(err, closed)
}
