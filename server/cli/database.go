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
	"rail/server/postgres"
	"rail/server/postgres/embedded"
	"rail/server/secret"
	"rail/server/telemetry/outage"
	"rail/server/telemetry/tracing"
)

// place is where the database is. server is set where this process has started
// the private one or joined it.
type place struct {
	dsn    string
	direct string // past any pooler of transactions, for migrations
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

// locate finds the configured database, starting the private one when nobody
// else runs it. logf gets what the private one does; it may be nil.
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

// private returns how the private database of a configuration is started.
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
	tracer *tracing.Tracer // nil for none
}

// opening says how to open a database. Without more it must be there, have its tables
// and know its secret key: a command in the wrong folder, or with the wrong address,
// must not find everything in order.
type opening struct {
	fresh bool // make a private one where there is none
	fill  bool // make the tables of an empty one, and note the secret key in it
	up    bool // bring one that is not private to the right version too
	asIs  bool // take one of an older version as it is
	watch bool // log when connections begin to fail, and trace statements
	look  bool // bring none to another version
	logf  func(string, ...any)
	// before is done before anything is made or started; nil for nothing.
	before func(config.Config) error
	// admit checks the secret key; keyring.Admit unless set.
	admit func(context.Context, *pgxpool.Pool, keyring.Given) error
}

// withDatabase runs work on the configured database, which is there.
func withDatabase(ctx context.Context, env *Env, work func(*database) error) error {
	return opening{}.with(ctx, env, work)
}

// with opens the database, runs work on it, and closes it again, also after a
// failure.
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
		err = work(d)
		d.pool.Close()
	}
	return errors.Join(err, at.close())
}

// configure reads the configuration with the secret key, and refuses a folder
// without a database unless one may be made there.
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

// noDatabase returns the error of a folder without a database, with its full
// path: mostly the command was started in another folder.
func noDatabase(dir string) error {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	return fmt.Errorf("there is no Rail database in %s: set RAIL_DATA_DIR to the folder of the server (or RAIL_DATABASE_URL); "+
		"rail serve makes a new one", dir)
}

// open checks the schema and the secret key before anything is read: a wrong key
// would look like broken data.
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
	if err = o.admit(ctx, d.pool, d.given(env, o.fill)); err != nil {
		d.pool.Close()
	}
	return err
}

// trace makes the tracer of a server, where a collector is configured.
func (d *database) trace(ctx context.Context, env *Env, o opening) (err error) {
	if o.watch && d.config.OTLPEndpoint != "" {
		outages := outage.New(logger(env.Err, d.config), env.Clock, "the collector of traces", "")
		d.tracer, err = tracing.New(ctx, d.config.OTLPEndpoint, build(), outages)
	}
	return err
}

// endTraces sends what is left of the traces; a collector that is away keeps nobody.
func (d *database) endTraces(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = d.tracer.Stop(ctx)
}

// outages returns what tells of connections that fail, for a command that goes on without them.
func (o opening) outages(env *Env, cfg config.Config) *outage.Log {
	if !o.watch {
		return nil
	}
	return outage.New(logger(env.Err, cfg), env.Clock, "the database", "")
}

// given returns the secret key that this process has. For a database from before
// fingerprints were kept, the API key of a first run proves it.
func (d *database) given(env *Env, claim bool) keyring.Given {
	g := keyring.Given{Keeper: d.keeper, From: d.config.KeyFrom, Now: env.Clock.Now(), Claim: claim}
	if raw, err := os.ReadFile(demoKey(d.config)); err == nil && d.private() {
		g.APIKeys = []string{strings.TrimSpace(string(raw))}
	}
	return g
}
