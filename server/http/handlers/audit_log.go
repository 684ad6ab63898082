package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/opt"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// ListAuditLogEntries lists the audit log of a program, newest first. Entries remain after their
// object is deleted.
func (s *Server) ListAuditLogEntries(ctx context.Context,
	r api.ListAuditLogEntriesRequestObject) (api.ListAuditLogEntriesResponseObject, error) {
	p := r.Params
	q := newQuery(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore)
	out, err := readPage(ctx, q, db.AuditLogList{
		TargetID: p.TargetID, Action: p.Action,
		CreatedAfter: q.date("created_after", p.CreatedAfter), CreatedBefore: q.date("created_before", p.CreatedBefore),
	}, toAuditLogEntry)
	return api.ListAuditLogEntries200JSONResponse(out), err
}

// RetrieveAuditLogEntry returns one entry of a program.
func (s *Server) RetrieveAuditLogEntry(ctx context.Context,
	r api.RetrieveAuditLogEntryRequestObject) (api.RetrieveAuditLogEntryResponseObject, error) {
	u := work.From(ctx)
	row, err := queries.AuditLogEntryGet(ctx, u.Short(), db.AuditLogEntryGetParams{ID: r.ID, OrgID: u.OrgID})
	out, err := complete(ctx, toAuditLogEntry(row), row.ProgramID, err)
	return api.RetrieveAuditLogEntry200JSONResponse(out), err
}

// toAuditLogEntry converts an entry. api_key_id is set only for keys; actor_type and actor_id are set
// for every kind of actor.
func toAuditLogEntry(e db.AuditLogEntry) api.AuditLogEntry {
	actor := auditlog.ActorOf(e)
	return api.AuditLogEntry{
		ID: e.ID, Object: "audit_log_entry", Action: e.Action, TargetID: e.TargetID, APIKeyID: e.APIKeyID,
		ActorType: api.AuditLogEntryActorType(actor.Kind), ActorID: opt.OrNil(actor.ID), RequestID: e.RequestID,
		Reason: e.Reason, Before: e.Before, After: e.After, CreatedAt: e.CreatedAt,
		Client: e.Client,
	}
}
