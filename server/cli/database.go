package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/app/config"
	"rail/server/auth/keyring"
	"rail/server/clock"
	"rail/server/postgres"
	"rail/server/postgres/embedded"
	"rail/server/secret"
	"rail/server/telemetry/outage"
	"rail/server/telemetry/tracing"
	"rail/server/work/testclock"
)

// place is the location of the database. server is set if this process has started or joined the private one.
type place struct {
	dsn    string
	direct string // past any transaction pooler, for migrations
	server *embedded.Server
}

// private reports whether the database is the one in RAIL_DATA_DIR.
func (p place) private() bool { return p.server != nil }

// close stops the private server, unless it belongs to another process.
func (p place) close() error {
	if p.server == nil {
		return nil
	}
	return p.server.Stop()
}

// locate finds the configured database, and starts the private one unless another process runs it. logf, if not
// nil, gets its progress.
func locate(ctx context.Context, cfg config.Config, logf func(string, ...any)) (place, error) {
	if cfg.DatabaseURL != "" {
		return place{dsn: cfg.DatabaseURL, direct: cmp.Or(cfg.SessionURL, cfg.DatabaseURL)}, nil
	}
	s, err := embedded.Start(ctx, private(cfg, logf))
	if err != nil {
		return place{}, err
	}
	return place{dsn: s.DSN("postgres"), direct: s.DSN("postgres"), server: s}, nil
}

// private returns the options for starting the private database.
func private(cfg config.Config, logf func(string, ...any)) embedded.Options {
	return embedded.Options{
		Dir: cfg.DataDir, Durable: true, Tuned: true, ArchiveDir: cfg.ArchiveDir, BinDir: cfg.PGBinDir, Logf: logf,
	}
}

// database is an open database at the right schema version.
type database struct {
	place
	config config.Config
	pool   *pgxpool.Pool
	keeper *secret.Keeper
	tracer *tracing.Tracer // may be nil
	tested bool            // the database has a test clock
}

// opening describes how to open a database. By default the database, its tables and its key fingerprint must
// exist: a command in the wrong folder, or with the wrong address, must not create a database.
type opening struct {
	fresh        bool // create a private one if there is none
	fill         bool // create the tables of an empty one, and store its key fingerprint
	up           bool // migrate also an external one
	asIs         bool // accept an older version unchanged
	watch        bool // log connection failures, and trace statements
	neverMigrate bool
	logf         func(string, ...any)
	// before, if not nil, runs before anything is created or started.
	before func(config.Config) error
	// admit checks the secret key; keyring.Admit unless set.
	admit func(context.Context, *pgxpool.Pool, keyring.SecretKey) error
}

// withDatabase runs work on the configured, existing database.
func withDatabase(ctx context.Context, env *Env, work func(*database) error) error {
	return opening{}.with(ctx, env, work)
}

// with opens the database, runs work on it, and closes it again, also after a failure.
func (o opening) with(ctx context.Context, env *Env, work func(*database) error) error {
	cfg, err := o.configure(env)
	if err != nil {
		return err
	}
	at, err := locate(ctx, cfg, o.logf)
	if err != nil {
		return err
	}
	d := &database{place: at, config: cfg}
	err = d.open(ctx, env, o)
	if err == nil {
		if err = d.readClock(ctx, env); err == nil {
			err = work(d)
		}
		d.pool.Close()
	}
	return errors.Join(err, at.close())
}

// readClock makes the time of a database with a test clock the time of the command. A database of an older version,
// of which a backup is made, may have no table for it.
func (d *database) readClock(ctx context.Context, env *Env) error {
	c, tested, err := testclock.Of(ctx, d.pool, env.Clock)
	switch {
	case noTable(err):
		return nil
	case err != nil:
		return err
	}
	env.Clock, d.tested = c, tested
	return nil
}

// takeClock returns the test clock, which is then the clock of the server; nil unless RAIL_TEST_CLOCK is set. Without
// it, the time of a database with a test clock would go back.
func (d *database) takeClock(ctx context.Context, env *Env) (*testclock.Clock, error) {
	if !d.config.TestClock {
		if d.tested {
			return nil, testclock.ErrMarked
		}
		return nil, nil //nolint:nilnil // no clock is not an error
	}
	session, err := postgres.Session(d.direct)
	if err != nil {
		return nil, err
	}
	c, err := testclock.Open(ctx, session, clock.Wall(env.Clock))
	if err != nil {
		return nil, err
	}
	env.Clock, d.tested = c.Shifted, true
	d.config.Warnings = append(d.config.Warnings, "RAIL_TEST_CLOCK is set: the API can move the time of this server, now "+
		c.Now().String()+". Use it for tests only.")
	return c, nil
}

// configure reads the configuration with the secret key, and refuses a folder without a database unless one may
// be created.
func (o opening) configure(env *Env) (config.Config, error) {
	cfg, err := config.Read(env.Environ)
	if err != nil {
		return cfg, err
	}
	if cfg.DatabaseURL == "" && !o.fresh && !embedded.Exists(cfg.DataDir) {
		return cfg, noDatabase(cfg.DataDir)
	}
	if o.before != nil {
		if err := o.before(cfg); err != nil {
			return cfg, err
		}
	}
	return cfg, cfg.LoadKey()
}

// noDatabase returns the error for a folder without a database, with its full path: usually the command was
// started in another folder.
func noDatabase(dir string) error {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return fmt.Errorf("there is no Rail database in %s: set RAIL_DATA_DIR to the folder of the server (or RAIL_DATABASE_URL); "+
		"rail serve creates a new one", dir)
}

// open checks the schema and the secret key before anything is read: a wrong key would look like damaged data.
func (d *database) open(ctx context.Context, env *Env, o opening) (err error) {
	if d.keeper, err = secret.New(d.config.SecretKey, d.config.FormerKeys()...); err != nil {
		return err
	}
	if err := d.raise(ctx, env, o); err != nil {
		return err
	}
	if err := d.trace(ctx, env, o); err != nil {
		return err
	}
	if d.pool, err = postgres.Open(ctx, d.dsn, postgres.Options{
		MaxConns: d.config.DBMaxConns, Check: true, Outages: o.outages(env, d.config), Tracer: d.tracer.Statements(),
	}); err != nil {
		return err
	}
	if o.admit == nil {
		o.admit = keyring.Admit
	}
	if err = o.admit(ctx, d.pool, d.keys(env, o.fill)); err != nil {
		d.pool.Close()
	}
	return err
}

// trace creates the tracer of a server, if a collector is configured.
func (d *database) trace(ctx context.Context, env *Env, o opening) (err error) {
	if o.watch && d.config.OTLPEndpoint != "" {
		outages := outage.New(logger(env.Err, d.config), env.Clock, "the collector of traces", "")
		d.tracer, err = tracing.New(ctx, d.config.OTLPEndpoint, build(), outages)
	}
	return err
}

// endTraces sends the remaining traces; an unreachable collector does not delay the exit.
func (d *database) endTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = d.tracer.Stop(ctx)
}

// outages returns the log of connection failures, for a command that continues without connections.
func (o opening) outages(env *Env, cfg config.Config) *outage.Log {
	if !o.watch {
		return nil
	}
	return outage.New(logger(env.Err, cfg), env.Clock, "the database", "")
}

// keys returns the process's secret key. For a database from before fingerprints existed, the API key of a
// first run proves it.
func (d *database) keys(env *Env, claim bool) keyring.SecretKey {
	g := keyring.SecretKey{Keeper: d.keeper, From: d.config.KeyFrom, Now: env.Clock.Now(), Claim: claim}
	if raw, err := os.ReadFile(demoKey(d.config)); err == nil && d.private() {
		g.APIKeys = []string{strings.TrimSpace(string(raw))}
	}
	return g
}
