package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/list"
	"rail/server/opt"
	"rail/server/outbound/webhook"
	"rail/server/work"
)

// ListWebhookDeliveries lists the last deliveries to an endpoint, newest first, each with the exact
// body. The log is short, so it is read as a whole and paged in memory.
func (s *Server) ListWebhookDeliveries(ctx context.Context,
	r api.ListWebhookDeliveriesRequestObject) (api.ListWebhookDeliveriesResponseObject, error) {
	rows, err := webhook.Log(ctx, work.From(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	all, p := mapped(rows, toDelivery), r.Params
	id := func(d api.WebhookDelivery) string { return d.ID }
	found, err := list.Slice(all, id, webhook.LogLength, list.In("", p.Limit, p.StartingAfter, p.EndingBefore))
	return api.ListWebhookDeliveries200JSONResponse{
		Data: found.Rows, HasMore: found.HasMore, TotalCount: found.Total,
	}, err
}

// RetrieveWebhookDelivery returns one delivery with the exact body.
func (s *Server) RetrieveWebhookDelivery(ctx context.Context,
	r api.RetrieveWebhookDeliveryRequestObject) (api.RetrieveWebhookDeliveryResponseObject, error) {
	row, err := webhook.Delivery(ctx, work.From(ctx), r.ID)
	return api.RetrieveWebhookDelivery200JSONResponse(toDelivery(row)), err
}

// PingWebhookEndpoint sends a test event now and returns the delivery with the
// receiver's answer.
func (s *Server) PingWebhookEndpoint(ctx context.Context,
	r api.PingWebhookEndpointRequestObject) (api.PingWebhookEndpointResponseObject, error) {
	kind := ""
	if r.Body != nil {
		kind = string(opt.Value(r.Body.EventType))
	}
	row, err := s.Webhooks.Ping(ctx, work.From(ctx), r.ID, kind)
	return api.PingWebhookEndpoint200JSONResponse(toDelivery(row)), err
}

// ReplayWebhookDelivery queues a delivery again, under a new id.
func (s *Server) ReplayWebhookDelivery(ctx context.Context,
	r api.ReplayWebhookDeliveryRequestObject) (api.ReplayWebhookDeliveryResponseObject, error) {
	row, err := s.Webhooks.Replay(ctx, work.From(ctx), r.ID)
	return api.ReplayWebhookDelivery202JSONResponse(toDelivery(row)), err
}

// ReplayWebhookEndpoint queues all failed deliveries since a time again, or all of a period.
func (s *Server) ReplayWebhookEndpoint(ctx context.Context,
	r api.ReplayWebhookEndpointRequestObject) (api.ReplayWebhookEndpointResponseObject, error) {
	n, err := s.Webhooks.ReplayMany(ctx, work.From(ctx), r.ID, webhook.Window(*r.Body))
	return api.ReplayWebhookEndpoint202JSONResponse{Object: "webhook_replay", Queued: n}, err
}

// toDelivery converts a delivery with the exact body.
func toDelivery(row db.WebhookLogRow) api.WebhookDelivery {
	d := row.WebhookDelivery
	out := api.WebhookDelivery{
		ID: d.ID, Object: "webhook_delivery", WebhookEndpointID: d.EndpointID, EventID: d.EventID,
		EventType: api.EventName(d.EventType), Status: api.WebhookDeliveryStatus(d.Status), Attempts: int64(d.Attempts),
		Error: d.Error, DurationMs: d.DurationMs, RequestBody: row.Sent, IsTest: d.IsTest, ReplayOf: d.ReplayOf,
		LastAttemptAt: d.LastAttemptAt, NextAttemptAt: d.NextAttemptAt, CreatedAt: d.CreatedAt,
	}
	if d.ResponseCode != nil {
		out.ResponseCode = new(int64(*d.ResponseCode))
	}
	if d.NextAttemptAt != nil && d.NextAttemptAt.Before(d.CreatedAt.Time) { // it is due
		out.NextAttemptAt = &d.CreatedAt
	}
	return out
}
