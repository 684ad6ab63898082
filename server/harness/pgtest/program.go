package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// Program adds the program prg_1 of the organization org_1, with so many active
// partners, part_1 and on, who joined at the beginning of 2026.
func Program(t testing.TB, pool *pgxpool.Pool, partners int) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Org', '2026-01-01Z')`,
		`INSERT INTO programs (id, org_id, name, product_name, website_url, currency, status, subdomain, cookie_days,
			url_params, commission_on_net_revenue, holding_period_days, min_payout_minor, payout_term, payout_methods,
			block_self_referrals, blocked_countries, require_tax_forms, auto_payouts_enabled, created_at, updated_at)
			VALUES ('prg_1', 'org_1', 'P', 'P', 'https://p.example', 'USD', 'active', 'p', 30, '{ref}', false, 30, 0,
			'net_30', '{}', true, '{}', false, false, '2026-01-01Z', '2026-01-01Z')`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	_, err := pool.Exec(t.Context(), `
		INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
		SELECT 'part_' || n, 'org_1', 'prg_1', n || '@example.com', 'part-' || n, 'active', '2026-01-01Z', '2026-01-01Z'
		FROM generate_series(1, $1::int) n`, partners)
	require.NoError(t, err)
}

// Text returns the text that a statement reads, or "" where it reads nothing.
func Text(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) string {
	t.Helper()
	var text *string
	require.NoError(t, pool.QueryRow(t.Context(), sql, args...).Scan(&text))
	if text == nil {
		return ""
	}
	return *text
}
