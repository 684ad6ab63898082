package campaign

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/postgres/pgtx"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

// draft writes a draft to the partners of some states, or to the active ones.
func draft(t *testing.T, pool *pgxpool.Pool, statuses ...string) db.Campaign {
	t.Helper()
	if statuses == nil {
		statuses = []string{}
	}
	c := db.Campaign{
		ID: "cmp_1", OrgID: "org_1", ProgramID: "prg_1", Name: "News", Subject: "News", Body: "Hello", GroupIds: []string{},
		TagIds: []string{}, Statuses: statuses, Status: db.CampaignStatusDraft, CreatedAt: now, UpdatedAt: now,
	}
	require.NoError(t, db.New().CampaignInsert(t.Context(), pool, db.CampaignInsertParams(c)))
	return c
}

func start(t *testing.T, pool *pgxpool.Pool, c db.Campaign) (out db.Campaign) {
	t.Helper()
	require.NoError(t, pgtx.Within(t.Context(), pool, func(tx *pgtx.Tx) (err error) {
		out, err = Start(t.Context(), tx, c, now)
		return err
	}))
	return out
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// recipients are who gets the campaign and how each fares.
func recipients(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	return pgtest.Text(t, pool, `SELECT string_agg(partner_id || ' ' || status, ', ' ORDER BY partner_id)
		FROM campaign_recipients`)
}

func status(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	return pgtest.Text(t, pool, "SELECT status FROM campaigns")
}

// TestSend follows a campaign from its start to its end: who has unsubscribed is
// counted and gets no mail, and a partner who is not active is nobody of it.
func TestSend(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 4)
	exec(t, pool, "UPDATE partners SET unsubscribed_at = now() WHERE id = 'part_2'")
	exec(t, pool, "UPDATE partners SET status = 'suspended' WHERE id = 'part_3'")
	c := start(t, pool, draft(t, pool))
	require.EqualValues(t, 3, c.Total)
	require.EqualValues(t, 1, c.Skipped)
	require.Equal(t, "part_1 queued, part_2 skipped, part_4 queued", recipients(t, pool))
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "part_1 mailed, part_2 skipped, part_4 mailed", recipients(t, pool))
	require.Equal(t, "1@example.com, 4@example.com",
		pgtest.Text(t, pool, "SELECT string_agg(recipient, ', ' ORDER BY recipient) FROM mails WHERE campaign_id = 'cmp_1'"))
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "sending", status(t, pool), "its mails are not out")
	exec(t, pool, "UPDATE campaign_recipients SET status = 'sent' WHERE status = 'mailed'")
	exec(t, pool, "UPDATE campaigns SET sent = 2")
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "sent", status(t, pool))
}

// TestPause takes back what has not gone, and goes on without writing twice to
// anybody who got it.
func TestPause(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 2)
	c := start(t, pool, draft(t, pool))
	require.NoError(t, Run(t.Context(), pool, now))
	exec(t, pool, "UPDATE mails SET status = 'sent', sent_at = now(), next_attempt_at = NULL WHERE partner_id = 'part_1'")
	exec(t, pool, "UPDATE campaign_recipients SET status = 'sent' WHERE partner_id = 'part_1'")
	require.NoError(t, pgtx.Within(t.Context(), pool, func(tx *pgtx.Tx) (err error) {
		if c, err = Pause(t.Context(), tx, c, now); err != nil {
			return err
		}
		return Save(t.Context(), tx, c)
	}))
	require.Equal(t, "part_1 sent, part_2 queued", recipients(t, pool))
	require.Equal(t, "1", pgtest.Text(t, pool, "SELECT count(*)::text FROM mails"))
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "part_1 sent, part_2 queued", recipients(t, pool), "nothing moves while it is paused")
	c = start(t, pool, c)
	require.EqualValues(t, 2, c.Total)
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "part_1 sent, part_2 mailed", recipients(t, pool))
}

// TestNobody: a campaign that matches nobody is not started, and one whose time
// has come is paused instead.
func TestNobody(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 1)
	c := start(t, pool, draft(t, pool, "pending"))
	require.Zero(t, c.Total)
	require.Equal(t, "draft", status(t, pool))
	exec(t, pool, "UPDATE campaigns SET status = 'scheduled', scheduled_at = '2026-09-01 12:00Z'")
	require.NoError(t, Run(t.Context(), pool, clock.At(now.Add(-time.Second))))
	require.Equal(t, "scheduled", status(t, pool))
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "paused", status(t, pool))
}
