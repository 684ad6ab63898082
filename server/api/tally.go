package api

import (
	"context"

	"rail/gen/db"
	"rail/server/pgtx"
)

// rowsOf is the rows of a list that tallies count.
type rowsOf struct {
	list, programID, orgID string
	ownerID                *string  // what they belong to; nil for all of the program
	statuses, kinds        []string // nil for any
}

func (r rowsOf) count(ctx context.Context, tx pgtx.DBTX) (int64, error) {
	return queries.TallyTotal(ctx, tx, db.TallyTotalParams{
		ProgramID: r.programID, OrgID: r.orgID, List: r.list, OwnerID: r.ownerID, Statuses: r.statuses, Kinds: r.kinds,
	})
}

// either joins what choices tells apart.
func either(one *string, several []string) []string {
	if one != nil {
		return []string{*one}
	}
	return several
}
