package check

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const (
	orgID     = "org_a"
	programID = "prg_a"
)

var now = clock.System{}.Now()

// books is a database with rows for every equation.
type books struct {
	t    *testing.T
	ctx  context.Context
	pool *pgxpool.Pool
}

func newBooks(t *testing.T) *books {
	t.Helper()
	b := &books{t, t.Context(), pgtest.New(t)}
	b.exec(`INSERT INTO organizations VALUES ('org_a', 'Audit', NULL, now())`)
	b.exec(`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days, url_params,
		commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods, block_self_referrals,
		blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
		SELECT x, 'org_a', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0, 'net_30', '{}', true, '{}', false, false, now(), now()
		FROM unnest('{prg_a,prg_b}'::text[]) x`)
	b.exec(`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
		SELECT x, 'org_a', 'prg_a', x || '@example.com', translate(x, '_', '-'), 'active', now(), now() FROM unnest('{part_a,part_b,part_gone}'::text[]) x`)
	b.exec(`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at) VALUES ('batch_a', 'org_a', 'prg_a', '2026-01-01', now(), now(), now())`)
	b.exec(`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, period_month, period_end, due_at, paid_at, created_at, updated_at)
		VALUES ('pyt_a', 'org_a', 'prg_a', 'part_a', 'batch_a', 300, 'USD', 'paid', '2026-01-01', now(), now(), now(), now(), now())`)
	b.fill()
	return b
}

func open(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func (b *books) exec(sql string, args ...any) {
	b.t.Helper()
	_, err := b.pool.Exec(b.ctx, sql, args...)
	require.NoError(b.t, err, sql)
}

// fill writes sales and commissions of every kind and state.
func (b *books) fill() {
	b.sale("sale_1", "cus_1", "part_a", true, 1000)
	b.sale("sale_2", "cus_1", "part_a", false, 1005)
	b.sale("sale_3", "cus_2", "part_b", true, 999)
	b.sale("sale_4", "cus_3", "part_b", true, 999_999_999_999)
	b.sale("sale_gone", "cus_gone", "part_gone", true, 100)
	b.earn(commission{id: "com_due", sale: "sale_1", partner: "part_a", amount: 300, revenue: 1000, rate: 3000}, "pending",
		"approved", "due", "paid")
	b.exec(`UPDATE commissions SET payout_id = 'pyt_a', status = 'paid' WHERE id = 'com_due'`)
	b.earn(commission{id: "com_half", sale: "sale_2", partner: "part_a", amount: 503, revenue: 1005, rate: 5000},
		"pending")
	b.earn(commission{id: "com_void", sale: "sale_3", partner: "part_b", amount: 300, revenue: 999, rate: 3000}, "pending",
		"voided")
	b.earn(commission{
		id: "com_big", sale: "sale_4", partner: "part_b", amount: 4_999_999_999_995, revenue: 999_999_999_999, rate: 50000,
	}, "due")
	b.earn(commission{id: "com_signup", partner: "part_b", amount: 250}, "approved")
	b.earn(commission{id: "com_claw", kind: "clawback", partner: "part_a", amount: -100}, "due")
	b.exec(`UPDATE commissions SET metadata = '{"commission_id": "com_other"}' WHERE id = 'com_claw'`)
	b.earn(commission{id: "com_gone", sale: "sale_gone", partner: "part_gone", amount: 30, revenue: 100, rate: 3000},
		"due", "voided")
	b.earn(commission{id: "com_part", kind: "referral", partner: "part_b", amount: 1000, revenue: 2000, rate: 5000},
		"pending")
	b.partialRefund()
	b.deletePartner()
}

// partialRefund takes back a third of a commission.
func (b *books) partialRefund() {
	b.exec(`UPDATE commissions SET amount_minor = 667, revenue_minor = 1334 WHERE id = 'com_part'`)
	b.append("com_part", "part_b", "pending", "sink", 333)
}

func (b *books) deletePartner() {
	b.append("com_gone", "part_gone", "sink", "removed", 30)
	b.exec(`DELETE FROM commissions WHERE partner_id = 'part_gone'`)
	b.exec(`UPDATE sales SET partner_id = NULL WHERE partner_id = 'part_gone'`)
	b.exec(`DELETE FROM partners WHERE id = 'part_gone'`)
}

// issue issues the statement of the paid payout.
func (b *books) issue() {
	b.t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(b.t, err)
	u := work.NewRun(b.pool, work.Actor{Kind: work.Job, ID: "test"}, now).For(orgID)
	require.NoError(b.t, u.Within(b.ctx, func(u *work.Unit) error {
		p, err := queries.PayoutGet(b.ctx, u.Tx, db.PayoutGetParams{ID: "pyt_a", OrgID: orgID})
		if err != nil {
			return err
		}
		return payout.Issue(b.ctx, u, keeper, p)
	}))
}

func (b *books) append(commissionID, partnerID, from, to string, amount int64) {
	b.t.Helper()
	require.NoError(b.t, ledger.Append(b.ctx, b.pool, ledger.Entry{
		OrgID: orgID, ProgramID: programID, PartnerID: partnerID, CommissionID: commissionID, Currency: "USD",
		From: from, To: to, AmountMinor: amount, At: now,
	}))
}

func (b *books) sale(id, customer, partner string, first bool, amount int64) {
	b.t.Helper()
	require.NoError(b.t, queries.SaleInsert(b.ctx, b.pool, db.SaleInsertParams{
		ID: id, OrgID: orgID, ProgramID: programID, CustomerID: customer, PartnerID: &partner, ExternalChargeID: "ch_" + id,
		Processor: "api", AmountMinor: amount, Currency: "USD", BillingType: "one_time", IsFirstSale: first,
		ActivityOutcome: "commission_created", Warnings: []byte("[]"), OccurredAt: now, CreatedAt: now, UpdatedAt: now,
	}))
}

type commission struct {
	id                    string
	kind                  db.CommissionKind
	sale, partner         string
	amount, revenue, rate int64
}

// earn writes a commission and moves it through the states.
func (b *books) earn(k commission, states ...db.CommissionStatus) {
	b.t.Helper()
	p := db.CommissionInsertParams{
		ID: k.id, OrgID: orgID, ProgramID: programID, PartnerID: k.partner, Kind: "referral", AmountMinor: k.amount,
		Currency: "USD", Status: states[0], CreatedAt: now, UpdatedAt: now,
	}
	percent, fixed := db.RateTypePercent, db.RateTypeFixed
	switch {
	case k.kind == "clawback":
		p.Kind = k.kind
	case k.rate > 0:
		p.RateType, p.RateValue, p.RevenueMinor = &percent, &k.rate, &k.revenue
	default:
		p.RateType, p.RateValue = &fixed, &k.amount
	}
	if k.sale != "" {
		p.SaleID = &k.sale
		require.NoError(b.t, b.pool.QueryRow(b.ctx, "SELECT customer_id FROM sales WHERE id = $1", k.sale).Scan(&p.CustomerID))
	}
	require.NoError(b.t, queries.CommissionInsert(b.ctx, b.pool, p))
	l := ledger.Commission{
		OrgID: orgID, ProgramID: programID, PartnerID: k.partner, ID: k.id, Currency: "USD", Status: states[0],
		AmountMinor: k.amount, At: now,
	}
	require.NoError(b.t, ledger.Earn(b.ctx, b.pool, l))
	for _, next := range states[1:] {
		from := l.Status
		l.Status = next
		require.NoError(b.t, ledger.Move(b.ctx, b.pool, from, l))
		if next != "paid" {
			b.exec(`UPDATE commissions SET status = $2, voided_at = CASE WHEN $2 = 'voided' THEN now() END,
				void_reason = CASE WHEN $2 = 'voided' THEN 'test' END WHERE id = $1`, k.id, next)
		}
	}
}
