package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/outbound/webhook"
	"rail/server/work"
)

// ListWebhookEndpoints lists the endpoints of a program, newest first.
func (s *Server) ListWebhookEndpoints(ctx context.Context,
	r api.ListWebhookEndpointsRequestObject) (api.ListWebhookEndpointsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.WebhookEndpointList{}, toEndpoint)
	return api.ListWebhookEndpoints200JSONResponse(out), err
}

// RetrieveWebhookEndpoint returns one endpoint, without its secret.
func (s *Server) RetrieveWebhookEndpoint(ctx context.Context,
	r api.RetrieveWebhookEndpointRequestObject) (api.RetrieveWebhookEndpointResponseObject, error) {
	e, err := webhook.Get(ctx, work.From(ctx), r.ID)
	return api.RetrieveWebhookEndpoint200JSONResponse(toEndpoint(e)), err
}

// CreateWebhookEndpoint adds an endpoint and returns its secret, only in this answer.
func (s *Server) CreateWebhookEndpoint(ctx context.Context,
	r api.CreateWebhookEndpointRequestObject) (api.CreateWebhookEndpointResponseObject, error) {
	e, secret, err := s.Webhooks.Create(ctx, work.From(ctx), webhook.NewEndpoint{
		ProgramID: r.Body.ProgramID, PartnerID: r.Body.PartnerID, URL: r.Body.URL, EventTypes: texts(r.Body.EventTypes),
	})
	out := toEndpoint(e)
	out.Secret = &secret
	return api.CreateWebhookEndpoint201JSONResponse(out), err
}

// UpdateWebhookEndpoint changes an endpoint. An endpoint that is enabled again gets only new events.
func (s *Server) UpdateWebhookEndpoint(ctx context.Context,
	r api.UpdateWebhookEndpointRequestObject) (api.UpdateWebhookEndpointResponseObject, error) {
	to := webhook.EndpointChange{URL: r.Body.URL, Enabled: r.Body.Enabled}
	// nil leaves the types as they are; an empty list takes all of them.
	if r.Body.EventTypes != nil {
		to.EventTypes = texts(r.Body.EventTypes)
	}
	e, err := s.Webhooks.Update(ctx, work.From(ctx), r.ID, to)
	return api.UpdateWebhookEndpoint200JSONResponse(toEndpoint(e)), err
}

// DeleteWebhookEndpoint removes an endpoint with its log and stops sending.
func (s *Server) DeleteWebhookEndpoint(ctx context.Context,
	r api.DeleteWebhookEndpointRequestObject) (api.DeleteWebhookEndpointResponseObject, error) {
	err := webhook.Delete(ctx, work.From(ctx), r.ID)
	return api.DeleteWebhookEndpoint200JSONResponse{ID: r.ID, Object: "webhook_endpoint", Deleted: true}, err
}

// RotateWebhookEndpointSecret makes a new secret and returns it, only in this answer.
func (s *Server) RotateWebhookEndpointSecret(ctx context.Context,
	r api.RotateWebhookEndpointSecretRequestObject) (api.RotateWebhookEndpointSecretResponseObject, error) {
	e, secret, err := s.Webhooks.Rotate(ctx, work.From(ctx), r.ID)
	out := toEndpoint(e)
	out.Secret = &secret
	return api.RotateWebhookEndpointSecret200JSONResponse(out), err
}

// ListWebhookEvents lists the event catalogue.
func (s *Server) ListWebhookEvents(
	_ context.Context, r api.ListWebhookEventsRequestObject,
) (api.ListWebhookEventsResponseObject, error) {
	// The catalogue is a list in memory whose cursors are names.
	types, p := webhook.Catalogue(), r.Params
	id := func(t webhook.EventType) string { return t.Type }
	page := list.In("", p.Limit, (*string)(p.StartingAfter), (*string)(p.EndingBefore))
	rows, err := list.Slice(types, id, 100, page)
	return api.ListWebhookEvents200JSONResponse{
		Data: mapped(rows.Rows, toEventType), HasMore: rows.HasMore, TotalCount: rows.Total,
	}, err
}

// toEndpoint converts an endpoint without its secret, which only the answers that make one have.
func toEndpoint(e db.WebhookEndpoint) api.WebhookEndpoint {
	return api.WebhookEndpoint{
		ID: e.ID, Object: "webhook_endpoint", ProgramID: e.ProgramID, PartnerID: e.PartnerID, URL: e.URL,
		EventTypes: enums[api.EventName](e.EventTypes), Enabled: e.Enabled, CreatedAt: e.CreatedAt, UpdatedAt: e.UpdatedAt,
	}
}

// toEventType converts a type of the catalogue with an example of its data.
func toEventType(t webhook.EventType) api.WebhookEventType {
	return api.WebhookEventType{
		Object: "webhook_event_type", Type: api.EventName(t.Type), Description: t.Description,
		PartnerEligible: t.PartnerEligible, Example: t.Example,
	}
}
