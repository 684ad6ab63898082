package handlers

import (
	"context"
	"encoding/json"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/inbound/inbox"
	"rail/server/list"
	"rail/server/work"
)

// ListInboxEvents lists processors' events, newest first.
func (s *Server) ListInboxEvents(ctx context.Context,
	r api.ListInboxEventsRequestObject) (api.ListInboxEventsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.InboxEventList{
		ConnectionID:    p.ConnectionID,
		Status:          list.Any(p.Status),
		Type:            p.Type,
		ReasonCode:      p.ReasonCode,
		ExternalEventID: p.ExternalEventID,
		CreatedAfter:    q.date("created_after", p.CreatedAfter),
		CreatedBefore:   q.date("created_before", p.CreatedBefore),
	}, toInboxEvent)
	return api.ListInboxEvents200JSONResponse(out), err
}

// RetrieveInboxEvent returns one event, with its body if requested.
func (s *Server) RetrieveInboxEvent(ctx context.Context,
	r api.RetrieveInboxEventRequestObject) (api.RetrieveInboxEventResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.InboxGet(ctx, u.Short(), db.InboxGetParams{ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if err := u.CheckProgram(row.ProgramID); err != nil {
		return nil, err
	}
	e := toInboxEvent(row)
	payer, err := queries.InboxPayer(ctx, u.Short(), db.InboxPayerParams{EventID: row.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	if len(payer) > 0 {
		e.ExternalCustomerID = &payer[0]
	}
	if wants(r.Params.Include, api.InboxEventIncludePayload) {
		body, err := s.Keeper.Open(row.Payload, inbox.PayloadPlace(row.ID))
		if err != nil {
			return nil, err
		}
		e.Payload = object(body)
	}
	return api.RetrieveInboxEvent200JSONResponse(e), nil
}

// object returns a JSON object unchanged, and null for other values.
func object(body []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(body, &members) != nil || members == nil {
		return json.RawMessage("null")
	}
	return body
}

// ReplayInboxEvent processes an event again.
func (s *Server) ReplayInboxEvent(ctx context.Context,
	r api.ReplayInboxEventRequestObject) (api.ReplayInboxEventResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.InboxReplay(ctx, u.DB(), db.InboxReplayParams{Now: u.Now, ID: r.ID, OrgID: u.OrgID})
	if err != nil {
		return nil, err
	}
	return api.ReplayInboxEvent200JSONResponse(toInboxEvent(row)), u.CheckProgram(row.ProgramID)
}

// ResolveInboxEvent restores the money of a failed refund.
func (s *Server) ResolveInboxEvent(ctx context.Context,
	r api.ResolveInboxEventRequestObject) (api.ResolveInboxEventResponseObject, error) {
	row, err := inbox.Resolve(ctx, work.From(ctx), s.Keeper, r.ID)
	if err != nil {
		return nil, err
	}
	return api.ResolveInboxEvent200JSONResponse(toInboxEvent(row)), nil
}

// toInboxEvent converts an event without its body.
func toInboxEvent(e db.InboxEvent) api.InboxEvent {
	return api.InboxEvent{
		ID:              e.ID,
		Object:          "inbox_event",
		ProgramID:       e.ProgramID,
		ConnectionID:    e.ConnectionID,
		Processor:       api.ConnectedProcessor(e.Processor),
		ExternalEventID: e.ExternalEventID,
		Type:            e.Type,
		Livemode:        e.Livemode,
		Status:          api.InboxEventStatus(e.Status),
		ReasonCode:      e.ReasonCode,
		Reason:          e.Reason,
		CustomerID:      e.CustomerID,
		SaleID:          e.SaleID,
		RefundID:        e.RefundID,
		Attempts:        e.Attempts,
		ReceivedAt:      e.CreatedAt,
		ProcessedAt:     e.ProcessedAt,
	}
}
