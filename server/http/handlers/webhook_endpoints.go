package handlers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/event"
	"rail/server/ident"
	"rail/server/outbound/webhook"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// maxEndpoints bounds the endpoints of a program (decisions, 159 and 211), and
	// the postbacks of a partner: those of partners take none of the program's.
	maxEndpoints = 20
	// rotation is how long an old secret signs beside the new one.
	rotation = 24 * time.Hour
)

// ListWebhookEndpoints lists the endpoints of a program, newest first.
func (s *Server) ListWebhookEndpoints(ctx context.Context, r api.ListWebhookEndpointsRequestObject) (api.ListWebhookEndpointsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	rows, err := list(ctx, u, paging{programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore}, lister[position, db.WebhookEndpoint]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.WebhookEndpointCursor(ctx, tx, db.WebhookEndpointCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.WebhookEndpoint, error) {
			return queries.WebhookEndpointPage(ctx, tx, db.WebhookEndpointPageParams{
				ProgramID: p.ProgramID, OrgID: org, AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.WebhookEndpointCount(ctx, tx, db.WebhookEndpointCountParams{ProgramID: p.ProgramID, OrgID: org})
		},
	})
	return api.ListWebhookEndpoints200JSONResponse{Data: mapped(rows.rows, toEndpoint), HasMore: rows.hasMore, TotalCount: rows.total}, err
}

// RetrieveWebhookEndpoint returns one endpoint, without its secret.
func (s *Server) RetrieveWebhookEndpoint(ctx context.Context, r api.RetrieveWebhookEndpointRequestObject) (api.RetrieveWebhookEndpointResponseObject, error) {
	e, err := endpoint(ctx, work.From(ctx), r.ID)
	return api.RetrieveWebhookEndpoint200JSONResponse(toEndpoint(e)), err
}

func endpoint(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointGet(ctx, u.DB(), db.WebhookEndpointGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

func lockEndpoint(ctx context.Context, u *work.Unit, id string) (db.WebhookEndpoint, error) {
	e, err := queries.WebhookEndpointLock(ctx, u.Tx, db.WebhookEndpointLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return e, err
	}
	return e, u.CheckProgram(e.ProgramID)
}

// CreateWebhookEndpoint adds an endpoint and shows its secret, this once. The
// address is judged before anything is asked of the database.
func (s *Server) CreateWebhookEndpoint(ctx context.Context, r api.CreateWebhookEndpointRequestObject) (api.CreateWebhookEndpointResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if err := s.checkURL(ctx, b.URL); err != nil {
		return nil, err
	}
	types := distinct(texts(b.EventTypes))
	if err := checkTypes(types, b.PartnerID != nil); err != nil {
		return nil, err
	}
	p, err := queries.ProgramLock(ctx, u.Tx, db.ProgramLockParams{ID: b.ProgramID, OrgID: u.OrgID})
	if err != nil {
		return nil, work.Found(err, "program_id")
	}
	if err := u.Check(ctx, p.ID, work.PartnerRef("partner_id", b.PartnerID)); err != nil {
		return nil, err
	}
	n, err := queries.WebhookEndpointsHeld(ctx, u.Tx, db.WebhookEndpointsHeldParams{ProgramID: p.ID, OrgID: u.OrgID, PartnerID: b.PartnerID})
	if err != nil {
		return nil, err
	}
	if n >= maxEndpoints {
		return nil, problem.New(problem.WebhookEndpointLimit, "There are %d endpoints already, as many as there may be.", n)
	}
	e := db.WebhookEndpoint{
		ID: ident.New(ident.Endpoint), OrgID: p.OrgID, ProgramID: p.ID, PartnerID: b.PartnerID, URL: b.URL, EventTypes: types, Enabled: true,
		CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	secret := webhook.NewSecret()
	if e.Secret, err = s.Keeper.Seal([]byte(secret), webhook.SecretPlace(e.ID, false)); err != nil {
		return nil, err
	}
	err = queries.WebhookEndpointInsert(ctx, u.Later(), db.WebhookEndpointInsertParams{
		ID: e.ID, OrgID: e.OrgID, ProgramID: e.ProgramID, PartnerID: e.PartnerID, URL: e.URL, EventTypes: e.EventTypes, Enabled: e.Enabled,
		Secret: e.Secret, CreatedAt: u.Now,
	})
	out := toEndpoint(e)
	out.Secret = &secret
	return api.CreateWebhookEndpoint201JSONResponse(out), err
}

func (s *Server) checkURL(ctx context.Context, url string) error {
	if err := s.Guard.Check(ctx, url); err != nil {
		return problem.On("url", problem.URLNotAllowed, "url: %s.", err)
	}
	return nil
}

// checkTypes refuses what a partner's postback may not get (decisions, 159).
func checkTypes(types []string, partner bool) error {
	for i, kind := range types {
		if partner && !event.PartnerVisible(kind) {
			return problem.Invalid(fmt.Sprintf("event_types[%d]", i), "A postback takes referral.*, commission.* and payout.* types only.")
		}
	}
	return nil
}

// UpdateWebhookEndpoint changes what is sent. An endpoint that is turned off
// gets nothing more; turned on again, its failures count anew.
func (s *Server) UpdateWebhookEndpoint(ctx context.Context, r api.UpdateWebhookEndpointRequestObject) (api.UpdateWebhookEndpointResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if b.URL != nil {
		if err := s.checkURL(ctx, *b.URL); err != nil {
			return nil, err
		}
	}
	e, err := lockEndpoint(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	change(&e.URL, b.URL)
	if b.EventTypes != nil {
		e.EventTypes = distinct(texts(b.EventTypes))
		if err := checkTypes(e.EventTypes, e.PartnerID != nil); err != nil {
			return nil, err
		}
	}
	if b.Enabled != nil && *b.Enabled {
		e.CountedSince = u.Now
	}
	if b.Enabled != nil && *b.Enabled != e.Enabled { // off: nothing more is sent; on: nothing that waits from before
		off := db.WebhookCancelParams{Error: new("The endpoint was turned off."), Now: &u.Now, EndpointID: e.ID, OrgID: e.OrgID}
		if err := queries.WebhookCancel(ctx, u.Later(), off); err != nil {
			return nil, err
		}
	}
	change(&e.Enabled, b.Enabled)
	err = saveEndpoint(ctx, u, &e)
	return api.UpdateWebhookEndpoint200JSONResponse(toEndpoint(e)), err
}

func saveEndpoint(ctx context.Context, u *work.Unit, e *db.WebhookEndpoint) error {
	e.UpdatedAt = u.Now
	return queries.WebhookEndpointUpdate(ctx, u.Later(), db.WebhookEndpointUpdateParams{
		URL: e.URL, EventTypes: e.EventTypes, Enabled: e.Enabled, Secret: e.Secret, PreviousSecret: e.PreviousSecret, PreviousExpiresAt: e.PreviousExpiresAt,
		CountedSince: e.CountedSince, UpdatedAt: e.UpdatedAt, ID: e.ID, OrgID: e.OrgID,
	})
}

// DeleteWebhookEndpoint removes an endpoint with its log; nothing more is sent.
func (s *Server) DeleteWebhookEndpoint(ctx context.Context, r api.DeleteWebhookEndpointRequestObject) (api.DeleteWebhookEndpointResponseObject, error) {
	u := work.From(ctx)
	e, err := lockEndpoint(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	err = queries.WebhookEndpointDelete(ctx, u.Later(), db.WebhookEndpointDeleteParams{ID: e.ID, OrgID: e.OrgID})
	return api.DeleteWebhookEndpoint200JSONResponse{ID: e.ID, Object: "webhook_endpoint", Deleted: true}, err
}

// RotateWebhookEndpointSecret makes a new secret and shows it, this once; the
// old one signs too for a day, so that two are live at most.
func (s *Server) RotateWebhookEndpointSecret(ctx context.Context, r api.RotateWebhookEndpointSecretRequestObject) (api.RotateWebhookEndpointSecretResponseObject, error) {
	u := work.From(ctx)
	e, err := lockEndpoint(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	old, err := s.Keeper.Open(e.Secret, webhook.SecretPlace(e.ID, false))
	if err != nil {
		return nil, err
	}
	if e.PreviousSecret, err = s.Keeper.Seal(old, webhook.SecretPlace(e.ID, true)); err != nil {
		return nil, err
	}
	secret := webhook.NewSecret()
	if e.Secret, err = s.Keeper.Seal([]byte(secret), webhook.SecretPlace(e.ID, false)); err != nil {
		return nil, err
	}
	e.PreviousExpiresAt, e.CountedSince = new(u.Now.Plus(rotation)), u.Now
	err = saveEndpoint(ctx, u, &e)
	out := toEndpoint(e)
	out.Secret = &secret
	return api.RotateWebhookEndpointSecret200JSONResponse(out), err
}

// ListWebhookEvents lists the event catalogue.
func (s *Server) ListWebhookEvents(_ context.Context, r api.ListWebhookEventsRequestObject) (api.ListWebhookEventsResponseObject, error) {
	types := webhook.Catalogue()
	rows, more, err := within(types, func(t webhook.EventType) string { return t.Type }, r.Params.Limit, 100, (*string)(r.Params.StartingAfter), (*string)(r.Params.EndingBefore))
	if err != nil {
		return nil, err
	}
	return api.ListWebhookEvents200JSONResponse{Data: mapped(rows, toEventType), HasMore: more, TotalCount: int64(len(types))}, nil
}

// within is a page of a list that is at hand.
func within[T any](all []T, id func(T) string, limit *int64, most int, after, before *string) (page []T, more bool, err error) {
	if after != nil && before != nil {
		return nil, false, problem.On("ending_before", problem.ParametersExclusive, "starting_after and ending_before exclude each other.")
	}
	n := most
	if limit != nil {
		n = int(*limit)
	}
	place := func(param string, cursor *string) (int, error) {
		at := slices.IndexFunc(all, func(t T) bool { return id(t) == *cursor })
		if at < 0 {
			return 0, problem.On(param, problem.InvalidCursor, "%s is not an object of this list.", param)
		}
		return at, nil
	}
	switch {
	case after != nil:
		at, err := place("starting_after", after)
		if err != nil {
			return nil, false, err
		}
		all = all[at+1:]
	case before != nil:
		at, err := place("ending_before", before)
		if err != nil {
			return nil, false, err
		}
		from := max(0, at-n)
		return all[from:at], from > 0, nil
	}
	return all[:min(n, len(all))], len(all) > n, nil
}
