package handlers

import (
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/outbound/webhook"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// ListWebhookEndpoints lists the endpoints of a program, newest first.
func (s *Server) ListWebhookEndpoints(
	ctx context.Context, r api.ListWebhookEndpointsRequestObject,
) (api.ListWebhookEndpointsResponseObject, error) {
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
func (s *Server) RetrieveWebhookEndpoint(
	ctx context.Context, r api.RetrieveWebhookEndpointRequestObject,
) (api.RetrieveWebhookEndpointResponseObject, error) {
	e, err := webhook.Get(ctx, work.From(ctx), r.ID)
	return api.RetrieveWebhookEndpoint200JSONResponse(toEndpoint(e)), err
}

// CreateWebhookEndpoint adds an endpoint and shows its secret, this once.
func (s *Server) CreateWebhookEndpoint(
	ctx context.Context, r api.CreateWebhookEndpointRequestObject,
) (api.CreateWebhookEndpointResponseObject, error) {
	e, secret, err := s.Webhooks.Create(ctx, work.From(ctx), webhook.NewEndpoint{
		ProgramID: r.Body.ProgramID, PartnerID: r.Body.PartnerID, URL: r.Body.URL, EventTypes: texts(r.Body.EventTypes),
	})
	out := toEndpoint(e)
	out.Secret = &secret
	return api.CreateWebhookEndpoint201JSONResponse(out), err
}

// UpdateWebhookEndpoint changes what is sent, and whether anything is.
func (s *Server) UpdateWebhookEndpoint(
	ctx context.Context, r api.UpdateWebhookEndpointRequestObject,
) (api.UpdateWebhookEndpointResponseObject, error) {
	to := webhook.EndpointChange{URL: r.Body.URL, Enabled: r.Body.Enabled}
	if r.Body.EventTypes != nil {
		to.EventTypes = texts(r.Body.EventTypes)
	}
	e, err := s.Webhooks.Update(ctx, work.From(ctx), r.ID, to)
	return api.UpdateWebhookEndpoint200JSONResponse(toEndpoint(e)), err
}

// DeleteWebhookEndpoint removes an endpoint with its log; nothing more is sent.
func (s *Server) DeleteWebhookEndpoint(
	ctx context.Context, r api.DeleteWebhookEndpointRequestObject,
) (api.DeleteWebhookEndpointResponseObject, error) {
	err := webhook.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteWebhookEndpoint200JSONResponse{ID: r.ID, Object: "webhook_endpoint", Deleted: true}, err
}

// RotateWebhookEndpointSecret makes a new secret and shows it, this once.
func (s *Server) RotateWebhookEndpointSecret(
	ctx context.Context, r api.RotateWebhookEndpointSecretRequestObject,
) (api.RotateWebhookEndpointSecretResponseObject, error) {
	e, secret, err := s.Webhooks.Rotate(ctx, work.From(ctx), r.ID)
	out := toEndpoint(e)
	out.Secret = &secret
	return api.RotateWebhookEndpointSecret200JSONResponse(out), err
}

// ListWebhookEvents lists the event catalogue.
func (s *Server) ListWebhookEvents(
	_ context.Context, r api.ListWebhookEventsRequestObject,
) (api.ListWebhookEventsResponseObject, error) {
	types, p := webhook.Catalogue(), r.Params
	id := func(t webhook.EventType) string { return t.Type }
	rows, more, err := within(types, id, p.Limit, 100, (*string)(p.StartingAfter), (*string)(p.EndingBefore))
	return api.ListWebhookEvents200JSONResponse{
		Data: mapped(rows, toEventType), HasMore: more, TotalCount: int64(len(types)),
	}, err
}

// within is a page of a list that is at hand.
func within[T any](
	all []T, id func(T) string, limit *int64, most int, after, before *string,
) (page []T, more bool, err error) {
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

func toEndpoint(e db.WebhookEndpoint) api.WebhookEndpoint {
	return api.WebhookEndpoint{
		ID: e.ID, Object: "webhook_endpoint", ProgramID: e.ProgramID, PartnerID: e.PartnerID, URL: e.URL,
		EventTypes: enums[api.EventType](e.EventTypes), Enabled: e.Enabled, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

func toEventType(t webhook.EventType) api.WebhookEventType {
	return api.WebhookEventType{
		Object: "webhook_event_type", Type: api.EventType(t.Type), Description: t.Description,
		PartnerEligible: t.PartnerEligible, Example: t.Example,
	}
}
