// Package testclock is the clock of a server for tests. It is ahead of the machine's clock by a time that the database
// has, so that a restarted server continues from it. One server at a time holds the clock of a database.
//
// The database is marked for good, since its rows have times to come. It takes no live API keys, payout rails and
// processor connections: nothing that a moved clock makes due may reach real money.
package testclock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
)

// ErrHeld means that another server holds the clock of the database.
var ErrHeld = errors.New("another server runs the test clock of this database: stop it first, " +
	"since only one server can have it")

// ErrLive means that the database has something live.
var ErrLive = errors.New("RAIL_TEST_CLOCK is for databases of tests only")

// ErrMarked means that the clock of the database was moved before, and is missing now.
var ErrMarked = errors.New("this database has a test clock, and its time must not go back: " +
	"set RAIL_TEST_CLOCK=1, or use another database")

// patience is how long a server waits for the lock of another server that has just ended.
const patience = 2 * time.Second

var queries = db.New()

// Clock is the test clock of a database. Its Shifted is the time of the whole server.
type Clock struct {
	*clock.Shifted

	base    clock.Clock
	session *pgx.ConnConfig
	conn    *pgx.Conn // has the lock
}

// Open takes the clock of the database, and creates it if there is none. It refuses a database with anything live,
// and one whose clock another server holds. session connects past any transaction pooler.
func Open(ctx context.Context, session *pgx.ConnConfig, base clock.Clock) (*Clock, error) {
	c := &Clock{base: base, session: session}
	if err := c.hold(ctx); err != nil {
		return nil, err
	}
	var ahead int64
	err := pgx.BeginFunc(ctx, c.conn, func(tx pgx.Tx) (err error) {
		if err := refuseLive(ctx, tx); err != nil {
			return err
		}
		ahead, err = queries.TestClockMake(ctx, tx, base.Now())
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.Close(ctx))
	}
	c.Shifted = clock.NewShifted(base, time.Duration(ahead)*time.Microsecond)
	return c, nil
}

// Close lets another server take the clock.
func (c *Clock) Close(ctx context.Context) error { return c.conn.Close(context.WithoutCancel(ctx)) }

// hold connects and takes the lock, which the connection keeps.
func (c *Clock) hold(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, c.session)
	if err != nil {
		return err
	}
	if _, err = conn.Exec(ctx, fmt.Sprintf("SET lock_timeout = %d", patience.Milliseconds())); err == nil {
		err = queries.TestClockSessionLock(ctx, conn)
	}
	if err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	if pg := (*pgconn.PgError)(nil); errors.As(err, &pg) && pg.Code == "55P03" { // lock_not_available
		return ErrHeld
	}
	c.conn = conn
	return err
}

// Forward moves the stopped clock to t, and stores that. The database is told first: rows must not have
// times that a restarted server has not reached. The commit need not reach the disk before those of the rows, which
// follow it there.
func (c *Clock) Forward(ctx context.Context, t clock.Time) error {
	if c.conn.IsClosed() || c.conn.Ping(ctx) != nil {
		// The lock went with the connection, and another server may have taken it.
		if err := c.hold(ctx); err != nil {
			return err
		}
	}
	now := c.base.Now()
	err := pgx.BeginFunc(ctx, c.conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
			return err
		}
		return queries.TestClockMove(ctx, tx, db.TestClockMoveParams{AheadUs: t.Sub(now.Time).Microseconds(), Now: now})
	})
	if err == nil {
		c.Move(t)
	}
	return err
}

// refuseLive refuses a database with anything live, and prevents additions until the commit.
func refuseLive(ctx context.Context, tx pgx.Tx) error {
	if err := queries.TestClockLockInserts(ctx, tx); err != nil {
		return err
	}
	n, err := queries.TestClockConflicts(ctx, tx)
	if err != nil || n.Keys+n.Rails+n.Connections == 0 {
		return err
	}
	return fmt.Errorf("%w: this one has live API keys (%d), payout rails (%d) and processor connections (%d), "+
		"counting revoked and disconnected ones; use a new database, with test keys only",
		ErrLive, n.Keys, n.Rails, n.Connections)
}

// Of returns the time of a database: base, or a clock ahead of it if the database has a test clock. marked reports
// whether it has one.
func Of(ctx context.Context, q pgtx.DBTX, base clock.Clock) (c clock.Clock, marked bool, err error) {
	ahead, err := queries.TestClockGet(ctx, q)
	if errors.Is(err, pgx.ErrNoRows) {
		return base, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return clock.NewShifted(base, time.Duration(ahead)*time.Microsecond), true, nil
}

// RefuseLive refuses something live beside a test clock; a trigger of its table does the same. what is its plural.
func RefuseLive(ctx context.Context, q pgtx.DBTX, what string) error {
	_, err := queries.TestClockGet(ctx, q)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return problem.New(problem.ParameterInvalid, "This server has a test clock, and takes no live %s.", what)
}
