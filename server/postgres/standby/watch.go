package standby

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/server/clock"
	"rail/server/postgres"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/telemetry/outage"
)

const (
	// every is the time between checks of a standby. A key that has written reads from the primary
	// for about that long.
	every = 100 * time.Millisecond
	// checkTimeout bounds a check. After it, an unresponsive standby is no longer used, and its
	// reads end.
	checkTimeout = time.Second
)

// Standby is one server with its pool.
type Standby struct {
	Name  string // its address without secrets
	Pool  *pgxpool.Pool
	Reads *share.Reads

	outages *outage.Log
	primary line
	self    line
	view    atomic.Pointer[view] // nil while it is not used
	lag     atomic.Int64         // in nanoseconds, at the last check

	// Used only by the watching goroutine.
	fresh   time.Time // earlier commits are replayed
	awaited mark
	end     context.CancelFunc // ends the view

	// started identifies a server: the address may now lead to another one.
	started atomic.Pointer[time.Time]
}

// view describes a standby in use for reads.
type view struct {
	at    pgtx.Position
	fresh time.Time
	life  context.Context //nolint:containedctx // of the time for which it is in use, not of a call
}

// mark is the primary's position at a time.
type mark struct {
	at   pgtx.Position
	time time.Time
}

// open returns a standby that has not been checked yet.
func open(o Options, url string) (*Standby, error) {
	at, err := postgres.Session(url)
	if err != nil {
		return nil, err
	}
	s := &Standby{
		Name: net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), outages: o.Outages,
		primary: line{config: o.Primary.Config().ConnConfig}, self: line{config: at},
	}
	if s.Pool, err = postgres.Pool(url, postgres.Options{MaxConns: o.MaxConns, Accept: s.accept}); err != nil {
		return nil, err
	}
	s.Reads = o.Reads(s.Pool)
	return s, nil
}

// accept refuses a connection to another server than the checked one.
func (s *Standby) accept(ctx context.Context, conn *pgx.Conn) error {
	var started time.Time
	if err := conn.QueryRow(ctx, "SELECT pg_postmaster_start_time()").Scan(&started); err != nil {
		return err
	}
	if last := s.started.Load(); last == nil || !last.Equal(started) {
		return errors.New("the address now leads to another server")
	}
	return nil
}

// serves reports whether the standby has replayed a position.
func (s *Standby) serves(need pgtx.Position) bool {
	v := s.view.Load()
	return v != nil && v.at.Reaches(need) && clock.Real().Sub(v.fresh) <= MaxLag
}

// Bound returns a context for a read that ends when the standby is no longer used, because an
// unreachable server does not answer.
func (s *Standby) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	v := s.view.Load()
	ctx, cancel := context.WithCancel(ctx)
	if v == nil {
		cancel()
		return ctx, cancel
	}
	stop := context.AfterFunc(v.life, cancel)
	return ctx, func() { stop(); cancel() }
}

// Up reports whether the standby is in use.
func (s *Standby) Up() bool { return s.view.Load() != nil }

// Lag returns an upper bound of the standby's lag at the last check.
func (s *Standby) Lag() time.Duration { return time.Duration(s.lag.Load()) }

// run checks the standby until ctx ends.
func (s *Standby) run(ctx context.Context) {
	defer s.primary.close()
	defer s.self.close()
	for clock.Wait(ctx, every) == nil {
		if err := s.check(ctx); err != nil && ctx.Err() == nil {
			s.leave(err)
		}
	}
	s.drop()
}

const (
	// where reads the primary's position. The constant what reads the standby's state.
	where = "SELECT w.timeline, w.lsn, c.system_identifier FROM (" + pgtx.PositionSQL + ") w, pg_control_system() c"
	// The last restart point has a standby's timeline, with a delay. The receiver has it at once,
	// visible to roles that may read all statistics.
	what = `SELECT greatest(p.timeline_id, r.min_recovery_end_timeline, v.received_tli)::int8,
		(coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0')::int8, c.system_identifier, pg_is_in_recovery(),
		pg_postmaster_start_time()
	FROM pg_control_checkpoint() p, pg_control_recovery() r, pg_control_system() c
	LEFT JOIN pg_stat_wal_receiver v ON true`
)

// check reads the primary's position and then the standby's, and puts the standby in use. It
// returns the reason if the standby cannot be used.
func (s *Standby) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	now := mark{time: clock.Real()}
	var cluster int64
	if err := s.primary.ask(ctx, where, &now.at.Timeline, &now.at.LSN, &cluster); err != nil {
		return fmt.Errorf("cannot read the primary's position: %w", err)
	}
	var it answer
	if err := s.self.ask(ctx, what, &it.at.Timeline, &it.at.LSN, &it.cluster, &it.standby, &it.started); err != nil {
		return err
	}
	s.meet(it.started)
	if err := it.refusal(cluster, now.at.Timeline); err != nil {
		return err
	}
	return s.reached(it.at, now)
}

// answer is the state of a server.
type answer struct {
	at      pgtx.Position
	cluster int64
	standby bool
	started time.Time
}

// refusal returns the reason why a server is not a standby of the primary, or nil.
func (a answer) refusal(cluster int64, timeline uint32) error {
	switch {
	case a.cluster != cluster:
		return errors.New("the server belongs to another cluster")
	case !a.standby:
		return errors.New("the server is not a standby")
	case a.at.Timeline != timeline:
		return fmt.Errorf("the server has not followed the primary since the failover (timelines %d and %d)",
			a.at.Timeline, timeline)
	}
	return nil
}

// meet resets the state if another server has the address, or the server has restarted: it may lag
// more than before.
func (s *Standby) meet(started time.Time) {
	if last := s.started.Swap(&started); last != nil && !last.Equal(started) {
		s.drop()
		s.fresh, s.awaited = time.Time{}, mark{}
		s.Pool.Reset()
	}
}

// reached records the standby's position, given the primary's just before. It waits for one
// position of the primary at a time, so the real lag may be smaller.
func (s *Standby) reached(at pgtx.Position, now mark) error {
	switch {
	case at.Reaches(now.at):
		s.fresh, s.awaited = now.time, mark{}
	case s.awaited.time.IsZero():
		s.awaited = now
	case at.Reaches(s.awaited.at):
		s.fresh, s.awaited = s.awaited.time, now
	}
	since := s.fresh
	if since.IsZero() { // not caught up yet
		since = s.awaited.time
	}
	lag := now.time.Sub(since)
	s.lag.Store(int64(lag))
	if lag > MaxLag {
		return fmt.Errorf("the server lags more than %s", MaxLag)
	}
	if !s.fresh.IsZero() {
		s.use(view{at: at, fresh: s.fresh})
	}
	return nil
}

// use puts the standby in use, or keeps it there.
func (s *Standby) use(v view) {
	if last := s.view.Load(); last != nil {
		v.life = last.life
	} else {
		v.life, s.end = context.WithCancel(context.Background())
		s.outages.Note(s.Name, nil)
	}
	s.view.Store(&v)
}

// leave takes the standby out of use for a reason.
func (s *Standby) leave(reason error) {
	s.drop()
	s.outages.Note(s.Name, reason)
}

// drop takes the standby out of use and ends its reads.
func (s *Standby) drop() {
	if s.view.Swap(nil) != nil {
		s.end()
	}
}
