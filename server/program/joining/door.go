package joining

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// PageName returns the name of a program's join page in its address: the subdomain, or the id if an older
// program has the same subdomain.
func PageName(ctx context.Context, tx pgtx.DBTX, orgID, programID string) (string, error) {
	p, err := queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: programID, OrgID: orgID})
	if err != nil {
		return programID, err
	}
	first, err := queries.JoinProgram(ctx, tx, p.Subdomain)
	if err != nil || first.ID != p.ID {
		return programID, err
	}
	return p.Subdomain, nil
}
