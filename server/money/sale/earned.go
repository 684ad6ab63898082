package sale

import (
	"context"

	"rail/gen/db"
	"rail/server/opt"
	"rail/server/work"
)

// Earned returns the commissions that rules made of sales, by the ids of the sales. Voided and rejected ones are left
// out.
func Earned(ctx context.Context, u *work.Unit, ids []string) (map[string]db.SaleCommissionAmountsRow, error) {
	rows, err := queries.SaleCommissionAmounts(ctx, u.DB(), db.SaleCommissionAmountsParams{SaleIds: ids, OrgID: u.OrgID})
	out := make(map[string]db.SaleCommissionAmountsRow, len(rows))
	for _, r := range rows {
		out[opt.Value(r.SaleID)] = r
	}
	return out, err
}
