package auditlog

import (
	"context"
	"slices"

	"rail/gen/db"
	"rail/server/work"
)

// maxNames bounds the ids of one statement.
const maxNames = 1000

// Names returns the names by which people know the organization's objects, by their ids.
func Names(ctx context.Context, u *work.Unit, ids []string) (map[string]string, error) {
	ids = slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(ids))), func(id string) bool { return id == "" })
	out := make(map[string]string, len(ids))
	for some := range slices.Chunk(ids, maxNames) {
		rows, err := db.New().AuditNames(ctx, u.DB(), db.AuditNamesParams{OrgID: u.OrgID, Ids: some})
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			out[r.ID] = r.Name
		}
	}
	return out, nil
}
