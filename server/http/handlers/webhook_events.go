package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/outbound/webhook"
	"rail/server/work"
)

// FollowEvents returns the events after a cursor, oldest first.
func (s *Server) FollowEvents(ctx context.Context,
	r api.FollowEventsRequestObject) (api.FollowEventsResponseObject, error) {
	limit := webhook.FeedLength
	if r.Params.Limit != nil {
		limit = int(*r.Params.Limit)
	}
	feed, err := s.Webhooks.Follow(ctx, work.From(ctx), opt.Value(r.Params.After), limit)
	return api.FollowEvents200JSONResponse{
		Object: "event_feed", Data: mapped(feed.Events, toFollowedEvent), Cursor: feed.Cursor, CaughtUp: feed.CaughtUp,
	}, err
}

// RetrieveEvent returns one event with the body as sent.
func (s *Server) RetrieveEvent(ctx context.Context,
	r api.RetrieveEventRequestObject) (api.RetrieveEventResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.EventGet(ctx, u.Short(), db.EventGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toFollowedEvent(db.EventsSinceRow(row)), row.ProgramID, err)
	return api.RetrieveEvent200JSONResponse(out), err
}

// toFollowedEvent converts an event with the body as sent.
func toFollowedEvent(e db.EventsSinceRow) api.FollowedEvent {
	return api.FollowedEvent{
		ID:          e.ID,
		Object:      "event",
		ProgramID:   e.ProgramID,
		Type:        api.EventName(e.Type),
		RequestBody: e.Body,
		CreatedAt:   e.CreatedAt,
	}
}
