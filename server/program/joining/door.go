package joining

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

// Door is how the address of a program's join page names it: by its subdomain, or by its id where an older program
// has the same subdomain.
func Door(ctx context.Context, tx pgtx.DBTX, orgID, programID string) (string, error) {
	p, err := queries.ProgramGet(ctx, tx, db.ProgramGetParams{ID: programID, OrgID: orgID})
	if err != nil {
		return programID, err
	}
	first, err := queries.JoinDoor(ctx, tx, p.Subdomain)
	if err != nil || first.ID != p.ID {
		return programID, err
	}
	return p.Subdomain, nil
}
