package sequence

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

// tenant returns a tenant with partners, at the time of this test's mails.
func tenant(t *testing.T, partners int) *worktest.Tenant {
	t.Helper()
	x := worktest.New(t)
	x.Partners(partners)
	x.Now = now
	return x
}

// two starts a sequence of two mails, the second two days after the first.
func two(x *worktest.Tenant, trigger db.SequenceTrigger, days *int64) (s db.Sequence) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		s, err = Create(ctx, u, Input{
			ProgramID: x.Program.ID, Name: "S", Trigger: trigger, TriggerDays: days,
			Steps: []Step{{Subject: "S", Body: "B"}, {DelayDays: 2, Subject: "S", Body: "B"}},
		})
		return err
	})
	return s
}

// run runs the job at a time.
func run(x *worktest.Tenant, at clock.Time) {
	x.Helper()
	require.NoError(x, Run(x.Context(), x.Pool, at))
}

// mailed returns the mails in the outbox as "partner step".
func mailed(x *worktest.Tenant) []string {
	x.Helper()
	return worktest.Rows[string](x, "SELECT partner_id || ' ' || position FROM mails ORDER BY partner_id, position")
}

func partner(x *worktest.Tenant, id string) db.Partner {
	return db.Partner{ID: id, OrgID: x.OrgID, ProgramID: x.Program.ID}
}

// TestSteps moves partners by the delays between mails; a second enrolment is ignored, an unsubscribed partner
// advances without mails, a suspended one stays.
func TestSteps(t *testing.T) {
	t.Parallel()
	x := tenant(t, 3)
	two(x, db.SequenceTriggerApproved, nil)
	for _, id := range []string{"part_1", "part_1", "part_2", "part_3"} {
		require.NoError(t, EnrolApproved(t.Context(), x.Pool, partner(x, id), now))
	}
	x.Exec("UPDATE partners SET unsubscribed_at = now() WHERE id = 'part_2'")
	x.Exec("UPDATE partners SET status = 'suspended' WHERE id = 'part_3'")
	run(x, now)
	require.Equal(t, []string{"part_1 0"}, mailed(x))
	run(x, clock.At(now.Days(2).Add(-time.Second)))
	require.Equal(t, []string{"part_1 0"}, mailed(x))
	run(x, now.Days(2))
	require.Equal(t, []string{"part_1 0", "part_1 1"}, mailed(x))
	require.Equal(t, []string{"part_1 2", "part_2 2"}, worktest.Rows[string](x, `SELECT partner_id || ' ' || position
		FROM sequence_enrolments WHERE completed_at IS NOT NULL ORDER BY partner_id`))
	x.Exec("UPDATE partners SET status = 'active'")
	run(x, now.Days(2))
	require.Equal(t, []string{"part_1 0", "part_1 1", "part_3 0"}, mailed(x), "it has kept its step")
}

// TestPaused: partners stay while a sequence is paused, and a trigger starts no sequence of another.
func TestPaused(t *testing.T) {
	t.Parallel()
	x := tenant(t, 1)
	two(x, db.SequenceTriggerFirstCommission, nil)
	require.NoError(t, EnrolApproved(t.Context(), x.Pool, partner(x, "part_1"), now))
	run(x, now)
	require.Empty(t, mailed(x))
	k := db.Commission{ID: "com_1", OrgID: x.OrgID, ProgramID: x.Program.ID, PartnerID: "part_1", CreatedAt: now}
	require.NoError(t, EnrolFirst(t.Context(), x.Pool, k))
	x.Exec("UPDATE sequences SET status = 'paused'")
	run(x, now)
	require.Empty(t, mailed(x))
	x.Exec("UPDATE sequences SET status = 'active'")
	run(x, now)
	require.Equal(t, []string{"part_1 0"}, mailed(x))
}

// TestIdle enrols partners without clicks and commissions for the sequence's days, once a day.
func TestIdle(t *testing.T) {
	t.Parallel()
	x := tenant(t, 2)
	two(x, db.SequenceTriggerIdle, new(int64(30)))
	x.Exec(`INSERT INTO clicks (id, org_id, program_id, partner_id, param, created_at)
		VALUES ('clk_1', $1, $2, 'part_2', 'ref', '2026-08-20Z')`, x.OrgID, x.Program.ID)
	run(x, now)
	require.Equal(t, []string{"part_1 0"}, mailed(x))
	later := clock.At(time.Date(2026, 9, 20, 12, 0, 0, 0, time.UTC))
	run(x, later)
	require.Contains(t, mailed(x), "part_2 0")
}

// Days are only for the trigger idle, which requires them.
func TestTriggerDays(t *testing.T) {
	t.Parallel()
	x := tenant(t, 0)
	for trigger, want := range map[db.SequenceTrigger]problem.Code{
		db.SequenceTriggerIdle:            problem.ParameterMissing,
		db.SequenceTriggerApproved:        problem.ParameterInvalid,
		db.SequenceTriggerFirstCommission: problem.ParameterInvalid,
	} {
		in := Input{ProgramID: x.Program.ID, Name: "S", Trigger: trigger}
		if trigger != db.SequenceTriggerIdle {
			in.TriggerDays = new(int64(30))
		}
		x.Refused(want, "trigger_days", func(ctx context.Context, u *work.Unit) error {
			_, err := Create(ctx, u, in)
			return err
		})
	}
	require.Empty(t, worktest.Rows[string](x, "SELECT id FROM sequences"))
}

// A program's flag shows whether a sequence waits for first commissions.
func TestNoteTrigger(t *testing.T) {
	t.Parallel()
	x := tenant(t, 0)
	waits := func() []bool { return worktest.Rows[bool](x, "SELECT enrols_first_commission FROM programs") }
	two(x, db.SequenceTriggerApproved, nil)
	require.Equal(t, []bool{false}, waits())
	a, b := two(x, db.SequenceTriggerFirstCommission, nil), two(x, db.SequenceTriggerFirstCommission, nil)
	require.Equal(t, []bool{true}, waits())
	for _, s := range []struct {
		id   string
		left bool
	}{{a.ID, true}, {b.ID, false}} {
		x.Must(func(ctx context.Context, u *work.Unit) error { return Delete(ctx, u, s.id) })
		require.Equal(t, []bool{s.left}, waits())
	}
}

// Setting the same status changes nothing.
func TestSetStatus(t *testing.T) {
	t.Parallel()
	x := tenant(t, 0)
	s := two(x, db.SequenceTriggerApproved, nil)
	set := func(status db.SequenceStatus) (got db.Sequence) {
		x.Now = x.Now.Days(1)
		x.Must(func(ctx context.Context, u *work.Unit) (err error) {
			got, err = SetStatus(ctx, u, s.ID, status)
			return err
		})
		return got
	}
	require.Equal(t, s.UpdatedAt, set(db.SequenceStatusActive).UpdatedAt)
	paused := set(db.SequenceStatusPaused)
	require.Equal(t, db.SequenceStatusPaused, paused.Status)
	require.Equal(t, x.Now, paused.UpdatedAt)
	require.Equal(t, paused, set(db.SequenceStatusPaused))
}
