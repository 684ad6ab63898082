package handlers

import (
	"cmp"
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// ListAuditLogEntries lists who did what in a program, newest first.
func (s *Server) ListAuditLogEntries(ctx context.Context, r api.ListAuditLogEntriesRequestObject) (api.ListAuditLogEntriesResponseObject, error) {
	u, p := work.From(ctx), r.Params
	org := u.OrgID
	tallied := p.TargetID == nil
	rows, err := list(ctx, u, paging{programID: p.ProgramID, limit: p.Limit, startingAfter: p.StartingAfter, endingBefore: p.EndingBefore}, lister[position, db.AuditLogEntry]{
		cursor: func(ctx context.Context, tx pgtx.DBTX, id string) (position, error) {
			row, err := queries.AuditLogCursor(ctx, tx, db.AuditLogCursorParams{ID: id, ProgramID: p.ProgramID, OrgID: org, TargetID: p.TargetID, Action: p.Action})
			return position{row.CreatedAt, row.ID}, err
		},
		page: byTime(func(ctx context.Context, tx pgtx.DBTX, b bounds) ([]db.AuditLogEntry, error) {
			return queries.AuditLogPage(ctx, tx, db.AuditLogPageParams{
				ProgramID: p.ProgramID, OrgID: org, TargetID: p.TargetID, Action: p.Action,
				AfterAt: b.afterAt, AfterID: b.afterID, BeforeAt: b.beforeAt, BeforeID: b.beforeID, Lim: b.lim,
			})
		}),
		count: func(ctx context.Context, tx pgtx.DBTX) (int64, error) {
			return queries.AuditLogCount(ctx, tx, db.AuditLogCountParams{ProgramID: p.ProgramID, OrgID: org, TargetID: p.TargetID, Action: p.Action, Most: atMost(tallied)})
		},
		total: when(tallied, rowsOf{"audit_log_entries", p.ProgramID, org, nil, either(p.Action, nil), nil}.count),
	})
	if err != nil {
		return nil, err
	}
	return api.ListAuditLogEntries200JSONResponse{Data: mapped(rows.rows, toAuditLogEntry), HasMore: rows.hasMore, TotalCount: rows.total}, nil
}

func toAuditLogEntry(e db.AuditLogEntry) api.AuditLogEntry {
	return api.AuditLogEntry{
		ID: e.ID, Object: "audit_log_entry", Action: e.Action, TargetID: e.TargetID, APIKeyID: e.APIKeyID,
		ActorType: api.AuditLogEntryActorType(e.ActorType), ActorID: cmp.Or(e.ActorID, e.APIKeyID), RequestID: e.RequestID,
		Reason: e.Reason, Before: e.Before, After: e.After, CreatedAt: e.CreatedAt,
	}
}
