package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/inbound/connection"
	"rail/server/list"
	"rail/server/work"
)

// ListProcessorConnections lists the connections of a program, newest first.
func (s *Server) ListProcessorConnections(ctx context.Context,
	r api.ListProcessorConnectionsRequestObject) (api.ListProcessorConnectionsResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.ConnectionList{Status: list.Any(p.Status)}, s.toConnection)
	return api.ListProcessorConnections200JSONResponse(out), err
}

// RetrieveProcessorConnection returns one connection.
func (s *Server) RetrieveProcessorConnection(ctx context.Context,
	r api.RetrieveProcessorConnectionRequestObject) (api.RetrieveProcessorConnectionResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.ConnectionGet(ctx, u.Short(), db.ConnectionGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, s.toConnection(row), row.ProgramID, err)
	return api.RetrieveProcessorConnection200JSONResponse(out), err
}

// toConnection converts a connection without its secrets.
func (s *Server) toConnection(c db.ProcessorConnection) api.ProcessorConnection {
	return api.ProcessorConnection{
		ID: c.ID, Object: "processor_connection", ProgramID: c.ProgramID, Processor: api.ConnectedProcessor(c.Processor),
		Livemode: c.Livemode, URL: connection.URL(s.BaseURL, c), Status: api.ProcessorConnectionStatus(c.Status),
		RecordDirect: c.RecordDirect, OutsideCheckout: c.OutsideCheckout, LastEventAt: c.LastEventAt,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}
