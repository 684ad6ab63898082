package check

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/money/report"
	"rail/server/secret"
)

// found returns the violated equations, once each.
func (b *books) found() []string {
	b.t.Helper()
	findings, err := Run(b.ctx, b.pool)
	require.NoError(b.t, err)
	var names []string
	for _, f := range findings {
		require.NotEmpty(b.t, f.What, f)
		require.NotEmpty(b.t, f.Message, f)
		b.t.Log(f)
		names = append(names, f.Equation)
	}
	return slices.Compact(names)
}

func TestEmpty(t *testing.T) {
	b := &books{t, t.Context(), pgtest.New(t)}
	require.Empty(t, b.found())
}

// The equations hold whatever part of the ledger is folded.
func TestClean(t *testing.T) {
	b := newBooks(t)
	require.NoError(t, ledger.NewFolder(b.pool).Fold(t.Context()))
	require.Empty(t, b.found())
	b.append("com_big", "part_b", "due", "sink", 4_999_999_999_995)
	b.exec(`UPDATE commissions SET status = 'voided', voided_at = now(), void_reason = 'x' WHERE id = 'com_big'`)
	require.Empty(t, b.found())
}

// unpaid allows a test to change paid payouts.
const unpaid = `ALTER TABLE payouts DISABLE TRIGGER payouts_paid_final`

// summed is the name of the equation on report sums.
const summed = "sums of reports"

// refund is a full refund of the sale sale_gone.
const refund = `INSERT INTO refunds (id, org_id, program_id, sale_id, status, amount_minor, currency, refunded_at, created_at, updated_at)
	SELECT 'rfd_a', s.org_id, s.program_id, s.id, 'applied', s.amount_minor, s.currency, now(), now(), now() FROM sales s WHERE s.id = 'sale_gone'`

// customers writes two customers with an external id each.
const customers = `WITH made AS (INSERT INTO customers (id, org_id, program_id, external_customer_id, status, tracked_by, lead_at, created_at, updated_at)
	SELECT 'cus_' || x, 'org_a', 'prg_a', 'x' || x, 'active', 'api', now(), now(), now() FROM generate_series(1, 2) x RETURNING *)
	INSERT INTO customer_external_ids SELECT program_id, org_id, external_customer_id, id, 'api', created_at FROM made`

// railed connects both programs to PayPal.
const railed = `INSERT INTO payout_rails (id, org_id, program_id, kind, livemode, status, methods, credentials, created_at, updated_at)
	SELECT translate(id, 'g', 'l'), org_id, id, 'paypal', true, 'active', '{paypal}', '', now(), now() FROM programs`

// merged merges the customer cus_old into cus_1.
const merged = `INSERT INTO customer_merges VALUES ('cus_old', 'org_a', 'prg_a', 'cus_1', now())`

// paidFinal allows a test to change the paid part of a commission.
const paidFinal = `ALTER TABLE commissions DISABLE TRIGGER commissions_paid_final`

// issued issues a payout's statement twice, as after a payment that was undone.
const issued = "statements"

// writable allows a test to change statements.
const writable = `ALTER TABLE statements DISABLE TRIGGER USER`

// mutable allows a test to rewrite the history.
const mutable = `ALTER TABLE ledger_entries DISABLE TRIGGER USER`

// corruption is damage that equations must find.
type corruption struct {
	name string
	sql  []string
	want []string
}

var corruptions = []corruption{
	{
		"balance changed", []string{`UPDATE balances SET pending_minor = pending_minor + 1 WHERE partner_id = 'part_a'`},
		[]string{"M01", "M02"},
	},
	{"balance lost", []string{`DELETE FROM balances WHERE partner_id = 'part_a'`}, []string{"M01", "M02"}},
	{
		"balance of nobody",
		[]string{
			`INSERT INTO balances (id, org_id, program_id, partner_id, currency, updated_at) VALUES ('bal_x', 'org_a', 'prg_a', 'part_a', 'EUR', now())`,
		},
		[]string{"M01"},
	},
	{
		"fold skipped entries", []string{`UPDATE balances SET folded_xid = pg_current_xact_id() WHERE partner_id = 'part_b'`},
		[]string{"M01", "M02"},
	},
	{
		"status without a move", []string{`UPDATE commissions SET status = 'due' WHERE id = 'com_half'`},
		[]string{"M01", "M05"},
	},
	{"commission lost", []string{`DELETE FROM commissions WHERE id = 'com_half'`}, []string{"M01", "M04", "outcome"}},
	{
		"ledger lost", []string{mutable, `DELETE FROM ledger_entries WHERE commission_id = 'com_claw'`},
		[]string{"M01", "M05"},
	},
	{"earned twice",
		[]string{mutable,
			`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
		SELECT org_id, program_id, partner_id, commission_id, currency, 'source', 'sink', amount_minor, now() FROM ledger_entries WHERE commission_id = 'com_half'`}, []string{"M03"}},
	{
		"other currency", []string{mutable, `UPDATE ledger_entries SET currency = 'EUR' WHERE commission_id = 'com_void'`},
		[]string{"M03"},
	},
	{
		"other owner", []string{mutable, `UPDATE ledger_entries SET org_id = 'org_b' WHERE commission_id = 'com_half'`},
		[]string{"M03"},
	},
	{"back to source",
		[]string{`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
		VALUES ('org_a', 'prg_a', 'part_b', 'com_void', 'USD', 'sink', 'source', 1, now())`}, []string{"M03", "M05"}},
	{"overdrawn",
		[]string{`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
		VALUES ('org_a', 'prg_a', 'part_a', 'com_half', 'USD', 'due', 'sink', 1, now())`}, []string{"M01", "M04", "M05"}},
	{
		"money of a deleted partner left", []string{mutable, `DELETE FROM ledger_entries WHERE to_bucket = 'removed'`},
		[]string{"M04"},
	},
	{"removed although there",
		[]string{`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
		VALUES ('org_a', 'prg_a', 'part_b', 'com_void', 'USD', 'sink', 'removed', 300, now())`}, []string{"M04", "M05"}},
	{
		"amount changed", []string{`UPDATE commissions SET amount_minor = 504 WHERE id = 'com_half'`},
		[]string{"M01", "M05", "M08"},
	},
	{
		"charge twice",
		[]string{
			`ALTER TABLE sales DROP CONSTRAINT sales_charge_key`,
			`UPDATE sales SET external_charge_id = 'ch_sale_1' WHERE id = 'sale_2'`,
		},
		[]string{"M06"},
	},
	{
		"two commissions of a sale",
		[]string{`DROP INDEX commissions_sale_key`, `UPDATE commissions SET sale_id = 'sale_1' WHERE id = 'com_signup'`},
		[]string{"M07", "credits"},
	},
	{
		"two commissions of a sign-up",
		[]string{
			`DROP INDEX commissions_signup_key`,
			`UPDATE commissions SET customer_id = 'cus_9' WHERE id IN ('com_part', 'com_signup')`,
		},
		[]string{"M07"},
	},
	{"revenue changed", []string{`UPDATE commissions SET revenue_minor = 1006 WHERE id = 'com_half'`}, nil},
	{
		"revenue changed further", []string{`UPDATE commissions SET revenue_minor = 1007 WHERE id = 'com_half'`},
		[]string{"M08"},
	},
	{"no revenue", []string{`UPDATE commissions SET revenue_minor = NULL WHERE id = 'com_half'`}, []string{"M08"}},
	{
		"no rate", []string{`UPDATE commissions SET rate_type = NULL, rate_value = NULL WHERE id = 'com_half'`},
		[]string{"M08"},
	},
	{"rate changed", []string{`UPDATE commissions SET rate_value = 49999 WHERE id = 'com_big'`}, []string{"M08"}},
	{"fixed rate changed", []string{`UPDATE commissions SET rate_value = 251 WHERE id = 'com_signup'`}, []string{"M08"}},
	{"fixed in another currency", []string{`UPDATE programs SET currency = 'EUR' WHERE id = 'prg_a'`}, []string{"M08"}},
	{"part too small", []string{`UPDATE commissions SET revenue_minor = 1300 WHERE id = 'com_part'`}, []string{"M08"}},
	{"sale in another currency", []string{`UPDATE sales SET currency = 'EUR' WHERE id = 'sale_2'`}, []string{"M09"}},
	{
		"sale of another program", []string{`UPDATE sales SET partner_id = NULL, program_id = 'prg_b' WHERE id = 'sale_2'`},
		[]string{"M09", "credits"},
	},
	{"payout changed", []string{unpaid, `UPDATE payouts SET amount_minor = 301 WHERE id = 'pyt_a'`}, []string{"M10"}},
	{
		"ineligible payout holds money",
		[]string{unpaid, `UPDATE payouts SET status = 'not_eligible', reason = 'x', paid_at = NULL WHERE id = 'pyt_a'`},
		[]string{"M10", "M13"},
	},
	{
		"payout of another partner",
		[]string{
			`ALTER TABLE commissions DROP CONSTRAINT commissions_payout_fkey`, unpaid,
			`UPDATE payouts SET partner_id = 'part_b' WHERE id = 'pyt_a'`,
		},
		[]string{"M12"},
	},
	{
		"payout not paid", []string{unpaid, `UPDATE payouts SET status = 'failed', paid_at = NULL WHERE id = 'pyt_a'`},
		[]string{"M13"},
	},
	{
		"refund without a void", []string{`UPDATE sales SET refunded_at = now() WHERE id = 'sale_1'`},
		[]string{"M16", "M19", "refunds"},
	},
	{
		"refunded, made by hand",
		[]string{
			`UPDATE sales SET refunded_at = now() WHERE id = 'sale_3'`,
			`UPDATE commissions SET sale_id = 'sale_3', kind = 'reward', rate_type = NULL, rate_value = NULL WHERE id = 'com_signup'`,
		},
		[]string{"M16", "M19", "refunds", "M33"},
	},
	{
		"refund without a row", []string{`UPDATE sales SET refunded_minor = refunded_minor + 1 WHERE id = 'sale_2'`},
		[]string{"refunds"},
	},
	{"refund of more than was given back", []string{refund}, []string{"refunds"}},
	{
		"clawed by nothing", []string{`UPDATE commissions SET clawed_minor = 1 WHERE status = 'paid' AND kind = 'referral'`},
		[]string{"M18"},
	},
	{"payout of nothing",
		[]string{`ALTER TABLE payouts DROP CONSTRAINT payouts_amount_check`,
			`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, reason, period_month, period_end, due_at, created_at, updated_at)
		SELECT 'pyt_0', org_id, program_id, partner_id, batch_id, 0, 'EUR', 'not_eligible', 'x', period_month, period_end, due_at, created_at, updated_at FROM payouts`}, []string{"M11"}},
	{"two payouts of a month",
		[]string{`DROP INDEX payouts_month_key`,
			`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, reason, period_month, period_end, due_at, created_at, updated_at)
		SELECT 'pyt_0', org_id, program_id, partner_id, batch_id, 1, currency, 'not_eligible', 'x', period_month, period_end, due_at, created_at, updated_at FROM payouts`}, []string{"M15"}},
	{
		"a rail of another program",
		[]string{railed, `UPDATE payouts SET rail = 'paypal', rail_id = 'prl_b', submissions = 1, submitted_at = now() WHERE id = 'pyt_a'`},
		[]string{"rails"},
	},
	{
		"a rail of another kind",
		[]string{railed, `UPDATE payouts SET rail = 'webhook', rail_id = 'prl_a', submissions = 1, submitted_at = now() WHERE id = 'pyt_a'`},
		[]string{"rails"},
	},
	{
		"paid without a submission", []string{railed, `UPDATE payouts SET rail = 'paypal', rail_id = 'prl_a' WHERE id = 'pyt_a'`},
		[]string{"rails"},
	},
	{
		"paid by its rail",
		[]string{railed, `UPDATE payouts SET rail = 'paypal', rail_id = 'prl_a', submissions = 1, submitted_at = now(),
			attention = 'reversed', attention_text = 'x', attention_at = now() WHERE id = 'pyt_a'`},
		nil,
	},
	{
		"attention of an earlier status",
		[]string{`UPDATE payouts SET attention = 'unclaimed', attention_text = 'x', attention_at = now() WHERE id = 'pyt_a'`},
		[]string{"rails"},
	},
	{
		"two payouts in a batch of PayPal",
		[]string{railed, `UPDATE payouts SET rail = 'paypal', rail_id = 'prl_a', submissions = 1, submitted_at = now(), external_id = 'B' WHERE id = 'pyt_a'`,
			`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, reason, period_month, period_end, due_at, rail, rail_id, external_id, created_at, updated_at)
		SELECT 'pyt_0', org_id, program_id, partner_id, batch_id, 1, 'EUR', 'not_eligible', 'x', period_month, period_end, due_at, rail, rail_id, external_id, created_at, updated_at FROM payouts`},
		[]string{"rail ids"},
	},
	{
		"a hand-over of nothing",
		[]string{railed, `INSERT INTO payout_sends (id, org_id, program_id, batch_id, rail_id, currency, amount_minor, payout_count, created_at)
		VALUES ('snd_1', 'org_a', 'prg_a', 'batch_a', 'prl_a', 'USD', 0, 0, now())`},
		[]string{"sends"},
	},
	{
		"left out of a month's run",
		[]string{
			`UPDATE payout_batches SET auto_run_at = now() + interval '1 hour'`,
			`UPDATE commissions SET mature_at = '2026-01-31T23:59:59Z' WHERE id = 'com_big'`,
		},
		[]string{"left out"},
	},
	{"in the month's run, not eligible",
		[]string{`UPDATE payout_batches SET auto_run_at = now() + interval '1 hour'`,
			`UPDATE commissions SET mature_at = '2026-01-31T23:59:59Z' WHERE id = 'com_big'`,
			`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, reason, period_month, period_end, due_at, created_at, updated_at)
		SELECT 'pyt_0', org_id, program_id, 'part_b', batch_id, 1, currency, 'not_eligible', 'x', period_month, period_end, due_at, created_at, updated_at FROM payouts`}, nil},
	{
		"matured after the month",
		[]string{
			`UPDATE payout_batches SET auto_run_at = now() + interval '1 hour'`,
			`UPDATE commissions SET mature_at = '2026-02-01T00:00:00Z' WHERE id = 'com_big'`,
		},
		nil,
	},
	{
		"void without a reason",
		[]string{
			`ALTER TABLE commissions DROP CONSTRAINT commissions_void_check`,
			`UPDATE commissions SET void_reason = NULL WHERE id = 'com_void'`,
		},
		[]string{"M21"},
	},
	{
		"due too early", []string{`UPDATE commissions SET mature_at = updated_at + interval '1 hour' WHERE id = 'com_big'`},
		[]string{"M22"},
	},
	{
		"paid twice",
		[]string{
			`INSERT INTO events (id, org_id, program_id, type, subject_id, body, created_at) SELECT x, 'org_a', 'prg_a', 'commission.paid', 'com_due', '{}', now() FROM unnest('{evt_1,evt_2}'::text[]) x`,
		},
		[]string{"M25"},
	},
	{"made by hand, unheard", []string{`UPDATE commissions SET metadata = NULL WHERE id = 'com_claw'`}, []string{"M33"}},
	{"rejected, unheard", []string{`UPDATE commissions SET status = 'rejected' WHERE id = 'com_void'`}, []string{"M33"}},
	{
		"sale too large",
		[]string{
			`ALTER TABLE sales DROP CONSTRAINT sales_amount_check`,
			`UPDATE sales SET amount_minor = 1000000000000 WHERE id = 'sale_4'`,
		},
		[]string{"M34"},
	},
	{"no such currency", []string{`UPDATE sales SET currency = 'ZZZ' WHERE id = 'sale_gone'`}, []string{"currencies"}},
	{"no first sale", []string{`UPDATE sales SET is_first_sale = false WHERE id = 'sale_1'`}, []string{"M20"}},
	{
		"two first sales",
		[]string{`DROP INDEX sales_first_sale_key`, `UPDATE sales SET is_first_sale = true WHERE id = 'sale_2'`},
		[]string{"M20"},
	},
	{"external id of another program's customer", []string{customers, `UPDATE customer_external_ids SET program_id = 'prg_b' WHERE customer_id = 'cus_1'`},
		[]string{"external ids"}},
	{"first external id lost", []string{customers, `DELETE FROM customer_external_ids WHERE external_customer_id = 'x2'`},
		[]string{"external ids"}},
	{"no first external id", []string{customers, `UPDATE customers SET external_customer_id = NULL WHERE id = 'cus_2'`},
		[]string{"external ids"}},
	{"merged customer with sales", []string{customers, merged, `UPDATE sales SET customer_id = 'cus_old' WHERE id = 'sale_2'`},
		[]string{"M20", "merges", "credits"}},
	{"merged customer is still there", []string{customers, `INSERT INTO customer_merges VALUES ('cus_2', 'org_a', 'prg_a', 'cus_1', now())`},
		[]string{"merges", "credits"}},
	{"merged into another program", []string{customers, merged, `UPDATE customer_merges SET program_id = 'prg_b'`}, []string{"merges"}},
	{"paid before a merge", []string{customers, paidFinal, `UPDATE commissions SET customer_id = 'cus_old' WHERE id = 'com_due'`, merged}, nil},
	{"commission of another customer", []string{`UPDATE commissions SET customer_id = 'cus_2' WHERE id = 'com_half'`}, []string{"credits"}},
	{"commission of another partner", []string{`UPDATE sales SET partner_id = 'part_b' WHERE id = 'sale_2'`}, []string{"credits"}},
	{
		"outcome hides a commission", []string{`UPDATE sales SET activity_outcome = 'sale_recorded' WHERE id = 'sale_1'`},
		[]string{"outcome"},
	},
	{
		"summed day changed",
		[]string{summed, `UPDATE report_sums SET clicks = clicks + 1 WHERE dimension IN ('total', 'partner', 'link')`},
		[]string{"reports", "report levels"},
	},
	{"summed day lost", []string{summed, `DELETE FROM report_sums`}, []string{"reports"}},
	{
		"change without a mark", []string{summed, refund, `UPDATE sales SET refunded_at = now() WHERE id = 'sale_gone'`},
		[]string{"reports"},
	},
	{
		"levels uneven",
		[]string{summed, `UPDATE report_sums SET revenue_minor = revenue_minor + 1 WHERE dimension = 'total'`},
		[]string{"report levels"},
	},
	{
		"a span uneven",
		[]string{
			summed,
			`INSERT INTO report_spans SELECT DISTINCT org_id, program_id, '4', start FROM report_sums WHERE span = 'day' ON CONFLICT DO NOTHING`,
			`INSERT INTO report_sums SELECT org_id, program_id, dimension, '4', start, partner_id, key, currency, label, clicks, leads, customers, sales, refunded, revenue_minor, commissions_minor
		FROM report_sums WHERE span = 'day' ON CONFLICT DO NOTHING`,
			`UPDATE report_sums SET clicks = clicks + 1 WHERE span = '4'`,
		},
		[]string{"report levels"},
	},
	{
		"a total changed",
		[]string{`UPDATE tally_entries SET difference = difference + 1 WHERE id = (SELECT min(id) FROM tally_entries)`},
		[]string{"totals"},
	},
	{"a change that was not counted", []string{`ALTER TABLE referrals DISABLE TRIGGER referrals_tally_insert`,
		`INSERT INTO referrals (id, org_id, program_id, partner_id, visitor, tracked_by, status, expires_at, created_at, updated_at) VALUES ('ref_1', 'org_a', 'prg_a', 'part_a', 'v', 'link', 'visit', now(), now(), now())`}, []string{"totals"}},
	{
		"a payment without a statement",
		[]string{issued, writable, `DELETE FROM statements`, `DELETE FROM statement_counters`,
			`UPDATE payouts SET submitted_at = (SELECT created_at + interval '1 minute' FROM statement_keys) WHERE id = 'pyt_a'`},
		[]string{"missing statements"},
	},
	{
		"a second payment without a statement",
		[]string{issued, `UPDATE payouts SET marked_at = (SELECT max(issued_at) + interval '1 second' FROM statements),
			before_paid = '{}', mark_id = 'req_1' WHERE id = 'pyt_a'`},
		[]string{"missing statements"},
	},
	{
		"a payment before the first statement",
		[]string{issued, writable, `DELETE FROM statements`, `DELETE FROM statement_counters`,
			`UPDATE payouts SET created_at = (SELECT created_at FROM statement_keys), submitted_at = NULL WHERE id = 'pyt_a'`},
		nil,
	},
	{
		"a missing statement", []string{issued, writable, `DELETE FROM statements WHERE position = 1`},
		[]string{"statement numbers", "statement chains"},
	},
	{"a number that was skipped", []string{issued, `UPDATE statement_counters SET last = 3`}, []string{"statement numbers"}},
	{"statements of no year", []string{`INSERT INTO statement_counters VALUES ('org_a', '', 2026, 1)`},
		[]string{"statement numbers"}},
	{"a statement replaced", []string{issued, writable, `UPDATE statements SET hash = 'x' WHERE position = 1`},
		[]string{"statement chains", "statements"}},
	{
		"a statement changed",
		[]string{
			issued, writable,
			`UPDATE statements SET document = convert_to(replace(convert_from(document, 'UTF8'), '"amount_minor":300',
				'"amount_minor":301'), 'UTF8')`,
			`UPDATE statements SET hash = encode(sha256(document), 'hex') WHERE position = 2`,
		},
		[]string{"statements"},
	},
	{"a signature of another statement", []string{issued, writable, `UPDATE statements SET signature = (SELECT max(signature) FROM statements)`},
		[]string{"statements"}},
	{"a key that is too young", []string{issued, `UPDATE statement_keys SET created_at = now() + interval '1 day'`},
		[]string{"statements"}},
	{"a lost key", []string{issued, `DELETE FROM statement_keys`}, []string{"statements"}},
	{"a statement of another payout", []string{issued, writable, `UPDATE statements SET payout_id = 'pyt_x'`},
		[]string{"missing statements", "statements"}},
	{"a number that its document does not have", []string{issued, writable, `UPDATE statements SET number = 'X-2026-000009' WHERE position = 2`},
		[]string{"statements"}},
	{"a line changed", []string{issued, `UPDATE sales SET occurred_at = occurred_at - interval '1 day' WHERE id = 'sale_1'`},
		[]string{"statements"}},
	{
		"outcome without a commission", []string{`UPDATE commissions SET sale_id = NULL WHERE id = 'com_half'`},
		[]string{"outcome"},
	},
}

// Each corruption is found, by the expected equations.
func TestCorruptions(t *testing.T) {
	for _, c := range corruptions {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBooks(t)
			for _, sql := range c.sql {
				if sql == summed {
					require.NoError(t, report.Sum(t.Context(), b.pool, now.Days(3)))
					require.Empty(t, b.found(), "as long as nothing is touched")
					continue
				}
				if sql == issued {
					b.issue()
					b.issue()
					require.Empty(t, b.found(), "as long as nothing is touched")
					continue
				}
				b.exec(sql)
			}
			require.Equal(t, c.want, b.found())
		})
	}
}

// Every equation of queries/audit.sql is checked, with its statement and the number of rows it reads.
func TestReport(t *testing.T) {
	t.Parallel()
	written := 0
	for m := range reflect.TypeFor[*db.Queries]().Methods() {
		row := m.Type.Out(0)
		if strings.HasPrefix(m.Name, "Audit") && row.Kind() == reflect.Slice && row.Elem().Kind() == reflect.Struct &&
			row.Elem().ConvertibleTo(reflect.TypeFor[breach]()) || m.Name == "AuditCurrencies" ||
			m.Name == "AuditStatements" {
			written++
		}
	}
	require.Len(t, equations, written, "an equation that is not checked")
	b := newBooks(t)
	r, err := Full(t.Context(), b.pool, Options{})
	require.NoError(t, err)
	require.Len(t, r.Checks, len(equations))
	require.EqualValues(t, 5, r.Size("sales"))
	for _, c := range r.Checks {
		require.NotEmpty(t, c.Statement, c.Name)
		require.NotEmpty(t, c.Rows, c.Name)
		require.Positive(t, c.Took, c.Name)
		for _, rows := range c.Rows {
			require.Contains(t, r.Rows, rows, "%s: %s is not counted", c.Name, rows.Table)
		}
	}
}

// A sealed value of any kind that does not open is a finding.
func TestSealed(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	right, err := secret.New([32]byte{1})
	require.NoError(t, err)
	other, err := secret.New([32]byte{2})
	require.NoError(t, err)
	details, err := right.Seal([]byte("{}"), payout.DetailsPlace("part_a"))
	require.NoError(t, err)
	answer, err := right.Seal([]byte("{}"), "elsewhere")
	require.NoError(t, err)
	b.exec("UPDATE partners SET payout_method = 'wise', payout_details = $1, payout_details_hash = '' WHERE id = 'part_a'",
		details)
	r, err := Full(t.Context(), b.pool, Options{Keeper: right})
	require.NoError(t, err)
	require.Empty(t, r.Findings)
	require.Equal(t, []Rows{{"payout details", 1}}, r.Checks[len(r.Checks)-1].Rows)
	r, err = Full(t.Context(), b.pool, Options{Keeper: other})
	require.NoError(t, err)
	require.Equal(t,
		[]Finding{
			{
				"sealed", "payout_details/part_a",
				"one of 1 sealed with " + right.Fingerprint() + " does not open with " + other.Fingerprint(),
			},
		}, r.Findings)
	b.exec("INSERT INTO idempotency_keys (org_id, key, fingerprint, status, body, created_at) VALUES ('org_a', 'k', '', 200, $1, now())", answer)
	r, err = Full(t.Context(), b.pool, Options{Keeper: right})
	require.NoError(t, err)
	require.Len(t, r.Findings, 1, "sealed for another place")
	require.Equal(t, "idempotency/org_a/k", r.Findings[0].What)
}

// since runs an incremental audit over several connections, and returns the violated equations.
func (b *books) since() (names []string, partners int64) {
	b.t.Helper()
	r, err := Full(b.ctx, b.pool, Options{SinceLast: true, Connections: 3})
	require.NoError(b.t, err)
	require.NotNil(b.t, r.Since)
	for _, f := range r.Findings {
		names = append(names, f.Equation)
	}
	return slices.Compact(names), r.Size("partners")
}

// pass runs a full audit over several connections, finds nothing, and stores the mark.
func (b *books) pass() Report {
	b.t.Helper()
	r, err := Full(b.ctx, b.pool, Options{SinceLast: true, Connections: 3})
	require.NoError(b.t, err)
	require.Empty(b.t, r.Findings)
	require.NoError(b.t, r.Pass(b.ctx, b.pool))
	return r
}

// settled waits until no transaction runs, such as autovacuum's.
func (b *books) settled() {
	b.t.Helper()
	wait.Until(b.t, func() (alone bool) {
		assert.NoError(b.t, b.pool.QueryRow(b.ctx,
			"SELECT pg_snapshot_xmin(s) = pg_snapshot_xmax(s) FROM pg_current_snapshot() s").Scan(&alone))
		return alone
	})
}

// An incremental audit finds violations of changed partners, and reports their number; violations of other
// partners are found by the full one.
func TestSinceLast(t *testing.T) {
	// Not parallel: open transactions of other tests, in any database of the cluster, would be audited again.
	b := newBooks(t)
	b.settled()
	require.Nil(t, b.pass().Since, "nobody has audited yet, so it is of all")
	names, partners := b.since()
	require.Empty(t, names)
	require.Zero(t, partners, "nothing was written")

	b.exec(`UPDATE balances SET pending_minor = pending_minor + 1 WHERE partner_id = 'part_a'`)
	names, _ = b.since()
	require.Empty(t, names, "an old row changed by hand")
	require.Equal(t, []string{"M01", "M02"}, b.found(), "which an audit of all finds")
	b.earn(commission{id: "com_new", partner: "part_b", amount: 7}, "pending")
	names, partners = b.since()
	require.Empty(t, names)
	require.EqualValues(t, 1, partners)
	b.earn(commission{id: "com_newer", partner: "part_a", amount: 7}, "pending")
	names, partners = b.since()
	require.Equal(t, []string{"M01", "M02"}, names)
	require.EqualValues(t, 2, partners)

	b.exec(`UPDATE balances SET pending_minor = pending_minor - 1 WHERE partner_id = 'part_a'`)
	b.settled()
	r := b.pass()
	require.NotNil(t, r.Since)
	_, partners = b.since()
	require.Zero(t, partners, "what was looked at is not looked at again")
	b.exec(`INSERT INTO events (id, org_id, program_id, type, subject_id, partner_id, body, created_at)
		VALUES ('evt_x', 'org_a', 'prg_a', 'partner.updated', 'part_a', 'part_a', '{}', now())`)
	_, partners = b.since()
	require.EqualValues(t, 1, partners)
	again, err := Full(t.Context(), b.pool, Options{SinceLast: true})
	require.NoError(t, err)
	require.Equal(t, r.Since.Full, again.Since.Full, "the last audit of all is the first")
	require.True(t, again.Since.At.After(r.Since.At.Time))
}

// The next audit covers changes of a transaction that ran during an audit.
func TestSinceLastSeesLateCommits(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	late, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = late.Exec(t.Context(), `INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency,
		from_bucket, to_bucket, amount_minor, created_at)
		VALUES ('org_a', 'prg_a', 'part_b', 'com_void', 'USD', 'sink', 'source', 1, now())`)
	require.NoError(t, err)
	b.earn(commission{id: "com_new", partner: "part_a", amount: 7}, "pending")
	b.pass()
	require.NoError(t, late.Commit(t.Context()))
	names, _ := b.since()
	require.Equal(t, []string{"M03", "M05"}, names)
}

// A mark with another cluster's transactions, as after a logical restore, does not count.
func TestSinceLastOfAnotherCluster(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.pass()
	b.exec(`UPDATE audit_mark SET horizon = '9000000000000000000'`)
	require.Nil(t, b.pass().Since)
	b.since()
}

// All connections share the first one's snapshot.
func TestOneSnapshot(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	b.exec(unpaid)
	want := b.pass().Rows
	wrote := false
	r, err := Full(t.Context(), b.pool, Options{Connections: 3, Progress: func(_ string, done, of int) {
		if done == 1 {
			// Every later equation would find this in a newer snapshot.
			_, err := b.pool.Exec(b.ctx, `UPDATE payouts SET amount_minor = 299 WHERE id = 'pyt_a'`)
			assert.NoError(t, err)
		}
		wrote = wrote || done < of
	}})
	require.NoError(t, err)
	require.True(t, wrote)
	require.Empty(t, r.Findings)
	require.Equal(t, want, r.Rows)
	require.Equal(t, []string{"M10"}, b.found())
}

// The connections share the equations, and an error on any ends the audit.
func TestConnections(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	a := audit{Options: Options{Connections: 100}, pool: b.pool}
	var mu sync.Mutex
	seen, all := map[uint32]bool{}, make(chan struct{})
	for range 3 {
		a.todo = append(a.todo, Equation{find: func(ctx context.Context, tx pgx.Tx, _ []string) ([]Finding, error) {
			mu.Lock()
			seen[tx.Conn().PgConn().PID()] = true
			if len(seen) == 3 {
				close(all)
			}
			mu.Unlock()
			<-all // a connection with two of the three would wait for itself
			return nil, nil
		}})
	}
	require.NoError(t, a.inTx(t.Context(), "", func(ctx context.Context, tx pgx.Tx) error {
		m, err := queries.AuditSnapshot(ctx, tx)
		require.NoError(t, err)
		return a.spread(ctx, tx, m.Snapshot)
	}))
	b.exec(`ALTER TABLE payouts RENAME TO elsewhere`)
	_, err := Full(t.Context(), b.pool, Options{Connections: 3})
	require.ErrorContains(t, err, "payouts")
}

// The audit exceeds the time limit of requests, and restores the connection's settings.
func TestOwnTimeout(t *testing.T) {
	b := newBooks(t)
	b.exec(`ALTER TABLE balances RENAME TO kept`)
	b.exec(`CREATE VIEW balances AS SELECT kept.* FROM kept, pg_sleep(0.6)`)
	config := b.pool.Config().Copy()
	config.ConnConfig.RuntimeParams["statement_timeout"] = "500"
	config.MaxConns = 1
	short := open(t, config)
	findings, err := Run(t.Context(), short)
	require.NoError(t, err)
	require.Empty(t, findings)
	_, err = short.Exec(t.Context(), "SELECT pg_sleep(60)")
	require.ErrorContains(t, err, "statement timeout")
}

// A connection may wait for another one longer than a request may be idle.
func TestOwnIdleTimeout(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	config := b.pool.Config().Copy()
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = "1000"
	a := audit{Options: Options{Connections: 2}, pool: open(t, config)}
	require.NoError(t, a.inTx(t.Context(), "", func(ctx context.Context, tx pgx.Tx) error {
		m, err := queries.AuditSnapshot(ctx, tx)
		require.NoError(t, err)
		own, both := tx.Conn().PgConn().PID(), make(chan struct{})
		var begun atomic.Int32
		a.todo = slices.Repeat([]Equation{{find: func(ctx context.Context, tx pgx.Tx, _ []string) ([]Finding, error) {
			if begun.Add(1) == 2 {
				close(both)
			}
			<-both // so that each connection has one
			if tx.Conn().PgConn().PID() == own {
				return nil, nil
			}
			_, err := tx.Exec(ctx, "SELECT pg_sleep(1.5)")
			return nil, err
		}}}, 2)
		require.NoError(t, a.spread(ctx, tx, m.Snapshot))
		_, err = tx.Exec(ctx, "SELECT 1")
		return err
	}))
}

// RAIL_TEST_AUDIT_ROWS=1000000 measures the audit on as many commissions.
func TestSpeed(t *testing.T) {
	n := os.Getenv("RAIL_TEST_AUDIT_ROWS")
	if n == "" {
		t.Skip("set RAIL_TEST_AUDIT_ROWS to measure")
	}
	b := newBooks(t)
	b.many(n)
	tx, err := b.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), longTimeouts)
	require.NoError(t, err)
	for _, e := range equations {
		start := time.Now()
		found, err := e.find(t.Context(), tx, nil)
		require.NoError(t, err)
		require.Empty(t, found)
		t.Logf("%s commissions, %s: %s", n, e.Name, time.Since(start))
	}
	require.NoError(t, tx.Rollback(t.Context()))
}

// many adds n due commissions of as many sales, spread over 1000 partners.
func (b *books) many(n string) {
	conn, err := b.pool.Acquire(b.ctx)
	require.NoError(b.t, err)
	defer conn.Release()
	for _, sql := range []string{
		`SET statement_timeout = 0`, `SET session_replication_role = replica`,
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
			SELECT 'part_m' || i, 'org_a', 'prg_a', i || '@m.example.com', 'm' || i, 'active', now(), now() FROM generate_series(0, 999) i`,
		`INSERT INTO sales (id, org_id, program_id, customer_id, partner_id, external_charge_id, processor, amount_minor, currency, billing_type, is_first_sale, activity_outcome, warnings, occurred_at, created_at, updated_at)
			SELECT 'sale_m' || i, 'org_a', 'prg_a', 'cus_m' || i, 'part_m' || i % 1000, 'ch_m' || i, 'api', 1000, 'USD', 'one_time', true, 'commission_created', '[]', now(), now(), now() FROM generate_series(1, ` + n + `) i`,
		`INSERT INTO commissions (id, org_id, program_id, partner_id, sale_id, kind, amount_minor, revenue_minor, rate_type, rate_value, currency, status, created_at, updated_at)
			SELECT 'com_m' || i, 'org_a', 'prg_a', 'part_m' || i % 1000, 'sale_m' || i, 'referral', 300, 1000, 'percent', 3000, 'USD', 'due', now(), now() FROM generate_series(1, ` + n + `) i`,
		`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
			SELECT 'org_a', 'prg_a', 'part_m' || i % 1000, 'com_m' || i, 'USD', f, t, 300, now() FROM generate_series(1, ` + n +
			`) i, (VALUES ('source', 'pending'), ('pending', 'due')) x(f, t)`,
		`INSERT INTO balances (id, org_id, program_id, partner_id, currency, updated_at) SELECT 'bal_m' || i, 'org_a', 'prg_a', 'part_m' || i, 'USD', now() FROM generate_series(0, 999) i`,
		`ANALYZE`, `RESET statement_timeout`, `RESET session_replication_role`,
	} {
		start := time.Now()
		_, err := conn.Exec(b.ctx, sql)
		require.NoError(b.t, err, sql)
		b.t.Logf("%.40s: %s", sql, time.Since(start))
	}
	start := time.Now()
	require.NoError(b.t, ledger.NewFolder(b.pool).Fold(b.ctx))
	b.t.Logf("first fold: %s", time.Since(start))
}
