package sale

import (
	"context"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/work"
)

// Earned returns the commissions that rules made of sales, by the ids of the sales. Voided and rejected ones are left
// out.
func Earned(ctx context.Context, u *work.Unit, ids []string) (map[string]db.SalesEarnedRow, error) {
	rows, err := queries.SalesEarned(ctx, u.DB(), db.SalesEarnedParams{SaleIds: ids, OrgID: u.OrgID})
	out := make(map[string]db.SalesEarnedRow, len(rows))
	for _, r := range rows {
		out[opt.Value(r.SaleID)] = r
	}
	return out, err
}
