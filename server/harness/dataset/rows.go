package dataset

import (
	"slices"
	"strings"
)

// open is how many of the last commissions have ledger entries that are not folded into
// balances yet.
const open = 1000

// table defines how a table is filled: from the row numbers in g, or by a statement that reads rows filled before.
type table struct {
	name string // with the columns, unless sql has all of them
	rows func(Size) int
	sql  string // $n is the number of rows
}

// table returns the name without the columns.
func (t table) table() string {
	name, _, _ := strings.Cut(t.name, " ")
	return name
}

// exactly returns a number that does not grow with the size.
func exactly(n int) func(Size) int { return func(Size) int { return n } }

// perPartner returns a number for each partner, on average.
func perPartner(share float64) func(Size) int {
	return func(s Size) int { return int(float64(s.Partners) * share) }
}

func customers(s Size) int { return s.Customers }
func referrals(s Size) int { return s.Referrals }
func clicks(s Size) int    { return s.Clicks }
func sales(s Size) int     { return s.Sales }
func refunds(s Size) int   { return (s.Sales + 38) / 50 } // one for each refunded sale
func events(s Size) int    { return s.Sales / 4 }         // of the last month only: older events are deleted

// phases lists the tables in the order of filling. The row numbers n are spread over
// two years; r(n, salt) is a number in [0, 1), the same in every run. The first row of a
// table owns most: the first program a third of the partners, the first partner 7 % of
// the customers. In a phase the largest table is first, so that both connections have
// work until the end.
var phases = [][]table{{
	{"clicks", clicks,
		`SELECT id('clk', n), org, prg, id('part', k.k), id('lnk', k.k), CASE WHEN n % 2 = 0 THEN id('ref', floor(r(n, 8) * #referrals)::int) END,
		'ref', NULL, 'Mozilla/5.0', NULL, 'US', 'desktop', 'https://shop.example/', at(n, $n),
		CASE WHEN n % 3 > 0 THEN 'source ' || n % 40 END, CASE WHEN n % 3 > 0 THEN 'social' END, CASE WHEN n % 5 = 0 THEN 'campaign ' || n % 300 END, CASE WHEN n % 2 = 0 THEN 'site-' || n % 200 || '.example' END
		FROM g, LATERAL skewed(n, 9, #partners, 4) k, LATERAL program(of_partner(k.k)) p`},
	// Commission n is of sale n. One sale in fifty is of an old charge, recorded later;
	// one in fifty is refunded. Rewards and clawbacks do not follow from a flow.
	{"sales", sales,
		`SELECT id('sale', n), org, prg, id('cus', x.k), id('part', k.k), 'ch_' || n, NULL, 'api', 4999, NULL, CASE WHEN n % 10 > 0 THEN 'USD' ELSE 'EUR' END, 'one_time', NULL, NULL, 'Plan ' || n % 5,
		row_number() OVER (PARTITION BY x.k ORDER BY n) = 1, CASE WHEN y.kind = 'referral' THEN 'commission_created' ELSE 'sale_recorded' END, '[]',
		at(n, $n) - CASE WHEN n % 50 = 7 AND NOT #even THEN interval '400 days' ELSE interval '1 hour' END * r(n, 12), CASE WHEN n % 50 = 11 AND NOT #even THEN at(n, $n) END, NULL, at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 11, #customers, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p, LATERAL commission(n, $n) y`},
	{"commissions", sales,
		`SELECT id('com', n), org, prg, id('part', k.k), CASE WHEN y.kind <> 'reward' THEN id('sale', n) END, id('cus', x.k), NULL, NULL,
		y.kind, CASE WHEN y.kind = 'clawback' THEN -999 ELSE 1000 END, CASE WHEN y.kind = 'referral' THEN 4999 END, CASE WHEN y.kind = 'referral' THEN 'percent' END, CASE WHEN y.kind = 'referral' THEN 2000 END,
		CASE WHEN n % 10 > 0 THEN 'USD' ELSE 'EUR' END, y.status, at(n, $n) + interval '1 day' * CASE WHEN y.status IN ('paid', 'due') THEN 30 ELSE 60 END, NULL, CASE WHEN y.status IN ('paid', 'due', 'approved') THEN at(n, $n) END,
		CASE WHEN y.gone THEN at(n, $n) END, CASE WHEN y.gone THEN 'refunded' END, CASE WHEN y.status = 'paid' THEN id('pyt', payout(k.k, n, $n)) END, NULL, at(n, $n),
		at(n, $n) + interval '1 day' * CASE y.status WHEN 'paid' THEN 45 WHEN 'due' THEN 30 ELSE 0 END
		FROM g, LATERAL skewed(n, 11, #customers, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p, LATERAL commission(n, $n) y`},
	{"customers", customers,
		`SELECT id('cus', n), org, prg, id('part', k.k), CASE WHEN n < #referrals THEN id('ref', n) END, id('lnk', k.k), NULL, NULL, NULL, 'ext' || n, NULL, 'customer' || n || '@example.com', 'Customer ' || n, NULL,
		CASE WHEN #even THEN 'active' WHEN r(n, 10) < 0.4 THEN 'lead' WHEN r(n, 10) < 0.9 THEN 'active' WHEN r(n, 10) < 0.98 THEN 'cancelled' WHEN r(n, 10) < 0.998 THEN 'refunded' ELSE 'suspended' END,
		'link', at(n, $n), at(n, $n), NULL, at(n, $n), at(n, $n),
		('{"rule": "click", "detail": "' || id('clk', n) || '", "at": "2026-01-01T00:00:00Z"}')::json, false, NULL,
		CASE WHEN n % 3 > 0 THEN 'source ' || n % 40 END, CASE WHEN n % 3 > 0 THEN 'social' END, CASE WHEN n % 5 = 0 THEN 'campaign ' || n % 300 END, CASE WHEN n % 2 = 0 THEN 'site-' || n % 200 || '.example' END, 'US', 'desktop'
		FROM g, LATERAL of_customer(n) k, LATERAL program(of_partner(k.k)) p`},
	{"referrals", referrals,
		`SELECT id('ref', n), org, prg, id('part', k.k), id('lnk', k.k), int4send(n), at(n, $n) > timestamptz '#until' - interval '29 days', NULL, NULL, 'link',
		CASE WHEN r(n, 6) < 0.7 THEN 'visit' WHEN r(n, 6) < 0.97 THEN 'lead' ELSE 'converted' END, at(n, $n) + interval '30 days', at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 7, #partners, 4) k, LATERAL program(of_partner(k.k)) p`},
	{"events (id, org_id, program_id, type, partner_id, subject_id, body, created_at)", events,
		`SELECT id('evt', n), org, prg, 'sale.created', id('part', k.k), id('sale', #sales - $n + n), '{"object": "event", "n": ' || n || ', "filler": "' || repeat(md5(n::text), 12) || '"}',
		late(n, $n) FROM g, LATERAL skewed(#sales - $n + n, 11, #customers, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p`},
	{"webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, attempts, response_code, last_attempt_at, finished_at, created_at)", events,
		`SELECT id('whd', n), org, prg, id('whe', p.k + 20 * (n % 20)), id('evt', n), 'sale.created', n, 'delivered', 1, 200, late(n, $n), late(n, $n), late(n, $n)
		FROM g, LATERAL skewed(#sales - $n + n, 11, #customers, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p`},
	{"customer_external_ids", customers,
		`SELECT prg, org, 'ext' || n, id('cus', n), NULL, at(n, $n) FROM g, LATERAL of_customer(n) k, LATERAL program(of_partner(k.k)) p`},
	{"attribution_claims (id, org_id, program_id, customer_id, protocol, status, nonce, created_at)",
		func(s Size) int { return s.Customers / 10 },
		`SELECT id('acl', n), org, prg, id('cus', n * 10), 'acp', 'credited', 'nonce' || n, at(n, $n)
		FROM g, LATERAL of_customer(n * 10) k, LATERAL program(of_partner(k.k)) p`},
	{"refunds (id, org_id, program_id, sale_id, external_charge_id, external_refund_id, status, amount_minor, currency, refunded_at, created_at, updated_at)", refunds,
		`SELECT id('rfd', n), org, prg, id('sale', s), 'ch_' || s, 're_' || n, 'applied', 4999, 'USD', at(s, #sales), at(s, #sales), at(s, #sales)
		FROM g, LATERAL (SELECT n * 50 + 11 AS s) i, LATERAL skewed(s, 11, #customers, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p`},
	{"partners", perPartner(1),
		`SELECT id('part', n), org, prg, CASE WHEN r(n, 2) < 0.8 THEN id('grp', p.k + 20 * floor(50 * r(n, 3) ^ 3)::int) END, 'partner' || n || '@example.com',
		'First' || n % 997, 'Last' || n % 1009, NULL, CASE WHEN n % 7 = 0 THEN 'Company ' || n END, NULL, 'US', NULL, handle(n),
		CASE WHEN #even OR r(n, 4) < 0.85 THEN 'active' WHEN r(n, 4) < 0.95 THEN 'pending' WHEN r(n, 4) < 0.98 THEN 'declined' ELSE 'suspended' END,
		NULL, NULL, NULL, NULL, NULL, false, true, true, true, NULL, NULL, NULL, at(n, $n), at(n, $n) FROM g, LATERAL program(of_partner(n)) p`},
	{
		"tracking_values (org_id, program_id, value, kind, partner_id)", perPartner(1),
		`SELECT org, prg, handle(n), 'handle', id('part', n) FROM g, LATERAL program(of_partner(n)) p`,
	},
	{"links", perPartner(1.2),
		`SELECT id('lnk', n), org, prg, id('part', n % #partners), 'ref', 'value' || n, 'value' || n, 'https://shop.example/', 'shop.example/', 'slug' || n, NULL, NULL,
		at(n, $n), at(n, $n), CASE WHEN n % 20 = 7 THEN at(n, $n) END FROM g, LATERAL program(of_partner(n % #partners)) p`},
	{"coupons", perPartner(1),
		`SELECT id('cpn', n), org, prg, CASE WHEN n % 10 > 0 THEN id('part', k.k) END, NULL, 'CODE' || n, NULL, true, at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 5, #partners, 4) k, LATERAL program(of_partner(k.k)) p`},
	{"applications (id, org_id, program_id, partner_id, email, status, created_at, updated_at)", perPartner(1),
		`SELECT id('app', n), org, prg, id('part', n % #partners), 'applicant' || n || '@example.com', CASE WHEN n % 50 = 0 THEN 'withdrawn' WHEN n % 9 = 0 THEN 'pending' WHEN n % 3 = 0 THEN 'rejected' ELSE 'approved' END,
		at(n, $n), at(n, $n) FROM g, LATERAL program(of_partner(n % #partners)) p`},
	{"tax_form_statuses", perPartner(1),
		`SELECT id('tax', n), org, prg, id('part', n % #partners), 'w9', CASE WHEN n % 50 = 0 THEN 'expired' WHEN n % 3 = 0 THEN 'required' ELSE 'submitted' END,
		NULL, NULL, NULL, NULL, at(n, $n), at(n, $n) FROM g, LATERAL program(of_partner(n % #partners)) p`},
	{"mails (id, org_id, program_id, purpose, key, recipient, subject, body, status, created_at)", perPartner(0.4),
		`SELECT id('mail', n), org, prg, 'payout_paid', 'key' || n, 'partner' || n || '@example.com', 'Subject', 'Body', CASE WHEN n % 9 = 0 THEN 'failed' ELSE 'sent' END, at(n, $n)
		FROM g, LATERAL program(n % 20) p`},
	{"partner_notes", perPartner(0.4),
		`SELECT id('note', n), org, prg, id('part', n % #partners), 'key_1', NULL, 'Note ' || n, 'brief.txt', 4, at(n, $n) FROM g, LATERAL program(of_partner(n % #partners)) p`},
	{"risk_flags (id, org_id, program_id, partner_id, kind, severity, status, evidence, resolved_at, created_at)",
		perPartner(0.4), `SELECT id('rf', n), org, prg, id('part', n), 'duplicate_partner',
		CASE WHEN n % 20 = 0 THEN 'high' WHEN n % 5 = 0 THEN 'medium' ELSE 'low' END, CASE WHEN n % 3 = 0 THEN 'open' WHEN n % 3 = 1 THEN 'resolved' ELSE 'dismissed' END, '{}',
		CASE WHEN n % 3 > 0 THEN at(n, $n) END, at(n, $n) FROM g, LATERAL program(of_partner(n)) p`},
	{"resources (id, org_id, program_id, kind, title, url, folder, group_ids, tag_ids, position, published, created_at, updated_at)", perPartner(0.4), `SELECT id('res', n), org, prg, 'link', 'Title ' || n, 'https://shop.example/' || n,
		CASE WHEN n % 3 > 0 THEN 'f' || n % 5 END, '{}', '{}', n, false, at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{"campaigns (id, org_id, program_id, name, subject, body, group_ids, tag_ids, statuses, status, created_at, updated_at)", perPartner(0.4), `SELECT id('camp', n), org, prg, 'Campaign ' || n, 'Subject', 'Body', '{}', '{}', '{}', 'draft', at(n, $n), at(n, $n)
		FROM g, LATERAL program(n % 20) p`},
	{
		"sequences (id, org_id, program_id, name, status, trigger, created_at, updated_at)", perPartner(0.4),
		`SELECT id('seq', n), org, prg, 'Sequence ' || n, 'paused', 'approved', at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`,
	},
	{`flows (id, org_id, program_id, name, description, group_id, partner_id, trigger, action, target_group_id, rate_type, rate_value,
		approval_mode, approval_delay_days, priority, status, branches, created_at, updated_at)`, perPartner(0.1),
		`SELECT id('flw', n), org, prg, 'Flow ' || n, NULL, CASE WHEN n % 7 = 1 AND NOT #even THEN id('grp', n % 20) END, CASE WHEN n % 7 = 2 AND NOT #even THEN id('part', n % 50) END, 'new_payment', 'generate_commission',
		NULL, 'percent', 2000, CASE WHEN #even THEN 'immediate' ELSE 'manual' END, NULL, n % 100, CASE WHEN n % 3 = 0 OR n < 20 AND #even THEN 'active' ELSE 'inactive' END, '[]', at(n, $n), at(n, $n) FROM g, LATERAL program(CASE WHEN n % 7 = 2 AND NOT #even THEN of_partner(n % 50) ELSE n % 20 END) p WHERE n < 20 OR NOT #even`},
	{
		"inbox_events (id, org_id, program_id, connection_id, processor, external_event_id, type, livemode, status, attempts, failures, payload, headers, due_at, processed_at, created_at)",
		perPartner(1), `SELECT id('inb', n), org, prg, id('pco', n % 400), 'generic', 'msg_' || n, CASE WHEN n % 10 = 0 THEN 'refund' ELSE 'sale' END, true,
		CASE WHEN n % 100 = 1 THEN 'waiting' WHEN n % 50 = 3 THEN 'failed' WHEN n % 5 = 2 THEN 'ignored' ELSE 'recorded' END, 1, 0, '', '{}', CASE WHEN n % 100 = 1 THEN timestamptz '#until' + interval '1 day' END, at(n, $n), at(n, $n)
		FROM g, LATERAL program(n % 20) p`,
	},
	{
		"imports (id, org_id, program_id, source, dry_run, emit_events, status, place, counts, balances, groups, created_at, updated_at)",
		exactly(400), `SELECT id('imp', n), org, prg, 'rewardful', false, false, CASE WHEN n % 9 = 0 THEN 'done' WHEN n % 3 = 0 THEN 'failed' WHEN n % 3 = 1 THEN 'ready' ELSE 'undone' END, '{}', '{}', '[]', '[]', at(n, $n), at(n, $n)
		FROM g, LATERAL program(n % 20) p`,
	},
	{
		"import_problems (id, org_id, program_id, import_id, kind, source_id, code, detail, created_at)", perPartner(1),
		`SELECT id('ipr', n), org, prg, id('imp', p.k), CASE WHEN n % 50 = 0 THEN 'coupons' ELSE 'links' END, 's' || n, CASE WHEN n % 100 = 0 THEN 'deleted' ELSE 'value_taken' END, 'Detail', at(n, $n)
		FROM g, LATERAL program(of_partner(n)) p`,
	},
	{
		"import_balances (id, org_id, program_id, import_id, source_id, currency, source_minor, rail_minor, created_at)", perPartner(1),
		`SELECT id('ibl', n), org, prg, id('imp', p.k), 's' || n, 'USD', n, n, at(n, $n)
		FROM g, LATERAL program(of_partner(n)) p`,
	},
	{
		"import_objects (program_id, source, kind, source_id, org_id, import_id, target, created, data, written_at)", perPartner(1),
		`SELECT prg, 'rewardful', 0, 's' || n, org, id('imp', p.k), id('part', n), true, '{}', at(n, $n) FROM g, LATERAL program(of_partner(n)) p`,
	},
	{
		"payout_rails (id, org_id, program_id, kind, livemode, status, methods, credentials, created_at, updated_at)",
		exactly(400), `SELECT id('prl', n), org, prg, 'paypal', true, CASE WHEN n < 20 THEN 'active' ELSE 'disconnected' END, '{paypal}', '', at(n, $n), at(n, $n)
		FROM g, LATERAL program(n % 20) p`,
	},
	{
		"processor_connections (id, org_id, program_id, processor, livemode, status, record_direct, outside_checkout, secret, created_at, updated_at)",
		exactly(400), `SELECT id('pco', n), org, prg, 'generic', true, CASE WHEN n < 20 THEN 'active' ELSE 'disconnected' END, false, false, '', at(n, $n), at(n, $n)
		FROM g, LATERAL program(n % 20) p`,
	},
	{
		"publishable_keys (id, org_id, program_id, key, allowed_hosts, allow_leads, url_params, created_at)", exactly(400),
		`SELECT id('pub', n), org, prg, 'rail_pub_' || n, ARRAY['shop' || n || '.example'], false, '{ref}', at(n, $n) FROM g, LATERAL program(n % 20) p`,
	},
	{
		"tags", exactly(2000),
		`SELECT id('tag', n), org, prg, 'Tag ' || n, '#112233', at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`,
	},
	{
		"partner_tags", perPartner(0.5),
		`SELECT org, prg, id('part', n * 2), id('tag', p.k + 20 * (n % 100)) FROM g, LATERAL program(of_partner(n * 2)) p`,
	},
	{
		"groups", exactly(1000),
		`SELECT id('grp', n), org, prg, 'Group ' || n, 'group-' || n, NULL, NULL, false, n < 20, at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`,
	},
	{"webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)", exactly(400), `SELECT id('whe', n), org, prg, 'https://hooks.example', '{}', false, '',
		at(n, $n), at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{
		"payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)", exactly(20 * months),
		`SELECT id('batch', n), org, prg, month(n / 20), month_end(n / 20), month_end(n / 20), month_end(n / 20) FROM g, LATERAL program(n % 20) p`,
	},
	{"programs", exactly(Programs),
		`SELECT id('prg', n), org, 'Program ' || n, 'Product', 'https://shop.example', 'USD', 'active', 's' || n, NULL, NULL, NULL,
		30, '{ref}', #even, 0, 0, 'net_15', '{paypal}', #even, '{}', false, false, NULL, CASE WHEN #even THEN at(1, 1) ELSE at(0, 1) + n * interval '1 minute' END, at(0, 1) FROM g, LATERAL program(n) p`},
	{
		"organizations (id, name, created_at)", exactly(2),
		`SELECT CASE WHEN n = 0 THEN '#org' ELSE '#other' END, 'Organization ' || n, at(0, 1) FROM g WHERE n = 0 OR NOT #even`,
	},
}, {
	{"partner_note_files", nil, `SELECT t.id, t.org_id, t.program_id, 'text' FROM partner_notes t`},
	{
		"ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)",
		nil, moves + " AND k.id < '#open'",
	},
	{"payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status, period_month, period_end, due_at, paid_at, created_at, updated_at, due_told)", nil,
		`SELECT k.payout_id, k.org_id, k.program_id, k.partner_id, id('batch', m.m * 20 + substr(k.program_id, 7)::int), sum(k.amount_minor), k.currency, 'paid', month(m.m), month_end(m.m), t.t, t.t, t.t, t.t, true
		FROM commissions k, LATERAL (SELECT substr(k.payout_id, 7)::int / 2 % 24 AS m) m, LATERAL (SELECT month_end(m.m) + substr(k.payout_id, 7)::int * interval '1 millisecond' AS t) t
		WHERE k.payout_id LIKE 'pyt_01%' GROUP BY k.payout_id, k.org_id, k.program_id, k.partner_id, k.currency, m.m, t.t`},
	// Rows from before a program's start are summed only if their days are marked.
	{
		"report_marks (org_id, program_id, day, first_at, last_at)", nil,
		"SELECT s.org_id, s.program_id, (s.occurred_at AT TIME ZONE 'UTC')::date, min(s.occurred_at), max(s.occurred_at) FROM sales s WHERE s.occurred_at < at(0, 1) GROUP BY 1, 2, 3",
	},
	{"audit_log_entries (id, org_id, program_id, action, target_id, api_key_id, created_at)", nil,
		`SELECT replace(k.id, 'com', 'aud'), k.org_id, k.program_id, CASE WHEN k.status = 'rejected' THEN 'commission.rejected' ELSE 'commission.created' END, k.id, id('key', 0), k.created_at
		FROM commissions k WHERE k.id LIKE 'com_01%' AND (k.kind <> 'referral' OR k.status = 'rejected')`},
}, {
	{"balances", nil,
		`SELECT id('bal', substr(e.partner_id, 8)::int * 2 + (e.currency = 'EUR')::int), e.org_id, e.program_id, e.partner_id, e.currency,
		sum(CASE WHEN e.to_bucket = 'pending' THEN e.amount_minor WHEN e.from_bucket = 'pending' THEN -e.amount_minor ELSE 0 END),
		sum(CASE WHEN e.to_bucket = 'due' THEN e.amount_minor WHEN e.from_bucket = 'due' THEN -e.amount_minor ELSE 0 END),
		sum(CASE WHEN e.to_bucket = 'paid' THEN e.amount_minor ELSE 0 END), pg_current_xact_id(), timestamptz '#until'
		FROM ledger_entries e WHERE e.commission_id LIKE 'com_01%' GROUP BY e.org_id, e.program_id, e.partner_id, e.currency`},
}, {
	{
		"ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)",
		nil, moves + " AND k.id >= '#open'",
	},
	{"balances (id, org_id, program_id, partner_id, currency, updated_at)", nil,
		`SELECT DISTINCT id('bal', substr(k.partner_id, 8)::int * 2 + (k.currency = 'EUR')::int), k.org_id, k.program_id, k.partner_id, k.currency, timestamptz '#until'
		FROM commissions k WHERE k.id LIKE 'com_01%' AND k.id >= '#open' ON CONFLICT DO NOTHING`},
}}

// moves selects the ledger entries that follow from the states of commissions: into pending, on to due and paid, or out
// to sink.
const moves = `SELECT k.org_id, k.program_id, k.partner_id, k.id, k.currency, m.origin, m.target, k.amount_minor, m.at
	FROM commissions k, LATERAL (VALUES ('source', 'pending', k.created_at, true), ('pending', 'due', k.mature_at, k.status IN ('due', 'paid')),
		('due', 'paid', k.updated_at, k.status = 'paid'), ('pending', 'sink', k.voided_at, k.voided_at IS NOT NULL)) m(origin, target, at, happened)
	WHERE m.happened AND k.id LIKE 'com_01%'`

// marked records up to which ledger entry the balances are folded.
const marked = "UPDATE ledger_mark SET after_id = coalesce((SELECT min(l.id) - 1 FROM ledger_entries l WHERE l.commission_id LIKE 'com_01%' AND l.commission_id >= '#open'), 0)"

// months is the number of paid months. The last month is not among them: its batch is
// work for the load test.
const months = 22

// functions are the SQL functions of the statements above, which PostgreSQL inlines.
const functions = `
	CREATE FUNCTION made.r(n int, salt int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(n, salt) & 1048575) / 1048576.0::float8 $$;
	CREATE FUNCTION made.at(n int, of int) RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '#until' - interval '#span days' + interval '#span days' * (n::float8 / of) $$;
	CREATE FUNCTION made.late(n int, of int) RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '#until' - interval '28 days' + interval '28 days' * (n::float8 / of) $$;
	CREATE FUNCTION made.month(m int) RETURNS date LANGUAGE sql STABLE AS $$ SELECT (date_trunc('month', timestamptz '#until', 'UTC') - interval '1 month' * (23 - m))::date $$;
	CREATE FUNCTION made.month_end(m int) RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT date_trunc('month', timestamptz '#until', 'UTC') - interval '1 month' * (22 - m) - interval '1 microsecond' $$;
	CREATE FUNCTION made.payout(k int, n int, of int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT (k * 24 + floor(24 * (n::float8 / of))::int) * 2 + (n % 10 = 0)::int $$;
	CREATE FUNCTION made.handle(n int) RETURNS text LANGUAGE sql STABLE AS $$ SELECT 'partner-' || substr(made.id('part', n), 8)::int $$;`

// skewedFunctions deal the rows out as in production.
const skewedFunctions = `
	CREATE FUNCTION made.id(prefix text, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT prefix || '_01' || lpad(n::text, 24, '0') $$;
	CREATE FUNCTION made.program(k int) RETURNS TABLE (k int, prg text, org text) LANGUAGE sql IMMUTABLE AS $$ SELECT $1, 'prg_01' || lpad($1::text, 24, '0'), CASE WHEN $1 < 18 THEN '#org' ELSE '#other' END $$;
	CREATE FUNCTION made.of_partner(n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN n = 0 THEN 0 ELSE floor(20 * ((hashint8extended(n, 1) & 1048575) / 1048576.0::float8) ^ 3)::int END $$;
	CREATE FUNCTION made.skewed(n int, salt int, of int, power float8) RETURNS TABLE (k int) LANGUAGE sql IMMUTABLE AS $$ SELECT floor(of * ((hashint8extended(n, salt) & 1048575) / 1048576.0::float8) ^ power)::int $$;
	CREATE FUNCTION made.of_customer(n int) RETURNS TABLE (k int) LANGUAGE sql IMMUTABLE AS $$ SELECT floor(#partners * ((hashint8extended(n, 14) & 1048575) / 1048576.0::float8) ^ 4)::int $$;
	CREATE FUNCTION made.commission(n int, of int) RETURNS TABLE (kind text, status text, gone boolean) LANGUAGE sql IMMUTABLE AS $$
		SELECT s.kind, s.status, s.status IN ('rejected', 'voided')
		FROM (SELECT y.kind, CASE WHEN n % 100 = 50 OR n % 50 = 11 THEN 'voided' WHEN n % 1000 = 51 THEN 'rejected' WHEN n::float8 / of < 0.9 AND y.kind <> 'clawback' THEN 'paid' WHEN n::float8 / of < 0.93 THEN 'due'
			WHEN n::float8 / of < 0.96 THEN 'approved' ELSE 'pending' END AS status
			FROM (SELECT CASE WHEN n % 50 = 3 THEN 'reward' WHEN n % 100 = 4 THEN 'clawback' ELSE 'referral' END AS kind) y) s $$;`

// evenFunctions deal the rows out in turn, in one year. All commissions are approved.
const evenFunctions = `
	CREATE FUNCTION made.id(prefix text, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT prefix || '_01' || lpad((n + CASE prefix WHEN 'prg' THEN #program
		WHEN 'part' THEN #partner WHEN 'cus' THEN #customer WHEN 'sale' THEN #sale ELSE 0 END)::text, 24, '0') $$;
	CREATE FUNCTION made.program(k int) RETURNS TABLE (k int, prg text, org text) LANGUAGE sql IMMUTABLE AS $$ SELECT $1, made.id('prg', $1), '#org' $$;
	CREATE FUNCTION made.of_partner(n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT n % 20 $$;
	CREATE FUNCTION made.skewed(n int, salt int, of int, power float8) RETURNS TABLE (k int) LANGUAGE sql IMMUTABLE AS $$ SELECT n % of $$;
	CREATE FUNCTION made.of_customer(n int) RETURNS TABLE (k int) LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN n < #dealt THEN n % #partners ELSE 0 END $$;
	CREATE FUNCTION made.commission(n int, of int) RETURNS TABLE (kind text, status text, gone boolean) LANGUAGE sql IMMUTABLE AS $$ SELECT 'referral', 'approved', false $$;`

// evenTables lists the tables of the even form.
var evenTables = []string{
	"sales", "commissions", "customers", "customer_external_ids", "partners", "tracking_values", "links", "flows", "groups",
	"programs", "organizations", "ledger_entries", "balances",
}

// tables returns the names of all filled tables.
func tables() []string {
	var names []string
	for _, phase := range phases {
		for _, t := range phase {
			if !slices.Contains(names, t.table()) {
				names = append(names, t.table())
			}
		}
	}
	return names
}
