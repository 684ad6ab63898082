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
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// API requests missing data of events from processors, with the connections' keys. It pauses a processor that
// does not answer, so that its events do not delay others.
type API struct {
	stripe string // address of Stripe's API

	mu          sync.Mutex
	unavailable map[string]clock.Time // end of a connection's pause
	refused     map[string]clock.Time // when to log a refused key again, by connection
}

// NewAPI returns an API that requests from Stripe at an address, "" for the default.
func NewAPI(stripe string) *API {
	return &API{stripe: stripe, unavailable: map[string]clock.Time{}, refused: map[string]clock.Time{}}
}

const (
	// askTimeout bounds the requests for one event.
	askTimeout = 5 * time.Second
	// defaultPause is the pause of a processor that does not answer, unless it asks for a longer one.
	defaultPause = 10 * time.Second
	// maxPause bounds how long an event waits for its next request.
	maxPause = time.Hour
)

// unavailableError means that a processor did not answer.
type unavailableError struct {
	reason string
	until  clock.Time
	since  clock.Time // arrival of the incomplete event
}

func (a *unavailableError) Error() string { return a.reason }

// paused returns the time of a connection, and whether it is in the future.
func (p *API) paused(of map[string]clock.Time, id string, now clock.Time) (clock.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := of[id]
	return until, now.Before(until.Time)
}

// pause sets the time of a connection.
func (p *API) pause(of map[string]clock.Time, id string, until clock.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of[id] = until
}

// ask returns an event's reading completed by its processor; nil if the event is complete or nothing more is
// available. It holds no transaction. A blocked event is not asked for.
func (w Worker) ask(ctx context.Context, t db.InboxClaimRow, now clock.Time) (*parsed, error) {
	if w.API == nil || !t.Asks {
		return nil, nil
	}
	if err := unblocked(ctx, w.Pool, t, now); err != nil {
		return nil, err
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
	if unavailable := (*unavailableError)(nil); errors.As(err, &unavailable) {
		unavailable.since = e.CreatedAt
	}
	return s, err
}

func (p *API) read(
	ctx context.Context, w Worker, c db.ProcessorConnection, api *client.Client, body []byte,
) (*parsed, error) {
	until, rests := p.paused(p.unavailable, c.ID, w.Clock.Now())
	bounded, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if rests {
		cancel() // a complete event is read anyway
	}
	r, err := complete.Read(bounded, api, body, c.OutsideCheckout)
	var refused *client.Error
	switch {
	case err == nil, errors.As(err, new(processor.MalformedError)):
		return &parsed{r, err}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case client.Refused(err):
		p.logRefused(w, c, err)
		return new(parse(c.Processor, body)), nil
	}
	unavailable := &unavailableError{reason: "Stripe's API did not answer.", until: until}
	if errors.As(err, &refused) {
		unavailable.reason = plain.Cut(refused.Error(), maxID)
	}
	if !rests {
		after := defaultPause
		if refused != nil {
			after = max(after, refused.After)
		}
		unavailable.until = w.Clock.Now().Plus(after)
		p.pause(p.unavailable, c.ID, unavailable.until)
	}
	return nil, unavailable
}

// logRefused logs once an hour that a connection's key lacks a permission.
func (p *API) logRefused(w Worker, c db.ProcessorConnection, err error) {
	now := w.Clock.Now()
	if _, logged := p.paused(p.refused, c.ID, now); !logged && w.Log != nil {
		w.Log.Warn("missing data of events cannot be read", "connection", c.ID, "error", err)
		p.pause(p.refused, c.ID, now.Plus(time.Hour))
	}
}

// postpone reschedules an event until its processor may answer, for at most 30 days like other waiting events.
func (w Worker) postpone(ctx context.Context, t db.InboxClaimRow, now clock.Time, unavailable *unavailableError) error {
	o := waiting(codeUnavailable, unavailable.reason+" The missing data is requested again.")
	age := now.Sub(unavailable.since.Time)
	o.due = new(now.Plus(max(min(age/2, maxPause), unavailable.until.Sub(now.Time), defaultPause)))
	if age >= work.MaxWait {
		o.status, o.due = db.InboxStatusFailed, nil
	}
	return w.write(ctx, t, now, o, func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
		return queries.InboxPostpone(ctx, tx, db.InboxPostponeParams{
			Status: o.status, ReasonCode: opt.OrNil(o.code), Reason: opt.OrNil(o.reason), DueAt: o.due, ProcessedAt: &now,
			ID:    t.ID,
			OrgID: t.OrgID, Attempts: t.Attempts,
		})
	})
}
