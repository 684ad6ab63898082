// Package postgres opens the connection pool with the session settings that all queries rely on.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/postgres/pgtx"
	"rail/server/telemetry/outage"
)

// session holds the settings of each connection; the DSN may override them. Bare numbers are
// milliseconds.
var session = map[string]string{
	"application_name": "rail",
	"timezone":         "UTC",
	// Short statements profit from cached plans; lists ask for custom plans (queries/operators.sql,
	// PlanForValues).
	"plan_cache_mode": "auto",
	"jit":             "off", // no statement runs long enough to be worth compiling
	// Requests read by indexes. A plan cached while a table was nearly empty must not scan the
	// whole table after it has grown.
	"enable_seqscan":                      "off",
	"statement_timeout":                   "5000",
	"lock_timeout":                        "3000",
	"idle_in_transaction_session_timeout": "10000",
	"client_connection_check_interval":    "1s",
}

// Options configures a pool.
type Options struct {
	// MaxConns is the pool's limit; 0 means that of the DSN or the default of pgx.
	MaxConns int
	// Tracer sees every query; may be nil.
	Tracer pgx.QueryTracer
	// Check refuses connections to a server that could lose commits.
	Check bool
	// Outages logs when connections begin to fail and when they recover; may be nil.
	Outages *outage.Log
	// Accept refuses connections by its error; may be nil.
	Accept func(context.Context, *pgx.Conn) error
}

// Open makes a pool and waits for its first connection. It fails when the DSN
// is malformed, when the server cannot be reached, and with ErrNotDurable when
// o.Check finds an unsafe server. With o.Check later connections may fail so too.
func Open(ctx context.Context, dsn string, o Options) (*pgxpool.Pool, error) {
	pool, err := Pool(dsn, o)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

// Pool makes a pool that connects on first use. It fails if the DSN is malformed.
func Pool(dsn string, o Options) (*pgxpool.Pool, error) {
	cfg, err := configure(dsn, o)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return pool, nil
}

// Session returns the configuration of a single connection to dsn, outside a pool.
func Session(dsn string) (*pgx.ConnConfig, error) {
	cfg, err := configure(dsn, Options{})
	if err != nil {
		return nil, err
	}
	return cfg.ConnConfig, nil
}

// configure returns the pool's configuration. Settings in the DSN override those of session.
func configure(dsn string, o Options) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if o.MaxConns > 0 {
		cfg.MaxConns = int32(min(o.MaxConns, 1<<20))
	}
	switch cfg.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		return nil, errors.New("database URL: default_query_exec_mode must be cache_statement, cache_describe or describe_exec: the others send JSON as bytes")
	}
	cfg.ConnConfig.Tracer = o.tracer()
	cfg.ConnConfig.DialFunc = dialer().DialContext
	cfg.ConnConfig.ConnectTimeout = cmp.Or(cfg.ConnConfig.ConnectTimeout, connectTimeout)
	cfg.ConnConfig.OnNotice = pgtx.NoteReplication
	for name, value := range session {
		if _, set := cfg.ConnConfig.RuntimeParams[name]; !set {
			cfg.ConnConfig.RuntimeParams[name] = value
		}
	}
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		readInUTC(conn.TypeMap())
		if o.Accept != nil {
			if err := o.Accept(ctx, conn); err != nil {
				return err
			}
		}
		if !o.Check {
			return nil
		}
		return checkDurable(ctx, conn)
	}
	return cfg, nil
}

// readInUTC makes pgx return times in UTC instead of the local time zone.
func readInUTC(types *pgtype.Map) {
	one := &pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}}
	types.RegisterType(one)
	types.RegisterType(&pgtype.Type{Name: "_timestamptz", OID: pgtype.TimestamptzArrayOID,
		Codec: &pgtype.ArrayCodec{ElementType: one}})
}
