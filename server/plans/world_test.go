package plans_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"rail/server/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// share divides the numbers of rows: the test runs on a tenth, and on
// everything (a million sales, commissions and clicks) with RAIL_TEST_FULL=1.
func share() int {
	if os.Getenv("RAIL_TEST_FULL") == "1" {
		return 1
	}
	return 10
}

// fill makes the rows. Their numbers n are spread over the parts of a
// year before 2026-09-01; r(n, salt) is a number in [0, 1) that is the same in
// every run. The first of everything has the most: the first program has a
// third of the partners, the first partner 7 % of the customers.
var fill = []struct {
	table string
	rows  int
	sql   string // $n is the number of rows; #p, #c and #l those of partners, customers and the ledger
}{
	{"organizations", 2, `SELECT 'org_' || n, 'Org ' || n, NULL, at(n, $n) FROM g`},
	{"programs", 20, `SELECT id('prg', n), CASE WHEN n < 18 THEN 'org_0' ELSE 'org_1' END, 'Program ' || n, 'Product', 'https://shop.example', 'USD', 'active', 's' || n, NULL, NULL, NULL,
		30, '{ref}', false, 0, 0, 'net_15', '{paypal}', false, '{}', false, false, NULL, at(n, $n), at(n, $n) FROM g`},
	{"groups", 1000, `SELECT id('grp', n), org, prg, 'Group ' || n, 'group-' || n, NULL, NULL, false, n < 20, at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{"tags", 2000, `SELECT id('tag', n), org, prg, 'Tag ' || n, '#112233', at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{"partners", 50_000, `SELECT id('part', n), org, prg, CASE WHEN r(n, 2) < 0.8 THEN id('grp', p.k + 20 * floor(50 * r(n, 3) ^ 3)::int) END, 'partner' || n || '@example.com',
		'First' || n % 997, 'Last' || n % 1009, NULL, CASE WHEN n % 7 = 0 THEN 'Company ' || n END, NULL, 'US', NULL, 'partner-' || n,
		CASE WHEN r(n, 4) < 0.85 THEN 'active' WHEN r(n, 4) < 0.95 THEN 'pending' WHEN r(n, 4) < 0.98 THEN 'declined' ELSE 'suspended' END,
		NULL, NULL, NULL, NULL, NULL, false, true, true, true, NULL, NULL, NULL, at(n, $n), at(n, $n) FROM g, LATERAL program(of_partner(n)) p`},
	{"webhook_endpoints (id, org_id, program_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)", 400, `SELECT id('whe', n), org, prg, 'https://hooks.example', '{}', true, '',
		at(n, $n), at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{"applications (id, org_id, program_id, partner_id, email, status, created_at, updated_at)", 50_000, `SELECT id('app', n), org, prg, id('part', n % #p), 'x', CASE WHEN n % 50 = 0 THEN 'withdrawn' WHEN n % 9 = 0 THEN 'pending' WHEN n % 3 = 0 THEN 'rejected' ELSE 'approved' END,
		at(n, $n), at(n, $n) FROM g, LATERAL program(of_partner(n % #p)) p`},
	{"resources (id, org_id, program_id, kind, title, url, folder, group_ids, tag_ids, position, published, created_at, updated_at)", 20_000, `SELECT id('res', n), org, prg, 'link', 'T', 'https://x.example', CASE WHEN n % 3 > 0 THEN 'f' || n % 5 END,
		'{}', '{}', n, false, at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{"campaigns (id, org_id, program_id, name, subject, body, group_ids, tag_ids, statuses, status, created_at, updated_at)", 20_000, `SELECT id('camp', n), org, prg, 'C', 'S', 'B', '{}', '{}', '{}', 'draft', at(n, $n), at(n, $n)
		FROM g, LATERAL program(n % 20) p`},
	{"sequences (id, org_id, program_id, name, status, trigger, created_at, updated_at)", 20_000, `SELECT id('seq', n), org, prg, 'S', 'active', 'approved', at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	{"tax_form_statuses", 50_000, `SELECT id('tax', n), org, prg, id('part', n % #p), 'w9', CASE WHEN n % 50 = 0 THEN 'expired' WHEN n % 3 = 0 THEN 'required' ELSE 'submitted' END,
		NULL, NULL, NULL, NULL, at(n, $n), at(n, $n) FROM g, LATERAL program(of_partner(n % #p)) p`},
	{"links", 60_000, `SELECT id('lnk', n), org, prg, id('part', n % #p), 'ref', 'value' || n, 'value' || n, 'https://shop.example/', 'shop.example/', 'slug' || n, NULL, NULL,
		at(n, $n), at(n, $n), CASE WHEN n % 20 = 0 THEN at(n, $n) END FROM g, LATERAL program(of_partner(n % #p)) p`},
	{"coupons", 50_000, `SELECT id('cpn', n), org, prg, CASE WHEN n % 10 > 0 THEN id('part', k.k) END, NULL, 'CODE' || n, NULL, true, at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 5, #p, 4) k, LATERAL program(of_partner(k.k)) p`},
	{"referrals", 200_000, `SELECT id('ref', n), org, prg, id('part', k.k), id('lnk', k.k), int4send(n), true, NULL, NULL, 'link',
		CASE WHEN r(n, 6) < 0.7 THEN 'visit' WHEN r(n, 6) < 0.97 THEN 'lead' ELSE 'converted' END, at(n, $n) + interval '30 days', at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 7, #p, 4) k, LATERAL program(of_partner(k.k)) p`},
	{"clicks", 1_000_000, `SELECT id('clk', n), org, prg, id('part', k.k), id('lnk', k.k), CASE WHEN n % 2 = 0 THEN id('ref', floor(r(n, 8) * 200000 / #s)::int) END,
		'ref', NULL, 'Mozilla/5.0', NULL, 'US', 'desktop', 'https://shop.example/', at(n, $n)
		FROM g, LATERAL skewed(n, 9, #p, 4) k, LATERAL program(of_partner(k.k)) p`},
	{"customers", 200_000, `SELECT id('cus', n), org, prg, id('part', k.k), id('ref', n), id('lnk', k.k), NULL, NULL, NULL, 'ext' || n, NULL, 'customer' || n || '@example.com', NULL, NULL,
		CASE WHEN r(n, 10) < 0.4 THEN 'lead' WHEN r(n, 10) < 0.9 THEN 'active' WHEN r(n, 10) < 0.98 THEN 'cancelled' WHEN r(n, 10) < 0.998 THEN 'refunded' ELSE 'suspended' END,
		'link', at(n, $n), at(n, $n), NULL, at(n, $n), at(n, $n) FROM g, LATERAL of_customer(n) k, LATERAL program(of_partner(k.k)) p`},
	{`flows (id, org_id, program_id, name, description, group_id, partner_id, trigger, action, target_group_id, rate_type, rate_value,
		approval_mode, approval_delay_days, priority, status, branches, created_at, updated_at)`, 5000, `SELECT id('flw', n), org, prg, 'Flow ' || n, NULL, CASE WHEN n % 5 = 1 THEN id('grp', n % 20) END, CASE WHEN n % 5 = 2 THEN id('part', n % 50) END, 'new_payment', 'generate_commission',
		NULL, 'percent', 2000, 'manual', NULL, n % 100, CASE WHEN n % 3 = 0 THEN 'active' ELSE 'inactive' END, '[]', at(n, $n), at(n, $n) FROM g, LATERAL program(n % 20) p`},
	// One sale in fifty is of an old charge, recorded later; one in fifty is refunded.
	{"sales", 1_000_000, `SELECT id('sale', n), org, prg, id('cus', x.k), id('part', k.k), 'ch_' || n, NULL, 'api', 4999, NULL, CASE WHEN n % 10 > 0 THEN 'USD' ELSE 'EUR' END, 'one_time', NULL, NULL, NULL,
		false, 'commission_created', '[]', at(n, $n) - CASE WHEN n % 50 = 7 THEN interval '400 days' ELSE interval '1 hour' END * r(n, 12), CASE WHEN n % 50 = 11 THEN at(n, $n) END, NULL, at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 11, #c, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p`},
	{"payouts", 50_000, `SELECT id('pyt', n), org, prg, id('part', n), 'batch', 100, 'USD', 'paid', NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01', at(n, $n), at(n, $n), at(n, $n), at(n, $n), at(n, $n)
		FROM g, LATERAL program(of_partner(n)) p`},
	{"commissions", 1_000_000, `SELECT id('com', n), org, prg, id('part', k.k), CASE WHEN n % 50 <> 3 THEN id('sale', n) END, id('cus', x.k), NULL, NULL,
		y.kind, CASE WHEN y.kind = 'clawback' THEN -999 ELSE 999 END, 4999, 'percent', 2000, CASE WHEN n % 10 > 0 THEN 'USD' ELSE 'EUR' END, y.status, at(n, $n), NULL, NULL,
		CASE WHEN y.gone THEN at(n, $n) END, CASE WHEN y.gone THEN 'refunded' END, CASE WHEN y.status = 'paid' THEN id('pyt', k.k) END, NULL, at(n, $n), at(n, $n)
		FROM g, LATERAL skewed(n, 11, #c, 2) x, LATERAL of_customer(x.k) k, LATERAL program(of_partner(k.k)) p, LATERAL commission(n, $n) y`},
	{"balances", 55_000, `SELECT id('bal', n), org, prg, id('part', n % #p), CASE WHEN n < #p THEN 'USD' ELSE 'EUR' END, 0, 0, 0, (#l - 2000)::text::xid8, at(n, $n)
		FROM g, LATERAL program(of_partner(n % #p)) p`},
	{"ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at, created_xid)", 200_000,
		`SELECT org, prg, id('part', k.k), id('com', n), 'USD', 'source', 'pending', 999, at(n, $n), n::text::xid8
		FROM g, LATERAL skewed(n, 13, #p, 4) k, LATERAL program(of_partner(k.k)) p`},
}

// functions are inlined into the statements above.
const functions = `
	CREATE SCHEMA made;
	CREATE FUNCTION made.r(n int, salt int) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT (hashint8extended(n, salt) & 1048575) / 1048576.0::float8 $$;
	CREATE FUNCTION made.at(n int, of int) RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '2025-09-01 00:00Z' + interval '365 days' * (n::float8 / of) $$;
	CREATE FUNCTION made.id(prefix text, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT prefix || '_01' || lpad(n::text, 24, '0') $$;
	CREATE FUNCTION made.program(k int) RETURNS TABLE (k int, prg text, org text) LANGUAGE sql IMMUTABLE AS $$ SELECT $1, 'prg_01' || lpad($1::text, 24, '0'), CASE WHEN $1 < 18 THEN 'org_0' ELSE 'org_1' END $$;
	CREATE FUNCTION made.of_partner(n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN n = 0 THEN 0 ELSE floor(20 * ((hashint8extended(n, 1) & 1048575) / 1048576.0::float8) ^ 3)::int END $$;
	CREATE FUNCTION made.skewed(n int, salt int, of int, power float8) RETURNS TABLE (k int) LANGUAGE sql IMMUTABLE AS $$ SELECT floor(of * ((hashint8extended(n, salt) & 1048575) / 1048576.0::float8) ^ power)::int $$;
	CREATE FUNCTION made.of_customer(n int) RETURNS TABLE (k int) LANGUAGE sql IMMUTABLE AS $$ SELECT floor(#p * ((hashint8extended(n, 14) & 1048575) / 1048576.0::float8) ^ 4)::int $$;
	CREATE FUNCTION made.commission(n int, of int) RETURNS TABLE (kind text, status text, gone boolean) LANGUAGE sql IMMUTABLE AS $$
		SELECT CASE WHEN n % 50 = 3 THEN 'reward' WHEN n % 100 = 4 THEN 'clawback' ELSE 'referral' END, s.status, s.status IN ('rejected', 'voided')
		FROM (SELECT CASE WHEN n % 100 = 50 THEN 'voided' WHEN n % 1000 = 51 THEN 'rejected' WHEN n::float8 / of < 0.8 THEN 'paid' WHEN n::float8 / of < 0.85 THEN 'due'
			WHEN n::float8 / of < 0.9 THEN 'approved' ELSE 'pending' END AS status) s $$;`

// load fills the database at dsn over two connections. Triggers and foreign
// keys rest meanwhile, and the plain indexes are made after the rows, as they
// were.
func load(t testing.TB, dsn string) {
	cfg, err := pgxpool.ParseConfig(dsn)
	require.NoError(t, err)
	cfg.MaxConns = 2
	for name, value := range map[string]string{
		"session_replication_role": "replica", "synchronous_commit": "off", "maintenance_work_mem": "256MB", "work_mem": "128MB",
		"jit": "off", "search_path": "public, made", "max_parallel_maintenance_workers": "0", "max_parallel_workers_per_gather": "0",
	} {
		cfg.ConnConfig.RuntimeParams[name] = value
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	defer pool.Close()
	run := func(statements ...string) {
		group, ctx := errgroup.WithContext(t.Context())
		group.SetLimit(int(cfg.MaxConns))
		for _, sql := range statements {
			group.Go(func() error {
				if _, err := pool.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
					return fmt.Errorf("%s: %w", sql, err)
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
	}
	numbers := strings.NewReplacer("#p", fmt.Sprint(50_000/share()), "#c", fmt.Sprint(200_000/share()), "#l", fmt.Sprint(200_000/share()), "#s", fmt.Sprint(share()))
	run(numbers.Replace(functions))
	rows, err := pool.Query(t.Context(), `SELECT pg_get_indexdef(x.indexrelid), x.indexrelid::regclass::text FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid
		WHERE c.relnamespace = 'public'::regnamespace AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = x.indexrelid)
		ORDER BY c.relname IN ('sales', 'commissions', 'clicks') DESC, 1`)
	require.NoError(t, err)
	var indexes, names []string
	var def, name string
	_, err = pgx.ForEachRow(rows, []any{&def, &name}, func() error {
		indexes, names = append(indexes, def), append(names, name)
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(names), 50)
	run("DROP INDEX " + strings.Join(names, ", "))
	var inserts []string
	for _, f := range fill {
		n := f.rows
		if n > 2000 {
			n /= share()
		}
		inserts = append(inserts, "INSERT INTO "+f.table+" WITH g AS MATERIALIZED (SELECT n FROM generate_series(0, "+fmt.Sprint(n-1)+") n) "+
			strings.ReplaceAll(numbers.Replace(f.sql), "$n", fmt.Sprint(n)))
	}
	slices.Reverse(inserts) // the largest first, so that both connections have work to the end
	run(inserts...)
	run(indexes...)
	run("DROP SCHEMA made CASCADE")
	var vacuums []string
	for _, f := range fill {
		table, _, _ := strings.Cut(f.table, " ")
		vacuums = append(vacuums, "VACUUM (ANALYZE) "+table)
	}
	run(vacuums...)
}
