package sequence

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

// two writes a sequence of two mails, the second two days after the first.
func two(t *testing.T, pool *pgxpool.Pool, trigger db.SequenceTrigger, days *int64) {
	t.Helper()
	require.NoError(t, db.New().SequenceInsert(t.Context(), pool, db.SequenceInsertParams{
		ID: "seq_1", OrgID: "org_1", ProgramID: "prg_1", Name: "S", Status: db.SequenceStatusActive, Trigger: trigger,
		TriggerDays: days, CreatedAt: now, UpdatedAt: now,
	}))
	for i, delay := range []int64{0, 2} {
		require.NoError(t, db.New().SequenceStepInsert(t.Context(), pool, db.SequenceStepInsertParams{
			SequenceID: "seq_1", Position: int64(i), OrgID: "org_1", ProgramID: "prg_1", DelayDays: delay,
			Subject: "S", Body: "B",
		}))
	}
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// mailed are the mails in the outbox as "partner step".
func mailed(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	return pgtest.Text(t, pool, `SELECT string_agg(partner_id || ' ' || position, ', ' ORDER BY partner_id, position)
		FROM mails`)
}

func partner(id string) db.Partner { return db.Partner{ID: id, OrgID: "org_1", ProgramID: "prg_1"} }

// TestSteps moves partners on by the days between the mails; a second enrolment is
// none, one who has unsubscribed moves without mails, a suspended one stays.
func TestSteps(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 3)
	two(t, pool, db.SequenceTriggerApproved, nil)
	for _, id := range []string{"part_1", "part_1", "part_2", "part_3"} {
		require.NoError(t, Welcome(t.Context(), pool, partner(id), now))
	}
	exec(t, pool, "UPDATE partners SET unsubscribed_at = now() WHERE id = 'part_2'")
	exec(t, pool, "UPDATE partners SET status = 'suspended' WHERE id = 'part_3'")
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "part_1 0", mailed(t, pool))
	require.NoError(t, Run(t.Context(), pool, clock.At(now.Days(2).Add(-time.Second))))
	require.Equal(t, "part_1 0", mailed(t, pool))
	require.NoError(t, Run(t.Context(), pool, now.Days(2)))
	require.Equal(t, "part_1 0, part_1 1", mailed(t, pool))
	require.Equal(t, "part_1 2, part_2 2", pgtest.Text(t, pool, `SELECT string_agg(partner_id || ' ' || position, ', '
		ORDER BY partner_id) FROM sequence_enrolments WHERE completed_at IS NOT NULL`))
	exec(t, pool, "UPDATE partners SET status = 'active'")
	require.NoError(t, Run(t.Context(), pool, now.Days(2)))
	require.Equal(t, "part_1 0, part_1 1, part_3 0", mailed(t, pool), "it has kept its step")
}

// TestPaused: nobody moves while a sequence is paused, and one trigger starts no
// sequence of another.
func TestPaused(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 1)
	two(t, pool, db.SequenceTriggerFirstCommission, nil)
	require.NoError(t, Welcome(t.Context(), pool, partner("part_1"), now))
	require.NoError(t, Run(t.Context(), pool, now))
	require.Empty(t, mailed(t, pool))
	k := db.Commission{ID: "com_1", OrgID: "org_1", ProgramID: "prg_1", PartnerID: "part_1", CreatedAt: now}
	require.NoError(t, Earned(t.Context(), pool, k))
	exec(t, pool, "UPDATE sequences SET status = 'paused'")
	require.NoError(t, Run(t.Context(), pool, now))
	require.Empty(t, mailed(t, pool))
	exec(t, pool, "UPDATE sequences SET status = 'active'")
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "part_1 0", mailed(t, pool))
}

// TestIdle enrols who has neither a click nor a commission for the days of the
// sequence, once a day.
func TestIdle(t *testing.T) {
	t.Parallel()
	pool := pgtest.New(t)
	pgtest.Program(t, pool, 2)
	two(t, pool, db.SequenceTriggerIdle, new(int64(30)))
	exec(t, pool, `INSERT INTO clicks (id, org_id, program_id, partner_id, param, created_at)
		VALUES ('clk_1', 'org_1', 'prg_1', 'part_2', 'ref', '2026-08-20Z')`)
	require.NoError(t, Run(t.Context(), pool, now))
	require.Equal(t, "part_1 0", mailed(t, pool))
	later := clock.At(time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC))
	require.NoError(t, Run(t.Context(), pool, later))
	require.Contains(t, mailed(t, pool), "part_2 0")
}
