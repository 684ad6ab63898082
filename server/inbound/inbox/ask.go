package inbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/connection"
	"rail/server/inbound/processor"
	"rail/server/inbound/stripe/client"
	"rail/server/inbound/stripe/complete"
	"rail/server/postgres/pgtx"
)

// API asks processors what their events lack, with the keys of connections. One that does
// not answer is left alone for a while, so that its events hold up nobody else's.
type API struct {
	stripe string // where Stripe's API is asked

	mu      sync.Mutex
	away    map[string]clock.Time // until when a connection's processor is not asked
	refused map[string]clock.Time // until when it is not logged again that a connection's key is refused
}

// NewAPI returns an API that asks Stripe at an address, or at its own for "".
func NewAPI(stripe string) *API {
	return &API{stripe: stripe, away: map[string]clock.Time{}, refused: map[string]clock.Time{}}
}

const (
	// askFor bounds the asking for one event.
	askFor = 5 * time.Second
	// rest is how long a processor is not asked that did not answer, unless it says longer.
	rest = 10 * time.Second
	// mostRest is how long an event waits at most until it is asked for again.
	mostRest = time.Hour
)

// awayError means that a processor did not answer.
type awayError struct {
	reason string
	until  clock.Time
	since  clock.Time // when the event came that lacks something
}

func (a *awayError) Error() string { return a.reason }

// rests returns the time of a connection, and whether it lies ahead.
func (p *API) rests(of map[string]clock.Time, id string, now clock.Time) (clock.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := of[id]
	return until, now.Before(until.Time)
}

// leave sets the time of a connection.
func (p *API) leave(of map[string]clock.Time, id string, until clock.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of[id] = until
}

// ask returns what an event says with what its processor knows beside it; nil where the
// event says all that is to be had. It holds no transaction.
func (w Worker) ask(ctx context.Context, t db.InboxClaimRow) (*said, error) {
	if w.API == nil || !t.Asks {
		return nil, nil
	}
	e, err := queries.InboxGet(ctx, w.Pool, db.InboxGetParams{ID: t.ID, OrgID: t.OrgID})
	if err != nil {
		return nil, err
	}
	c, body, err := w.open(ctx, w.Pool, e)
	if err != nil {
		return nil, err
	}
	key, err := connection.Service{Keeper: w.Keeper}.Key(c)
	if err != nil {
		return nil, err
	}
	s, err := w.API.read(ctx, w, c, client.New(key, w.API.stripe).Once(), body)
	if away := (*awayError)(nil); errors.As(err, &away) {
		away.since = e.CreatedAt
	}
	return s, err
}

func (p *API) read(
	ctx context.Context, w Worker, c db.ProcessorConnection, api *client.Client, body []byte,
) (*said, error) {
	until, rests := p.rests(p.away, c.ID, w.Clock.Now())
	bounded, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if rests {
		cancel() // what lacks nothing is read all the same
	}
	r, err := complete.Read(bounded, api, body, c.OutsideCheckout)
	var refused *client.Error
	switch {
	case err == nil, errors.As(err, new(processor.MalformedError)):
		return &said{c, r, err}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case client.Refused(err):
		p.tell(w, c, err)
		return new(says(c, body)), nil
	}
	away := &awayError{reason: "Stripe's API did not answer.", until: until}
	if errors.As(err, &refused) {
		away.reason = string([]rune(refused.Error())[:min(len([]rune(refused.Error())), maxID)])
	}
	if !rests {
		after := rest
		if refused != nil {
			after = max(after, refused.After)
		}
		away.until = w.Clock.Now().Plus(after)
		p.leave(p.away, c.ID, away.until)
	}
	return nil, away
}

// tell logs once an hour that a connection's key may not read what events lack.
func (p *API) tell(w Worker, c db.ProcessorConnection, err error) {
	now := w.Clock.Now()
	if _, told := p.rests(p.refused, c.ID, now); !told && w.Log != nil {
		w.Log.Warn("what events lack is not read", "connection", c.ID, "error", err)
		p.leave(p.refused, c.ID, now.Plus(time.Hour))
	}
}

// postpone has an event worked again once its processor may answer. It waits, as others
// do for what they lack, for 30 days.
func (w Worker) postpone(ctx context.Context, t db.InboxClaimRow, now clock.Time, away *awayError) error {
	o := waiting(codeAway, away.reason+" What the event lacks is asked for again.")
	age := now.Sub(away.since.Time)
	o.due = new(now.Plus(max(min(age/2, mostRest), away.until.Sub(now.Time), rest)))
	if age >= waitDays*24*time.Hour {
		o.status, o.due = db.InboxStatusFailed, nil
	}
	return w.write(ctx, t, now, o, func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
		return queries.InboxPostpone(ctx, tx, db.InboxPostponeParams{
			Status: o.status, ReasonCode: text(o.code), Reason: text(o.reason), DueAt: o.due, ProcessedAt: &now, ID: t.ID,
			OrgID: t.OrgID, Attempts: t.Attempts,
		})
	})
}
