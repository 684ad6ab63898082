package backlog

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// filled is a database where something of everything waits.
func filled(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', '2026-01-01')`,
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, next_attempt_at, created_at)
		SELECT 'mail_' || n, 'org_1', 'x', n, 'a@b.example', '', '', 'queued', '2026-09-01T11:00:00Z'::timestamptz
			+ n * interval '30 minutes', '2026-09-01' FROM generate_series(1, 4) n`,
		`INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total) SELECT 'org_1', id, 'payouts', o, 'paid',
			'', 7 FROM programs, unnest(ARRAY['', 'part_1']) o`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	return pool
}

func TestRead(t *testing.T) {
	t.Parallel()
	pool := filled(t)
	r := NewReader(pool, clock.NewManual(noon))
	s, err := r.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, s.Mails)
	require.InDelta(t, 1800, s.MailsDue, 0, "the first is due since 11:30; two are not due yet")
	require.Zero(t, s.Deliveries)
	require.Positive(t, s.Bytes)

	_, err = pool.Exec(t.Context(), "DELETE FROM mails")
	require.NoError(t, err)
	again, err := r.Read(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 4, again.Mails, "those who ask at once get one answer")
	r.at = r.at.Add(-fresh - time.Second)
	s, err = r.Read(t.Context())
	require.NoError(t, err)
	require.Zero(t, s.Mails)
}

// What was read does not depend on whether who asked first still waits.
func TestReadForAnother(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := NewReader(pgtest.New(t), clock.NewManual(noon)).Read(ctx)
	require.NoError(t, err)
}

// A queue is counted up to a limit.
func TestBounded(t *testing.T) {
	t.Parallel()
	row, err := db.New().Backlog(t.Context(), filled(t), db.BacklogParams{Now: clock.At(noon), Lim: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, row.Mails)
}
