package campaign_test

import (
	"context"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/outbound/campaign"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var now = clock.At(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))

// mails is an outbox whose mails are sent.
var mails = &mail.Outbox{Configured: true}

// tenant returns a tenant with partners, at the time of this test's mails.
func tenant(t *testing.T, partners int) *worktest.Tenant {
	t.Helper()
	x := worktest.New(t)
	x.Partners(partners)
	x.Now = now
	return x
}

// draft writes a draft to the partners of some states, or to active ones.
func draft(x *worktest.Tenant, statuses ...string) (c db.Campaign) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		c, err = campaign.Create(ctx, u, campaign.Input{
			ProgramID: x.Program.ID, Name: "News", Subject: "News", Body: "Hello", Audience: campaign.Audience{Statuses: statuses},
		})
		return err
	})
	return c
}

func send(x *worktest.Tenant, id string) (c db.Campaign) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		c, err = campaign.Send(ctx, u, mails, id)
		return err
	})
	return c
}

func update(x *worktest.Tenant, id string, to campaign.Changes) (c db.Campaign) {
	x.Helper()
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		c, err = campaign.Update(ctx, u, id, to)
		return err
	})
	return c
}

// run runs the job at a time.
func run(x *worktest.Tenant, at clock.Time) {
	x.Helper()
	require.NoError(x, campaign.Run(x.Context(), x.Pool, at))
}

// recipients returns the recipients of the campaign with their states.
func recipients(x *worktest.Tenant) []string {
	x.Helper()
	return worktest.Rows[string](x, "SELECT partner_id || ' ' || status FROM campaign_recipients ORDER BY partner_id")
}

func requireStatus(x *worktest.Tenant, want db.CampaignStatus) {
	x.Helper()
	require.Equal(x, []db.CampaignStatus{want}, worktest.Rows[db.CampaignStatus](x, "SELECT status FROM campaigns"))
}

// TestSend follows a campaign from start to end: an unsubscribed partner is counted and gets no mail, and an
// inactive partner is not in the audience.
func TestSend(t *testing.T) {
	t.Parallel()
	x := tenant(t, 4)
	x.Exec("UPDATE partners SET unsubscribed_at = now() WHERE id = 'part_2'")
	x.Exec("UPDATE partners SET status = 'suspended' WHERE id = 'part_3'")
	c := send(x, draft(x).ID)
	require.EqualValues(t, 3, c.Total)
	require.EqualValues(t, 1, c.Skipped)
	require.Equal(t, []string{"part_1 queued", "part_2 skipped", "part_4 queued"}, recipients(x))
	run(x, now)
	require.Equal(t, []string{"part_1 mailed", "part_2 skipped", "part_4 mailed"}, recipients(x))
	require.Equal(t, []string{"1@example.com", "4@example.com"},
		worktest.Rows[string](x, "SELECT recipient FROM mails WHERE campaign_id = $1 ORDER BY recipient", c.ID))
	run(x, now)
	requireStatus(x, db.CampaignStatusSending) // its mails are not sent
	x.Exec("UPDATE campaign_recipients SET status = 'sent' WHERE status = 'mailed'")
	x.Exec("UPDATE campaigns SET sent = 2")
	run(x, now)
	requireStatus(x, db.CampaignStatusSent)
}

// TestPause removes mails that are not sent, and continues without a second mail to any partner.
func TestPause(t *testing.T) {
	t.Parallel()
	x := tenant(t, 2)
	c := send(x, draft(x).ID)
	run(x, now)
	x.Exec("UPDATE mails SET status = 'sent', sent_at = now(), next_attempt_at = NULL WHERE partner_id = 'part_1'")
	x.Exec("UPDATE campaign_recipients SET status = 'sent' WHERE partner_id = 'part_1'")
	pause := func(ctx context.Context, u *work.Unit) error { _, err := campaign.Pause(ctx, u, c.ID); return err }
	x.Must(pause)
	require.Equal(t, []string{"part_1 sent", "part_2 queued"}, recipients(x))
	require.Equal(t, []int64{1}, worktest.Rows[int64](x, "SELECT count(*) FROM mails"))
	run(x, now)
	require.Equal(t, []string{"part_1 sent", "part_2 queued"}, recipients(x), "nothing moves while it is paused")
	x.Refused(problem.CampaignNotPausable, "", pause)
	c = send(x, c.ID)
	require.EqualValues(t, 2, c.Total)
	run(x, now)
	require.Equal(t, []string{"part_1 sent", "part_2 mailed"}, recipients(x))
}

// TestNoRecipients: a campaign without recipients is not started, and a scheduled one is paused instead.
func TestNoRecipients(t *testing.T) {
	t.Parallel()
	x := tenant(t, 1)
	c := draft(x, "pending")
	x.Refused(problem.CampaignAudienceEmpty, "", func(ctx context.Context, u *work.Unit) error {
		none, err := campaign.Send(ctx, u, mails, c.ID)
		require.Zero(x, none.Total)
		return err
	})
	requireStatus(x, db.CampaignStatusDraft)
	x.Exec("UPDATE campaigns SET status = 'scheduled', scheduled_at = '2026-09-01 12:00Z'")
	run(x, clock.At(now.Add(-time.Second)))
	requireStatus(x, db.CampaignStatusScheduled)
	run(x, now)
	requireStatus(x, db.CampaignStatusPaused)
}

// A sending or sent campaign cannot be changed, deleted or sent again, and without a mail server none is sent.
func TestStates(t *testing.T) {
	t.Parallel()
	x := tenant(t, 1)
	c := draft(x)
	x.Refused(problem.EmailNotConfigured, "", func(ctx context.Context, u *work.Unit) error {
		_, err := campaign.Send(ctx, u, nil, c.ID)
		return err
	})
	send(x, c.ID)
	for _, state := range []string{"status = 'sending'", "status = 'sent', sent = total, sent_at = updated_at"} {
		x.Exec("UPDATE campaigns SET " + state)
		x.Refused(problem.CampaignNotEditable, "", func(ctx context.Context, u *work.Unit) error {
			_, err := campaign.Update(ctx, u, c.ID, campaign.Changes{Name: new("Old news")})
			return err
		})
		x.Refused(problem.CampaignNotEditable, "", func(ctx context.Context, u *work.Unit) error {
			return campaign.Delete(ctx, u, c.ID)
		})
		x.Refused(problem.CampaignNotSendable, "", func(ctx context.Context, u *work.Unit) error {
			_, err := campaign.Send(ctx, u, mails, c.ID)
			return err
		})
	}
	x.Exec("UPDATE campaigns SET status = 'paused', sent_at = NULL")
	x.Must(func(ctx context.Context, u *work.Unit) error { return campaign.Delete(ctx, u, c.ID) })
	require.Empty(t, worktest.Rows[string](x, "SELECT id FROM campaigns"))
}

// A time makes a campaign scheduled; without one it is a draft again, or paused if some mails are sent. A past
// time is refused.
func TestSchedule(t *testing.T) {
	t.Parallel()
	x := tenant(t, 1)
	c := draft(x)
	at := campaign.Changes{ScheduledAt: nullable.NewNullableWithValue(now.Days(1))}
	never := campaign.Changes{ScheduledAt: nullable.NewNullNullable[clock.Time]()}
	require.Equal(t, db.CampaignStatusScheduled, update(x, c.ID, at).Status)
	require.Equal(t, db.CampaignStatusScheduled, update(x, c.ID, campaign.Changes{Name: new("Other")}).Status)
	require.Equal(t, db.CampaignStatusDraft, update(x, c.ID, never).Status)
	x.Refused(problem.ParameterInvalid, "scheduled_at", func(ctx context.Context, u *work.Unit) error {
		_, err := campaign.Update(ctx, u, c.ID, campaign.Changes{ScheduledAt: nullable.NewNullableWithValue(now)})
		return err
	})
	x.Exec("UPDATE campaigns SET started_at = created_at")
	update(x, c.ID, at)
	require.Equal(t, db.CampaignStatusPaused, update(x, c.ID, never).Status)
}

// An audience belongs to the campaign's program, and duplicates count once.
func TestAudience(t *testing.T) {
	t.Parallel()
	x := tenant(t, 0)
	other := x.NewProgram()
	for id, program := range map[string]string{"grp_1": x.Program.ID, "grp_2": other.ID} {
		x.Exec(`INSERT INTO groups (id, org_id, program_id, name, slug, is_private, is_default, created_at, updated_at)
			VALUES ($1, $2, $3, 'G', 'g', false, false, $4, $4)`, id, x.OrgID, program, now)
	}
	c := draft(x, "active", "pending", "active")
	require.Equal(t, []string{"active", "pending"}, c.Statuses)
	c = update(x, c.ID, campaign.Changes{Audience: &campaign.Audience{GroupIDs: []string{"grp_1", "grp_1"}}})
	require.Equal(t, []string{"grp_1"}, c.GroupIds)
	require.Empty(t, c.Statuses, "the whole audience is another")
	x.Refused(problem.InvalidReference, "audience.group_ids[1]", func(ctx context.Context, u *work.Unit) error {
		audience := campaign.Audience{GroupIDs: []string{"grp_1", "grp_2"}}
		_, err := campaign.Update(ctx, u, c.ID, campaign.Changes{Audience: &audience})
		return err
	})
}
