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
	// every is how often a standby is asked. Who has written reads at the primary for
	// about so long.
	every = 100 * time.Millisecond
	// patience is how long an answer may take. A standby that stands still is left out
	// then, and its reads with it.
	patience = time.Second
)

// Standby is one server with what reads run on.
type Standby struct {
	Name  string // its address, without what is secret
	Pool  *pgxpool.Pool
	Reads *share.Reads

	outages *outage.Log
	primary line
	self    line
	view    atomic.Pointer[view] // nil while it is left out
	lag     atomic.Int64         // in nanoseconds, as last seen

	// Of the goroutine that watches.
	fresh   time.Time // what was committed before is replayed
	awaited mark
	end     context.CancelFunc // of the view's life

	// started tells servers apart: an address may lead to another one by now.
	started atomic.Pointer[time.Time]
}

// view is what reads need to know of a standby in use.
type view struct {
	at    pgtx.Position
	fresh time.Time
	life  context.Context //nolint:containedctx // of the time for which it is in use, not of a call
}

// mark is where the primary was at a time.
type mark struct {
	at   pgtx.Position
	time time.Time
}

// open returns a standby that has not been asked yet.
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

// accept refuses a connection to another server than the one that is watched.
func (s *Standby) accept(ctx context.Context, conn *pgx.Conn) error {
	var started time.Time
	if err := conn.QueryRow(ctx, "SELECT pg_postmaster_start_time()").Scan(&started); err != nil {
		return err
	}
	if known := s.started.Load(); known == nil || !known.Equal(started) {
		return errors.New("the address leads to another server than a moment ago")
	}
	return nil
}

// serves reports whether a read that needs a position may run here.
func (s *Standby) serves(need pgtx.Position) bool {
	v := s.view.Load()
	return v != nil && v.at.Reaches(need) && clock.Real().Sub(v.fresh) <= MaxLag
}

// Bound returns a context for a read, which ends when the standby is left out: a
// server that is gone answers nobody.
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

// Lag returns at most how far the standby was behind when it was asked last.
func (s *Standby) Lag() time.Duration { return time.Duration(s.lag.Load()) }

// run asks the standby until ctx ends.
func (s *Standby) run(ctx context.Context) {
	defer s.primary.close()
	defer s.self.close()
	for clock.Wait(ctx, every) == nil {
		if err := s.look(ctx); err != nil && ctx.Err() == nil {
			s.leave(err)
		}
	}
	s.drop()
}

const (
	// where asks the primary, and what then the standby.
	where = "SELECT w.timeline, w.lsn, c.system_identifier FROM (" + pgtx.PositionSQL + ") w, pg_control_system() c"
	// A standby's timeline is known from its last restart point at the latest; its
	// receiver knows it at once, and tells those who may read all statistics.
	what = `SELECT greatest(p.timeline_id, r.min_recovery_end_timeline, v.received_tli)::int8,
		(coalesce(pg_last_wal_replay_lsn(), '0/0') - '0/0')::int8, c.system_identifier, pg_is_in_recovery(),
		pg_postmaster_start_time()
	FROM pg_control_checkpoint() p, pg_control_recovery() r, pg_control_system() c
	LEFT JOIN pg_stat_wal_receiver v ON true`
)

// look asks the primary where it is, and then the standby, and puts the standby in
// use. It returns why the standby cannot be.
func (s *Standby) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now := mark{time: clock.Real()}
	var cluster int64
	if err := s.primary.ask(ctx, where, &now.at.Timeline, &now.at.LSN, &cluster); err != nil {
		return fmt.Errorf("the primary does not say where it is: %w", err)
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

// answer is what a server says of itself.
type answer struct {
	at      pgtx.Position
	cluster int64
	standby bool
	started time.Time
}

// refusal returns why a server cannot be a standby of a primary, nil where it can.
func (a answer) refusal(cluster int64, timeline uint32) error {
	switch {
	case a.cluster != cluster:
		return errors.New("it is a server of another cluster")
	case !a.standby:
		return errors.New("it is no standby")
	case a.at.Timeline != timeline:
		return fmt.Errorf("it is not known to follow the primary since the failover (timelines %d and %d)",
			a.at.Timeline, timeline)
	}
	return nil
}

// meet forgets what is known of another server at this address, or of this one before
// it was started again: it may be further behind than it was.
func (s *Standby) meet(started time.Time) {
	if known := s.started.Swap(&started); known != nil && !known.Equal(started) {
		s.drop()
		s.fresh, s.awaited = time.Time{}, mark{}
		s.Pool.Reset()
	}
}

// reached notes how far the standby is when the primary was at now just before. Of the
// places of the primary it awaits one at a time, so that its lag may be less than
// it seems.
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
	if since.IsZero() { // it has not caught up yet
		since = s.awaited.time
	}
	lag := now.time.Sub(since)
	s.lag.Store(int64(lag))
	if lag > MaxLag {
		return fmt.Errorf("it is more than %s behind", MaxLag)
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

// drop takes the standby out of use, which ends the reads there.
func (s *Standby) drop() {
	if s.view.Swap(nil) != nil {
		s.end()
	}
}
