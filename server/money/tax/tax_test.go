package tax_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/money/tax"
	"rail/server/postgres/pgtx"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

func TestFormOf(t *testing.T) {
	t.Parallel()
	require.Equal(t, db.TaxFormTypeW9, tax.FormOf(new("US"), nil))
	require.Equal(t, db.TaxFormTypeW9, tax.FormOf(new("US"), new("Ada Ltd")))
	require.Equal(t, db.TaxFormTypeW8bene, tax.FormOf(new("GB"), new("Ada Ltd")))
	require.Equal(t, db.TaxFormTypeW8ben, tax.FormOf(new("GB"), nil))
	require.Equal(t, db.TaxFormTypeW8ben, tax.FormOf(nil, nil))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	require.Nil(t, tax.Expiry("w9", now))
	require.Equal(t, "2029-12-31T23:59:59.999Z", tax.Expiry("w8ben", now).String())
	firstDay := clock.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Equal(t, "2029-12-31T23:59:59.999Z", tax.Expiry("w8bene", firstDay).String())
}

// forms are the partners' forms as "partner type status", the oldest first.
func forms(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	return pgtest.Text(t, pool, `SELECT string_agg(partner_id || ' ' || type || ' ' || status, ', '
		ORDER BY partner_id, created_at, id) FROM tax_form_statuses`)
}

func within(t *testing.T, pool *pgxpool.Pool, do func(*pgtx.Tx) error) {
	t.Helper()
	require.NoError(t, pgtx.Within(t.Context(), pool, do))
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// TestAsk has a program ask, stop, and ask again: nobody is asked twice, and a
// declined partner not at all.
func TestAsk(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 3)
	exec(t, pool, "UPDATE partners SET country_code = 'US' WHERE id = 'part_1'")
	exec(t, pool, "UPDATE partners SET status = 'declined' WHERE id = 'part_3'")
	ask := func(tx *pgtx.Tx) error { return tax.Ask(t.Context(), tx, "org_1", "prg_1", now) }
	within(t, pool, ask)
	asked := "part_1 w9 required, part_2 w8ben required"
	require.Equal(t, asked, forms(t, pool))
	within(t, pool, func(tx *pgtx.Tx) error { return tax.Excuse(t.Context(), tx, "org_1", "prg_1", now) })
	require.Equal(t, "part_1 w9 not_required, part_2 w8ben not_required", forms(t, pool))
	within(t, pool, ask)
	require.Equal(t, asked, forms(t, pool))
	within(t, pool, func(tx *pgtx.Tx) error { return tax.Ask(t.Context(), tx, "org_2", "prg_1", now) })
	require.Equal(t, asked, forms(t, pool), "another organization asks nobody")
}

// TestAskRest asks whom a program that asks has left out, and leaves programs
// alone that do not ask.
func TestAskRest(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 2)
	require.NoError(t, tax.AskRest(t.Context(), pool, now))
	require.Empty(t, forms(t, pool))
	exec(t, pool, "UPDATE programs SET require_tax_forms = true")
	within(t, pool, func(tx *pgtx.Tx) error {
		return tax.AskOne(t.Context(), tx, db.Partner{ID: "part_2", OrgID: "org_1", ProgramID: "prg_1"}, now)
	})
	require.NoError(t, tax.AskRest(t.Context(), pool, now))
	require.NoError(t, tax.AskRest(t.Context(), pool, now))
	require.Equal(t, "part_1 w8ben required, part_2 w8ben required", forms(t, pool))
}

// TestExpire retires forms at their last moment and not before, and asks anew
// where the program does.
func TestExpire(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 1)
	exec(t, pool, `INSERT INTO tax_form_statuses (id, org_id, program_id, partner_id, type, status, signed_at, expires_at,
		created_at, updated_at) VALUES ('tax_1', 'org_1', 'prg_1', 'part_1', 'w8ben', 'submitted', '2022-09-01Z',
		'2026-09-01 12:00Z', '2022-09-01Z', '2022-09-01Z')`)
	expire := func(at clock.Time) (n int) {
		within(t, pool, func(tx *pgtx.Tx) (err error) { n, err = tax.Expire(t.Context(), tx, at, 10); return err })
		return n
	}
	require.Zero(t, expire(clock.At(now.Add(-time.Millisecond))))
	require.Equal(t, 1, expire(now))
	require.Equal(t, "part_1 w8ben expired", forms(t, pool))
	exec(t, pool, "UPDATE programs SET require_tax_forms = true")
	exec(t, pool, "UPDATE tax_form_statuses SET status = 'submitted'")
	require.Equal(t, 1, expire(now))
	require.Equal(t, "part_1 w8ben expired, part_1 w8ben required", forms(t, pool))
	require.Zero(t, expire(now))
}
