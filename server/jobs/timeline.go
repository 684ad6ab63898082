package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/testclock"
)

const (
	// longestMove is the longest move of the test clock in days: two years.
	longestMove = 731
	// step is the precision of a move. Everything that becomes due within a minute is done at its end, as by jobs that
	// run every minute.
	step = time.Minute
	// passes bounds how often the jobs run at one moment while they make work for each other.
	passes = 3
)

// Timeline moves the test clock of a server for tests. The jobs of the time between run in the order of their times,
// each at its own time, as if the server had run all the while.
type Timeline struct {
	clock  *testclock.Clock // nil without one
	pool   *pgxpool.Pool
	runner *Runner
	jobs   []Job
	mu     sync.Mutex // one move at a time
	last   clock.Time // where the last move ended
}

// NewTimeline returns the timeline of a server without a test clock, which refuses every call.
func NewTimeline(pool *pgxpool.Pool, r *Runner, all []Job) *Timeline {
	return &Timeline{pool: pool, runner: r, jobs: all}
}

// Use sets the test clock, which is also the clock of the server and its jobs. It precedes all calls.
func (t *Timeline) Use(c *testclock.Clock) { t.clock = c }

// Now returns the time of the test clock.
func (t *Timeline) Now() (clock.Time, error) {
	if t.clock == nil {
		return clock.Time{}, problem.New(problem.TestClockOff,
			"This server has no test clock; it runs without RAIL_TEST_CLOCK=1.")
	}
	return t.clock.Now(), nil
}

// Move moves the clock forward to a time and returns when the jobs due by then have run. If ctx ends before that, the
// clock continues from the moment of the last jobs, and a second call goes on. A repetition of the last move does
// nothing, since its caller may have missed the answer.
func (t *Timeline) Move(ctx context.Context, to clock.Time) error {
	if _, err := t.Now(); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch now := t.clock.Now(); {
	case to.Equal(t.last.Time):
		return nil
	case to.Before(now.Time):
		return problem.Invalid("now", "now must not be before the clock's present time, %s: time goes forward only.", now)
	case to.After(now.Days(longestMove).Time):
		return problem.Invalid("now", "now must be at most %d days after the clock's present time, %s.", longestMove, now)
	}
	err := t.runner.alone(ctx, func() error { return t.move(ctx, to) })
	if err == nil {
		t.last = to
	} else if ctx.Err() != nil {
		e := problem.Away(errors.Join(err, ctx.Err()))
		e.Message = "The clock has moved to " + t.clock.Now().String() + " and the time of this call is over; " +
			"send it again to continue."
		return e
	}
	return err
}

// move is Move while no other job runs. The jobs of the present moment run first: an earlier move may have ended among
// them.
func (t *Timeline) move(ctx context.Context, to clock.Time) error {
	at := t.clock.Stop()
	defer t.clock.Continue()
	for m := (moment{from: at, at: at, to: to, kind: limit}); ; {
		next, err := t.work(ctx, m)
		if err != nil || !m.at.Before(to.Time) {
			return err
		}
		m = m.then(next)
		if err := t.clock.Forward(ctx, m.at); err != nil {
			return err
		}
	}
}

// A kind of moment decides which jobs run.
const (
	due   = iota // only frequent jobs
	daily        // also hourly jobs
	limit        // all jobs, at the beginning and the end of a move
)

// moment is a moment of a move to a time, with the moment before it.
type moment struct {
	from, at, to clock.Time
	kind         int
}

// then returns the following moment: when something is due, or at midnight, or at the end.
func (m moment) then(next clock.Time) moment {
	midnight := clock.At(m.at.Truncate(24*time.Hour).AddDate(0, 0, 1))
	m.from, m.at, m.kind = m.at, next, due
	if !midnight.After(m.at.Time) {
		m.at, m.kind = midnight, daily
	}
	if !m.to.After(m.at.Time) {
		m.at, m.kind = m.to, limit
	}
	return m
}

// runs reports whether a job runs at the moment.
func (m moment) runs(j Job) bool {
	switch {
	case j.Sweeps:
		return m.kind >= limit
	case j.Every >= time.Hour:
		return m.kind >= daily
	}
	return true
}

// work runs the jobs of a moment, again if they have made more work for it, and returns the next moment with work.
func (t *Timeline) work(ctx context.Context, m moment) (next clock.Time, err error) {
	for range passes {
		for _, j := range t.jobs {
			if m.runs(j) {
				t.runner.round(ctx, j)
			}
			if ctx.Err() != nil {
				return next, ctx.Err()
			}
		}
		if next, err = t.due(ctx, m.from, m.to); err != nil || next.After(m.at.Time) {
			return next, err
		}
	}
	return t.due(ctx, m.at, m.to) // what is still due waits for something else, such as a mail server
}

// due returns the end of the minute in which the next work after a moment is due, or until if there is none.
func (t *Timeline) due(ctx context.Context, after, until clock.Time) (clock.Time, error) {
	at, err := queries.TestClockDue(ctx, t.pool, db.TestClockDueParams{
		After: after, RefundHours: int64(work.MaxWait.Hours()), Until: until,
	})
	if whole := clock.At(at.Truncate(step)); whole.Before(at.Time) {
		at = whole.Plus(step)
	}
	return at, err
}
