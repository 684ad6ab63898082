package handlers

import (
	"context"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
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

// tallyOf counts the rows of a list by what of one program they belong to; what has
// none is not among them.
func tallyOf(ctx context.Context, tx pgtx.DBTX, u *work.Unit, list, programID string, owners []string) (map[string]int64, error) {
	rows, err := queries.TallyOwners(ctx, tx, db.TallyOwnersParams{ProgramID: programID, OrgID: u.OrgID, List: list, OwnerIds: owners})
	counts := make(map[string]int64, len(rows))
	for _, r := range rows {
		counts[r.OwnerID] = r.Total
	}
	return counts, err
}
