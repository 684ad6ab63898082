package handlers

import (
	"context"
	"encoding/json"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/work"
)

// entry is a line of the audit log. before and after hold what changed.
type entry struct {
	programID, action, targetID string
	reason                      *string
	before, after               any
}

// audit writes the line with the change that it tells of.
func audit(ctx context.Context, c *work.Call, e entry) error {
	before, err := snapshot(e.before)
	if err != nil {
		return err
	}
	after, err := snapshot(e.after)
	if err != nil {
		return err
	}
	return queries.AuditInsert(ctx, c.Later(), db.AuditInsertParams{
		ID: ident.New(ident.Audit), OrgID: c.Key.OrgID, ProgramID: e.programID, Action: e.action, TargetID: e.targetID,
		APIKeyID: orNil(c.Key.ID), RequestID: &c.RequestID, Reason: e.reason, Before: before, After: after, CreatedAt: c.Now,
	})
}

func snapshot(v any) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}
