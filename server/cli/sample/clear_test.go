package sample_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/cli/sample"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/secret"
)

// ahead lists the columns whose times may be in the future.
var ahead = map[string]bool{
	"mature_at": true, "approve_at": true, "expires_at": true, "due_at": true, "next_attempt_at": true,
	"scheduled_at": true,
}

func keeper(t *testing.T) *secret.Keeper {
	t.Helper()
	k, err := secret.New([32]byte{1})
	require.NoError(t, err)
	return k
}

func loaded(t *testing.T) (pool *pgxpool.Pool, org string, now clock.Time) {
	t.Helper()
	pool, org, now = pgtest.New(t), ident.New(ident.Organization), clock.System{}.Now()
	require.NoError(t, db.New().OrganizationInsert(t.Context(), pool, db.OrganizationInsertParams{
		ID: org, Name: "Demo", CreatedAt: now,
	}))
	require.NoError(t, sample.Load(t.Context(), pool, keeper(t), org, now))
	return pool, org, now
}

func TestUnknownOrganization(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	require.ErrorIs(t, sample.Load(t.Context(), pool, keeper(t), "org_x", clock.System{}.Now()), sample.ErrNoOrganization)
	require.ErrorIs(t, sample.Clear(t.Context(), pool, "org_x"), sample.ErrNoOrganization)
}

// All times are in the past, except those of ahead, and there are no events.
func TestPast(t *testing.T) {
	t.Parallel()
	pool, _, now := loaded(t)
	require.Zero(t, count(t, pool, "events"))
	for _, c := range columns(t, pool, "data_type = 'timestamp with time zone'") {
		if ahead[c[1]] {
			continue
		}
		var last *time.Time
		sql := "SELECT max(" + pgx.Identifier{c[1]}.Sanitize() + ") FROM " + pgx.Identifier{c[0]}.Sanitize()
		require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&last), c)
		require.True(t, last == nil || !last.After(now.Time), "%v %v", c, last)
	}
}

// Clear deletes everything of the program, including later rows, and nothing of another.
func TestClearTakesAll(t *testing.T) {
	t.Parallel()
	pool, org, now := loaded(t)
	ctx := t.Context()
	for _, sql := range []string{
		`INSERT INTO programs SELECT (jsonb_populate_record(p, '{"id": "prg_own"}')).* FROM programs p`,
		`INSERT INTO partners SELECT (jsonb_populate_record(p, '{"id": "part_own", "program_id": "prg_own", "group_id": null, "mail_token": "own"}')).* FROM partners p LIMIT 1`,
		`INSERT INTO partners SELECT (jsonb_populate_record(p, '{"id": "part_late", "handle": "late", "email": "late@example.com", "mail_token": "late"}')).* FROM partners p WHERE p.id LIKE 'sample%' LIMIT 1`,
		`INSERT INTO risk_flags (id, org_id, program_id, partner_id, kind, severity, status, evidence, created_at)
			SELECT 'rsk_a', org_id, program_id, id, 'self_referral', 'high', 'open', '{}', now() FROM partners WHERE id = 'part_late'`,
		`INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, created_at)
			SELECT 'aud_a', org_id, program_id, 'commission.approve', id, now() FROM partners WHERE id = 'part_late'`,
	} {
		_, err := pool.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	require.NoError(t, sample.Clear(ctx, pool, org))
	for _, c := range columns(t, pool, "column_name = 'program_id'") {
		// Rows of these tables stay: they sum to zero, which the audit below checks.
		if c[0] != "ledger_entries" && c[0] != "audit_log_entries" && c[0] != "tally_entries" {
			require.Zero(t, count(t, pool, "(SELECT 1 FROM "+c[0]+" WHERE program_id LIKE 'sample%')"), c[0])
		}
	}
	require.Equal(t, 1, count(t, pool, "programs"))
	require.Equal(t, 1, count(t, pool, "partners"))
	require.Equal(t, 1, count(t, pool, "audit_log_entries"))
	clean(t, pool)
	require.NoError(t, sample.Clear(ctx, pool, org), "nothing to clear")
	require.NoError(t, sample.Load(ctx, pool, keeper(t), org, now))
}

// columns returns the tables and columns that match a condition.
func columns(t *testing.T, pool *pgxpool.Pool, where string) [][2]string {
	t.Helper()
	rows, err := pool.Query(t.Context(),
		`SELECT c.table_name, c.column_name
		FROM information_schema.columns c JOIN information_schema.tables x USING (table_schema, table_name)
		WHERE c.table_schema = 'public' AND x.table_type = 'BASE TABLE' AND x.table_name <> 'schema_migrations'
			AND c.`+where)
	require.NoError(t, err)
	var out [][2]string
	var table, column string
	_, err = pgx.ForEachRow(rows, []any{&table, &column}, func() error {
		out = append(out, [2]string{table, column})
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}
