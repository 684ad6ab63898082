package partner

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/work"
)

// A partner with a payout in flight cannot be deleted; afterwards both can.
func TestDelete(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	p := x.create(x.candidate("ada@example.com"))
	batch := ident.New(ident.Batch)
	x.sql(`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
		VALUES ($1, $2, $3, '2026-02-01', $4, $4, $4)`, batch, x.OrgID, x.Program.ID, x.Now)
	x.sql(`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, rail,
		period_month, period_end, due_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 500, 'USD', 'processing', 'file', '2026-02-01', $6, $6, $6, $6)`,
		ident.New(ident.Payout), x.OrgID, x.Program.ID, p.ID, batch, x.Now)
	x.customer(&p.ID, nil)
	remove := func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, p.ID) }
	left := func(table string) int64 {
		return worktest.Rows[int64](x.Tenant, "SELECT count(*) FROM "+table+" WHERE partner_id = $1", p.ID)[0]
	}

	x.Refused(problem.PayoutInFlight, "", remove)
	require.Equal(t, []int64{1, 1, 1}, []int64{left("payouts"), left("customers"), left("tracking_values")})
	x.sql("UPDATE payouts SET status = 'failed'")
	x.Must(remove)
	require.Equal(t, []int64{0, 0, 0}, []int64{left("payouts"), left("customers"), left("tracking_values")})
	require.Equal(t, []string{"affiliate.created", "affiliate.deleted"}, x.Events())
	require.Equal(t, "ada", x.create(x.candidate("ada@example.com")).Handle, "its handle and email are free again")
}
