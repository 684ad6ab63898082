package handlers

import (
	"context"
	"strings"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/webhook"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// logLength is how many deliveries the log shows (decisions, 161 and 210).
	logLength = 50
	// replayable is how old an event may be that is sent again.
	replayable = 30 * 24 * time.Hour
)

// ListWebhookDeliveries lists the last deliveries to an endpoint, newest first,
// each with the exact body.
func (s *Server) ListWebhookDeliveries(ctx context.Context, r api.ListWebhookDeliveriesRequestObject) (api.ListWebhookDeliveriesResponseObject, error) {
	u := work.From(ctx)
	e, err := endpoint(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	rows, err := queries.WebhookLog(ctx, u.DB(), db.WebhookLogParams{EndpointID: e.ID, OrgID: u.OrgID, Lim: logLength})
	if err != nil {
		return nil, err
	}
	all := mapped(rows, func(r db.WebhookLogRow) api.WebhookDelivery { return toDelivery(r.WebhookDelivery, r.Sent) })
	data, more, err := within(all, func(d api.WebhookDelivery) string { return d.ID }, r.Params.Limit, logLength, r.Params.StartingAfter, r.Params.EndingBefore)
	return api.ListWebhookDeliveries200JSONResponse{Data: data, HasMore: more, TotalCount: int64(len(all))}, err
}

// PingWebhookEndpoint sends a test event now and tells what came of it
// (decisions, 163). It is not tried again.
func (s *Server) PingWebhookEndpoint(ctx context.Context, r api.PingWebhookEndpointRequestObject) (api.PingWebhookEndpointResponseObject, error) {
	u := work.From(ctx)
	e, err := queries.WebhookEndpointGet(ctx, u.Outside().DB(), db.WebhookEndpointGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(e.ProgramID); err != nil {
		return nil, err
	}
	done, err := s.mayPing(ctx, u, e)
	if err != nil {
		return nil, err
	}
	defer done()
	kind, err := pingType(e, r.Body)
	if err != nil {
		return nil, err
	}
	d := db.WebhookDelivery{
		ID: ident.New(ident.Delivery), OrgID: e.OrgID, ProgramID: e.ProgramID, EndpointID: e.ID, EventID: ident.New(ident.TestEvent), EventType: kind,
		Attempts: 1, IsTest: true, LastAttemptAt: &u.Now, FinishedAt: &u.Now, CreatedAt: u.Now, Status: db.DeliveryStatusDelivered,
	}
	body, err := webhook.TestEvent(kind, d.EventID, u.Now, e.PartnerID != nil)
	if err != nil {
		return nil, err
	}
	secrets, err := webhook.Sealed{Endpoint: e.ID, Secret: e.Secret, Previous: e.PreviousSecret, PreviousExpiresAt: e.PreviousExpiresAt}.Live(s.Keeper, u.Now)
	if err != nil {
		return nil, err
	}
	client := webhook.NewClient(s.ServiceName, s.Guard.DialContext)
	defer client.Close()
	o := client.Send(ctx, webhook.Message{
		URL: e.URL, EventID: d.EventID, DeliveryID: d.ID, Type: kind, RequestID: u.RequestID, Attempt: 1, Body: body, Secrets: secrets,
	}, u.Now.Time)
	text := string(body)
	d.Body, d.DurationMs, d.Error = &text, new(o.Took.Milliseconds()), opt.OrNil(o.Err)
	if o.Code > 0 {
		d.ResponseCode = new(int32(o.Code)) //nolint:gosec // three digits
	}
	if o.Err != "" {
		d.Status = db.DeliveryStatusFailed
	}
	err = insertDelivery(ctx, u, d)
	return api.PingWebhookEndpoint200JSONResponse(toDelivery(d, text)), err
}

// mayPing bounds the pings at work: each may take ten seconds, in which the
// transaction of its Idempotency-Key, where it has one, must not time out. None
// waits for another, with that transaction's connection.
func (s *Server) mayPing(ctx context.Context, u *work.Unit, e db.WebhookEndpoint) (done func(), err error) {
	done, ok := s.pings.begin(e)
	if !ok {
		p := problem.New(problem.RateLimitExceeded, "Other tests of endpoints wait for their receivers; try again in a moment.")
		p.RetryAfter = 1
		return nil, p
	}
	if u.Tx.Begun() {
		if _, err := u.Tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = '30s'"); err != nil {
			done()
			return nil, err
		}
	}
	return done, nil
}

// pingType is the type asked for, or else the first that the endpoint takes.
func pingType(e db.WebhookEndpoint, b *api.PingWebhookEndpointJSONRequestBody) (string, error) {
	switch {
	case b != nil && b.EventType != nil:
		if e.PartnerID != nil && !event.PartnerVisible(string(*b.EventType)) {
			return "", problem.Invalid("event_type", "A postback takes referral.*, commission.* and payout.* types only.")
		}
		return string(*b.EventType), nil
	case len(e.EventTypes) > 0:
		return e.EventTypes[0], nil
	case e.PartnerID != nil:
		return "referral.created", nil
	}
	return "affiliate.created", nil
}

func insertDelivery(ctx context.Context, u *work.Unit, d db.WebhookDelivery) error {
	return queries.WebhookDeliveryInsert(ctx, u.Later(), db.WebhookDeliveryInsertParams(d))
}

// ReplayWebhookDelivery queues a delivery again, under a new id; the old one
// stays as it is (decisions, 164).
func (s *Server) ReplayWebhookDelivery(ctx context.Context, r api.ReplayWebhookDeliveryRequestObject) (api.ReplayWebhookDeliveryResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.WebhookDeliveryGet(ctx, u.Tx, db.WebhookDeliveryGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	old := row.WebhookDelivery
	if err := u.CheckProgram(old.ProgramID); err != nil {
		return nil, err
	}
	switch {
	case old.IsTest:
		return nil, problem.New(problem.WebhookTestDelivery, "A test event is not sent again; ping the endpoint instead.")
	case row.EventAt.Before(u.Now.Add(-replayable)) || row.Sent == "":
		return nil, problem.New(problem.WebhookEventExpired, "The event is older than 30 days.")
	case !row.Enabled:
		return nil, disabledEndpoint()
	}
	d := db.WebhookDelivery{
		ID: ident.New(ident.Delivery), OrgID: old.OrgID, ProgramID: old.ProgramID, EndpointID: old.EndpointID, EventID: old.EventID, EventType: old.EventType,
		Status: db.DeliveryStatusPending, ReplayOf: &old.ID, NextAttemptAt: &webhook.AtOnce, CreatedAt: u.Now,
	}
	u.OnCommit(s.Wake)
	return api.ReplayWebhookDelivery202JSONResponse(toDelivery(d, row.Sent)), insertDelivery(ctx, u, d)
}

func disabledEndpoint() error {
	return problem.New(problem.WebhookEndpointDisabled, "The endpoint is turned off; turn it on first.")
}

// ReplayWebhookEndpoint queues everything again that failed since a time, or
// everything of a window (decisions, 165 and 209).
func (s *Server) ReplayWebhookEndpoint(ctx context.Context, r api.ReplayWebhookEndpointRequestObject) (api.ReplayWebhookEndpointResponseObject, error) {
	u := work.From(ctx)
	p, err := replayWindow(r.Body, u.Now)
	if err != nil {
		return nil, err
	}
	e, err := lockEndpoint(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if !e.Enabled {
		return nil, disabledEndpoint()
	}
	p.OrgID, p.EndpointID, p.Now = e.OrgID, e.ID, u.Now
	p.NewID = strings.TrimPrefix(ident.New(ident.Delivery), string(ident.Delivery))
	n, err := queries.WebhookReplayMany(ctx, u.Tx, p)
	u.OnCommit(s.Wake)
	return api.ReplayWebhookEndpoint202JSONResponse{Object: "webhook_replay", Queued: n}, err
}

func replayWindow(b *api.WebhookReplayCreate, now clock.Time) (db.WebhookReplayManyParams, error) {
	p := db.WebhookReplayManyParams{FromAt: now, ToAt: now}
	switch {
	case b.FailedSince != nil && (b.From != nil || b.To != nil):
		return p, problem.On("failed_since", problem.ParametersExclusive, "failed_since goes without from and to.")
	case b.FailedSince != nil:
		p.FailedOnly, p.FromAt = true, *b.FailedSince
		if p.FromAt.Before(now.Add(-replayable)) {
			return p, problem.Invalid("failed_since", "failed_since must lie within the last 30 days.")
		}
		return p, nil
	case b.From == nil:
		return p, problem.On("from", problem.ParameterMissing, "Give failed_since, or from and to.")
	case b.To == nil:
		return p, problem.On("to", problem.ParameterMissing, "from needs to.")
	}
	p.FromAt, p.ToAt = *b.From, *b.To
	switch {
	case p.ToAt.Before(p.FromAt.Time):
		return p, problem.Invalid("to", "to must not lie before from.")
	case p.ToAt.Sub(p.FromAt.Time) > replayable:
		return p, problem.Invalid("to", "The window must be 30 days at most.")
	}
	return p, nil
}

func toEndpoint(e db.WebhookEndpoint) api.WebhookEndpoint {
	return api.WebhookEndpoint{
		ID: e.ID, Object: "webhook_endpoint", ProgramID: e.ProgramID, PartnerID: e.PartnerID, URL: e.URL, EventTypes: enums[api.EventType](e.EventTypes),
		Enabled: e.Enabled, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

func toDelivery(d db.WebhookDelivery, sent string) api.WebhookDelivery {
	out := api.WebhookDelivery{
		ID: d.ID, Object: "webhook_delivery", WebhookEndpointID: d.EndpointID, EventID: d.EventID, EventType: api.EventType(d.EventType),
		Status: api.WebhookDeliveryStatus(d.Status), Attempts: int64(d.Attempts), Error: d.Error, DurationMs: d.DurationMs, RequestBody: sent,
		IsTest: d.IsTest, ReplayOf: d.ReplayOf, LastAttemptAt: d.LastAttemptAt, NextAttemptAt: d.NextAttemptAt, CreatedAt: d.CreatedAt,
	}
	if d.ResponseCode != nil {
		out.ResponseCode = new(int64(*d.ResponseCode))
	}
	if d.NextAttemptAt != nil && d.NextAttemptAt.Before(d.CreatedAt.Time) { // it is due by every clock
		out.NextAttemptAt = &d.CreatedAt
	}
	return out
}

func toEventType(t webhook.EventType) api.WebhookEventType {
	return api.WebhookEventType{
		Object: "webhook_event_type", Type: api.EventType(t.Type), Description: t.Description, PartnerEligible: t.PartnerEligible, Example: t.Example,
	}
}
