package webhook

import (
	"context"
	"strings"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// LogLength is the number of deliveries in the log (decisions, 161 and 210).
	LogLength = 50
	// replayable is the maximum age of an event for a replay.
	replayable = 30 * 24 * time.Hour
)

// Log returns the last deliveries to an endpoint, newest first, each with its body.
func Log(ctx context.Context, u *work.Unit, endpointID string) ([]db.WebhookLogRow, error) {
	e, err := Get(ctx, u, endpointID)
	if err != nil {
		return nil, err
	}
	return queries.WebhookLog(ctx, u.DB(), db.WebhookLogParams{EndpointID: e.ID, OrgID: u.OrgID, Lim: LogLength})
}

// Delivery returns a delivery with its body, restricted to the unit's program if it has one.
func Delivery(ctx context.Context, u *work.Unit, id string) (db.WebhookLogRow, error) {
	row, err := queries.WebhookDeliveryGet(ctx, u.Short(), db.WebhookDeliveryGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return db.WebhookLogRow{}, err
	}
	out := db.WebhookLogRow{WebhookDelivery: row.WebhookDelivery, Sent: row.Sent}
	return out, u.CheckProgram(row.WebhookDelivery.ProgramID)
}

// insertDelivery queues the row for the commit.
func insertDelivery(ctx context.Context, u *work.Unit, d db.WebhookDelivery) error {
	return queries.WebhookDeliveryInsert(ctx, u.Later(), db.WebhookDeliveryInsertParams(d))
}

// Replay queues a delivery again, under a new id; the old one stays unchanged (decisions, 164).
func (s *Endpoints) Replay(ctx context.Context, u *work.Unit, deliveryID string) (db.WebhookLogRow, error) {
	var fresh db.WebhookLogRow
	row, err := queries.WebhookDeliveryGet(ctx, u.Tx, db.WebhookDeliveryGetParams{ID: deliveryID, OrgID: u.OrgID})
	if err != nil {
		return fresh, err
	}
	old := row.WebhookDelivery
	if err := u.CheckProgram(old.ProgramID); err != nil {
		return fresh, err
	}
	switch {
	case old.IsTest:
		return fresh, problem.New(problem.WebhookTestDelivery, "A test event cannot be replayed; ping the endpoint instead.")
	case row.EventAt.Before(u.Now.Add(-replayable)) || row.Sent == "":
		return fresh, problem.New(problem.WebhookEventExpired, "The event is older than 30 days.")
	case !row.Enabled:
		return fresh, disabled()
	}
	fresh = db.WebhookLogRow{Sent: row.Sent, WebhookDelivery: db.WebhookDelivery{
		ID: ident.New(ident.Delivery), OrgID: old.OrgID, ProgramID: old.ProgramID, EndpointID: old.EndpointID,
		EventID: old.EventID, EventType: old.EventType, Status: db.DeliveryStatusPending, ReplayOf: &old.ID,
		NextAttemptAt: &AtOnce, CreatedAt: u.Now,
	}}
	s.wakeOnCommit(u)
	return fresh, insertDelivery(ctx, u, fresh.WebhookDelivery)
}

// disabled refuses to queue a delivery for a disabled endpoint.
func disabled() error {
	return problem.New(problem.WebhookEndpointDisabled, "The endpoint is turned off; turn it on first.")
}

// wakeOnCommit wakes the sender when the deliveries are visible.
func (s *Endpoints) wakeOnCommit(u *work.Unit) {
	if s.Wake != nil {
		u.OnCommit(s.Wake)
	}
}

// Window selects deliveries of an endpoint to replay: failures since a time, or all between two times.
type Window struct {
	FailedSince, From, To *clock.Time
}

// ReplayMany queues the deliveries of a window again, and returns their number (decisions, 165 and 209).
func (s *Endpoints) ReplayMany(ctx context.Context, u *work.Unit, endpointID string, w Window) (int64, error) {
	p, err := w.params(u.Now)
	if err != nil {
		return 0, err
	}
	e, err := lock(ctx, u, endpointID)
	if err != nil {
		return 0, err
	}
	if !e.Enabled {
		return 0, disabled()
	}
	p.OrgID, p.EndpointID, p.Now = e.OrgID, e.ID, u.Now
	// One statement copies the rows and derives their ids from this one.
	p.NewID = strings.TrimPrefix(ident.New(ident.Delivery), string(ident.Delivery))
	s.wakeOnCommit(u)
	return queries.WebhookReplayMany(ctx, u.Tx, p)
}

// params checks the window: it has one of its two forms, and at most 30 days.
func (w Window) params(now clock.Time) (db.WebhookReplayManyParams, error) {
	p := db.WebhookReplayManyParams{FromAt: now, ToAt: now}
	switch {
	case w.FailedSince != nil && (w.From != nil || w.To != nil):
		return p, problem.On("failed_since", problem.ParametersExclusive, "failed_since excludes from and to.")
	case w.FailedSince != nil:
		p.FailedOnly, p.FromAt = true, *w.FailedSince
		if p.FromAt.Before(now.Add(-replayable)) {
			return p, problem.Invalid("failed_since", "failed_since must be within the last 30 days.")
		}
		return p, nil
	case w.From == nil:
		return p, problem.On("from", problem.ParameterMissing, "Give failed_since, or from and to.")
	case w.To == nil:
		return p, problem.On("to", problem.ParameterMissing, "from requires to.")
	}
	p.FromAt, p.ToAt = *w.From, *w.To
	switch {
	case p.ToAt.Before(p.FromAt.Time):
		return p, problem.Invalid("to", "to must not be before from.")
	case p.ToAt.Sub(p.FromAt.Time) > replayable:
		return p, problem.Invalid("to", "The window must be 30 days at most.")
	}
	return p, nil
}
