package sale_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/ident"
	"rail/server/money/sale"
	"rail/server/problem"
	"rail/server/program/customer"
	"rail/server/work"
)

// TestMain limits the property test, whose steps are requests, so that the whole suite stays fast.
// -rapid.checks=1000 runs more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}

// shop is a tenant whose flow pays 20 percent.
type shop struct {
	*worktest.Tenant
	partner db.Partner
}

func open(t *testing.T) shop {
	t.Helper()
	x := worktest.New(t)
	x.Flow("new_payment", "percent", 2000)
	return shop{x, x.Partner("ann")}
}

func (x shop) payment(charge string) sale.Payment {
	return sale.Payment{
		ProgramID: x.Program.ID, ExternalChargeID: charge, Processor: "api", AmountMinor: 10_000, Currency: "usd",
		Payer: sale.Payer{ExternalCustomerID: new("c1"), PartnerID: &x.partner.ID},
	}
}

func (x shop) record(p sale.Payment) (out sale.Outcome) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		out, err = sale.Service{Customers: customer.Service{}}.Record(ctx, u, p)
		return err
	})
	return out
}

func (x shop) refund(r sale.RefundInput) (done sale.Refunded) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		done, err = sale.Refund(ctx, u, r)
		return err
	})
	return done
}

// commissions returns kind, status and amount of each, oldest first.
func (x shop) commissions() []string {
	x.Helper()
	return worktest.Rows[string](x.Tenant,
		"SELECT concat_ws(' ', kind, status, amount_minor) FROM commissions ORDER BY created_at, id")
}

// pay marks the commissions as paid, as a payout would.
func (x shop) pay() {
	x.Helper()
	batch, payout := ident.New(ident.Batch), ident.New(ident.Payout)
	for _, sql := range []string{
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
			SELECT '` + batch + `', org_id, id, '2026-03-01', '2026-03-31Z', created_at, created_at FROM programs`,
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status,
				period_month, period_end, due_at, paid_at, created_at, updated_at)
			SELECT '` + payout + `', org_id, program_id, partner_id, '` + batch + `', amount_minor, currency, 'paid',
				'2026-03-01', '2026-03-31Z', '2026-04-30Z', '2026-04-30Z', '2026-04-01Z', '2026-04-01Z' FROM commissions`,
		`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket,
				amount_minor, created_at)
			SELECT org_id, program_id, partner_id, id, currency, 'due', 'paid', amount_minor, now() FROM commissions`,
		`UPDATE commissions SET status = 'paid', payout_id = '` + payout + `'`,
	} {
		_, err := x.Pool.Exec(x.Context(), sql)
		require.NoError(x, err)
	}
}

// TestRefund checks the effects of refunds on a sale of 10000 that earned 2000.
func TestRefund(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		paid     bool
		amounts  []int64 // 0 for the whole rest
		want     []string
		voided   int64 // by the last refund
		clawback int64
	}{
		{name: "a part", amounts: []int64{2500}, want: []string{"referral approved 1500"}},
		{name: "all", amounts: []int64{0}, want: []string{"referral voided 2000"}, voided: 1},
		{
			name: "thirds sum to the whole", amounts: []int64{3333, 3333, 3334},
			want: []string{"referral voided 667"}, voided: 1,
		},
		{name: "less than a unit", amounts: []int64{1}, want: []string{"referral approved 2000"}},
		{
			name: "a part of what is paid", paid: true, amounts: []int64{2500},
			want: []string{"referral paid 2000", "clawback due -500"}, clawback: 500,
		},
		{
			name: "what is paid, in two steps", paid: true, amounts: []int64{3333, 0},
			want: []string{"referral paid 2000", "clawback due -667", "clawback due -1333"}, clawback: 1333,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := open(t)
			sold := x.record(x.payment("ch_1"))
			require.Equal(t, []string{"referral approved 2000"}, x.commissions())
			if c.paid {
				x.pay()
			}
			var last sale.Refunded
			for _, amount := range c.amounts {
				x.Now = x.Now.Plus(time.Second)
				in := sale.RefundInput{SaleID: sold.Sale.ID, AmountMinor: &amount}
				if amount == 0 {
					in.AmountMinor = nil
				}
				last = x.refund(in)
			}
			require.Equal(t, c.want, x.commissions())
			require.Equal(t, []int64{c.voided, c.clawback}, []int64{last.VoidedCommissions, last.ClawbackMinor})
			require.Len(t, worktest.Rows[string](x.Tenant, "SELECT id FROM audit_log_entries"), len(c.amounts))
		})
	}
}

func TestRefundIsRefused(t *testing.T) {
	t.Parallel()
	x := open(t)
	sold := x.record(x.payment("ch_1")).Sale
	for param, r := range map[string]sale.RefundInput{
		"amount_minor": {SaleID: sold.ID, AmountMinor: new(int64(10_001))},
		"refunded_at":  {SaleID: sold.ID, At: new(x.Now.Plus(time.Second))},
	} {
		x.Refused(problem.ParameterInvalid, param, func(ctx context.Context, u *work.Unit) error {
			_, err := sale.Refund(ctx, u, r)
			return err
		})
	}
	require.Equal(t, []string{"referral approved 2000"}, x.commissions())
	x.refund(sale.RefundInput{SaleID: sold.ID})
	again := x.refund(sale.RefundInput{SaleID: sold.ID})
	require.True(t, again.Repeated)
	require.Zero(t, *again.AmountMinor)
}

// A refund that arrives before its sale waits for it, and is applied once.
func TestRefundWaitsForItsSale(t *testing.T) {
	t.Parallel()
	x := open(t)
	arrive := func() (done sale.Refunded) {
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			done, err = sale.RefundCharge(ctx, u, x.Program.ID, "ch_1", sale.RefundInput{
				ExternalID: new("re_1"), AmountMinor: new(int64(5000)),
			})
			return err
		})
		return done
	}
	require.Equal(t, db.RefundStatusWaiting, arrive().Status)
	require.True(t, arrive().Repeated)
	out := x.record(x.payment("ch_1"))
	require.Len(t, out.Refunds, 1)
	require.Equal(t, []int64{5000, 5000}, []int64{out.Sale.AmountMinor, out.Sale.RefundedMinor})
	require.Equal(t, []string{"referral approved 1000"}, x.commissions())
	require.Equal(t, db.RefundStatusApplied, arrive().Status)
	require.Equal(t, []string{"referral approved 1000"}, x.commissions())
}

// A charge is recorded once: a repeated report changes nothing, and names the differences.
func TestRecordOnce(t *testing.T) {
	t.Parallel()
	x := open(t)
	first := x.record(x.payment("ch_1"))
	require.Equal(t, []any{"USD", true}, []any{first.Sale.Currency, first.Sale.IsFirstSale})
	other := x.payment("ch_1")
	other.AmountMinor, other.ProductID = 1, new("p")
	again := x.record(other)
	require.Equal(t, []any{true, first.Sale.ID}, []any{again.Repeated, again.Sale.ID})
	require.Equal(t, []string{"amount_minor", "product_id"}, again.Differs)
	require.False(t, x.record(x.payment("ch_2")).Sale.IsFirstSale)
	require.Len(t, x.commissions(), 2)
}
