package campaign_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"
)

// hook is a transport that calls a function. One worker at a time uses it.
type hook func(to string) error

func (h hook) Send(_ context.Context, m *gomail.Msg) error { return h(m.GetToString()[0]) }

var errBusy = errors.New("the mailbox is busy")

func (m mailing) sql(statement string, args ...any) {
	m.T.Helper()
	_, err := m.Pool.Exec(m.T.Context(), statement, args...)
	require.NoError(m.T, err)
}

// mails returns the number of mails in the outbox by status.
func (m mailing) mails() map[string]int {
	m.T.Helper()
	rows, err := m.Pool.Query(m.T.Context(), "SELECT status FROM mails")
	require.NoError(m.T, err)
	states, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(m.T, err)
	out := map[string]int{}
	for _, s := range states {
		out[s]++
	}
	return out
}

// crowd adds n partners like the first one. Their ids sort before the first one's.
func (m mailing) crowd(n int) {
	m.T.Helper()
	m.sql(`DO $$ DECLARE cols text; BEGIN
		SELECT string_agg(quote_ident(attname), ',') INTO cols FROM pg_attribute
		WHERE attrelid = 'partners'::regclass AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('id', 'email', 'handle', 'mail_token');
		EXECUTE format('INSERT INTO partners (id, email, handle, %s)
			SELECT ''part_00'' || md5(n::text), n || ''@crowd.example'', ''crowd-'' || n, %s FROM (SELECT * FROM partners ORDER BY id LIMIT 1) p, generate_series(1, ` + strconv.Itoa(n) + `) n', cols, cols);
		END $$`)
}

// bounded limits a statement to 5000 rows of a table: the statements must finish in time for a
// program of any size.
func (m mailing) bounded(table string) {
	m.T.Helper()
	m.sql(`CREATE FUNCTION few() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM written) > 5000 THEN RAISE EXCEPTION 'too many rows at once'; END IF; RETURN NULL; END $$`)
	m.sql(fmt.Sprintf("CREATE TRIGGER few AFTER INSERT ON %s REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION few()", table))
}

// broken makes every write to a table fail if the column has the value.
func (m mailing) broken(table, column, value string) {
	m.T.Helper()
	m.sql(fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s_broken_check CHECK (%s <> '%s') NOT VALID", table, table, column,
		value))
}

// TestCampaignOfManyPartners: no statement grows with the audience, and the request's count is the
// number of recipients.
func TestCampaignOfManyPartners(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program)
	m.crowd(12_000)
	m.sql("UPDATE partners SET unsubscribed_at = created_at WHERE handle LIKE 'crowd-%1'")
	m.bounded("campaign_recipients")
	id := m.campaign()
	m.Must(200, m.send(id))
	require.Equal(t, want("sending", 12_001, 10_801, 0, 0, 0, 1200), m.stats(id))
	m.Partner(m.program, M{"email": "same-moment@example.com"})
	m.Clock.Advance(time.Second)
	m.Partner(m.program, M{"email": "late@example.com"})
	m.run("send-campaigns")
	require.Equal(t, want("sending", 12_002, 10_802, 0, 0, 0, 1200), m.stats(id),
		"exact now; who came later is not of the audience")
	require.Equal(t, map[string]int{"queued": 500}, m.mails())

	m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
	m.sql("UPDATE partners SET status = 'suspended' WHERE handle LIKE 'crowd-%2'")
	m.Must(200, m.send(id))
	require.Equal(t, want("sending", 10_803, 9603, 0, 0, 0, 1200), m.stats(id))
	m.run("send-campaigns")
	require.Equal(t, want("sending", 10_803, 9603, 0, 0, 0, 1200), m.stats(id), "who left the audience is forgotten")
}

// TestOneCampaignHoldsUpNoOther: if the mails of one campaign cannot be stored, the other campaigns
// continue.
func TestOneCampaignHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program)
	bad, waiting := m.campaign(), m.campaign(M{"scheduled_at": m.Clock.Now().Plus(time.Minute)})
	m.Must(200, m.send(bad))
	m.broken("campaign_recipients", "program_id", m.program)
	other := mailing{m.Server, m.Program(), m.post}
	other.Partner(other.program, M{"email": "ada@example.com"})
	good := other.campaign(M{"scheduled_at": m.Clock.Now().Plus(2 * time.Minute)})
	m.Clock.Advance(time.Hour)
	require.ErrorContains(t, m.try("send-campaigns"), bad)
	require.ErrorContains(t, m.try("send-campaigns"), waiting)
	m.run("send-mail")
	require.ErrorContains(t, m.try("send-campaigns"), bad)
	require.Equal(t, want("sent", 1, 0, 1, 0, 0, 0), other.stats(good))
	m.sql("ALTER TABLE campaign_recipients DROP CONSTRAINT campaign_recipients_broken_check")
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 1, 0, 1, 0, 0, 0), m.stats(bad))
}

// TestIdleOfManyPartners: the search works in batches, and continues after an interruption.
func TestIdleOfManyPartners(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program)
	m.crowd(6000)
	m.bounded("sequence_enrolments")
	id := m.sequence(M{
		"trigger": "idle", "trigger_days": 7, "steps": []M{{"delay_days": 300, "subject": "x", "body": "x"}},
	})
	m.Clock.Advance(8 * 24 * time.Hour)
	m.sql("ALTER TABLE sequence_enrolments ADD CONSTRAINT sequence_enrolments_broken_check CHECK (partner_id < 'part_00d')")
	require.Error(t, m.try("advance-sequences"))
	found := m.counts(id)[0]
	require.Positive(t, found)
	require.Less(t, found, int64(6001))
	m.sql("ALTER TABLE sequence_enrolments DROP CONSTRAINT sequence_enrolments_broken_check")
	m.run("advance-sequences")
	require.Equal(t, int64(6001), m.counts(id)[0])
}

// TestOneSequenceHoldsUpNoOther: a sequence that fails delays no other, in the search for idle
// partners or in sending due steps.
func TestOneSequenceHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program)
	m.sequence(M{"trigger": "idle", "trigger_days": 7})
	other := mailing{m.Server, m.Program(), m.post}
	other.Partner(other.program, M{"email": "ada@example.com"})
	idle := other.sequence(M{"trigger": "idle", "trigger_days": 7})
	m.broken("sequence_enrolments", "program_id", m.program)
	m.Clock.Advance(8 * 24 * time.Hour)
	require.Error(t, m.try("advance-sequences"))
	require.Equal(t, int64(1), m.counts(idle)[0])
	m.run("send-mail")
	require.Len(t, m.post.mails["ada@example.com"], 1)
}

// TestChangesWhileSending: if a campaign is paused, changed, restarted or deleted while a mail is
// being sent, the old mail is not sent again later.
func TestChangesWhileSending(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		meanwhile func(mailing, string)
		mails     int
	}{
		"held": {func(m mailing, id string) {
			m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
		}, 0},
		"started anew": {func(m mailing, id string) {
			m.Clock.Advance(time.Second)
			m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
			m.Must(200, m.Post("/v1/campaigns/"+id, M{"subject": "Newer news"}))
			m.Must(200, m.send(id))
			m.Clock.Advance(time.Second)
		}, 1},
		"deleted": {func(m mailing, id string) {
			m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
			m.Must(200, m.Delete("/v1/campaigns/"+id))
		}, 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			m := newMailing(t)
			m.Partner(m.program, M{"email": "ada@example.com"})
			id := m.campaign()
			m.Must(200, m.send(id))
			m.run("send-campaigns")
			require.NoError(t,
				m.sender(hook(func(string) error { c.meanwhile(m, id); return errBusy })).Run(t.Context(), m.Clock.Now()))
			for range 2 {
				m.Clock.Advance(time.Hour)
				m.run("send-campaigns", "send-mail")
			}
			require.Equal(t, c.mails, m.post.count())
			require.Zero(t, m.mails()["queued"])
			if c.mails > 0 {
				require.Contains(t, m.post.mails["ada@example.com"][0], "Subject: Newer news")
			}
			if what == "held" {
				require.Equal(t, want("paused", 1, 1, 0, 0, 0, 0), m.stats(id))
				m.Must(200, m.send(id))
				m.run("send-campaigns", "send-mail", "send-campaigns")
				require.Equal(t, want("sent", 1, 0, 1, 0, 0, 0), m.stats(id))
			}
		})
	}
}

// TestSuspendedInCampaign: a suspended partner leaves the audience and gets nothing. An audience of
// suspended partners does get the mail.
func TestSuspendedInCampaign(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	p := m.Partner(m.program, M{"email": "ada@example.com"})
	id := m.campaign()
	m.Must(200, m.send(id))
	m.run("send-campaigns")
	m.Must(200, m.Post("/v1/partners/"+p, M{"status": "suspended"}))
	m.run("send-mail", "send-campaigns")
	require.Equal(t, want("sent", 1, 0, 0, 0, 0, 1), m.stats(id))
	id = m.campaign(M{"audience": M{"statuses": []string{"suspended"}}})
	m.Must(200, m.send(id))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 1, 0, 1, 0, 0, 0), m.stats(id))
}

// TestSequenceMailsAreRecalled: a mail in the outbox returns to its step while its sequence or its
// partner is paused. It is dropped when the sequence is deleted.
func TestSequenceMailsAreRecalled(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	id := m.sequence(M{
		"steps": []M{{"delay_days": 0, "subject": "One", "body": "1"}, {"delay_days": 0, "subject": "Two", "body": "2"}},
	})
	p := m.Partner(m.program, M{"email": "ada@example.com"})
	set := func(what string) {
		m.Must(200, m.Post("/v1/sequences/"+id+"/"+what, M{"program_id": m.program}))
	}
	m.run("advance-sequences")
	require.Equal(t, []int64{1, 0, 1}, m.counts(id))
	set("pause")
	m.run("send-mail", "advance-sequences")
	require.Empty(t, m.mails())
	require.Equal(t, []int64{1, 1, 0}, m.counts(id), "back at its step")
	set("resume")
	m.run("advance-sequences")
	m.Must(200, m.Post("/v1/partners/"+p, M{"status": "suspended"}))
	m.run("send-mail", "advance-sequences")
	require.Empty(t, m.mails())
	m.Must(200, m.Post("/v1/partners/"+p, M{"status": "active"}))
	m.run("advance-sequences", "send-mail")
	require.Len(t, m.post.mails["ada@example.com"], 2)
	require.Equal(t, []int64{1, 0, 1}, m.counts(id))

	m.Partner(m.program, M{"email": "bob@example.com"})
	m.run("advance-sequences")
	m.Must(200, m.Delete("/v1/sequences/"+id))
	m.run("send-mail")
	require.Empty(t, m.post.mails["bob@example.com"])
	require.Equal(t, map[string]int{"sent": 2, "failed": 2}, m.mails())
}

// TestLongRun: a long run reads the clock again. A notification that is queued during the run is
// sent before the rest of the campaign, and no other replica treats the run's mails as lost.
func TestLongRun(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	for range 12 {
		m.Partner(m.program)
	}
	id := m.campaign()
	m.Must(200, m.send(id))
	m.run("send-campaigns")
	applied := m.Must(201, apitest.Apply(m.Server, m.program, "bob@example.com"))
	turn := make(chan int, 1)
	turn <- 0
	bob := 0
	require.NoError(t, m.sender(hook(func(to string) error {
		n := <-turn + 1
		defer func() { turn <- n }()
		switch {
		case to == "<bob@example.com>":
			bob = n
		case n == 1:
			m.Clock.Advance(11 * time.Minute)
			m.Must(200, m.Post("/v1/applications/"+applied.String("id")+"/approve", nil))
		case n == 12: // another replica searches for lost mails
			require.NoError(t, m.sender(hook(func(string) error { return nil })).Run(t.Context(), m.Clock.Now()))
		}
		return nil
	})).Run(t.Context(), m.Clock.Now()))
	require.Positive(t, bob, "in the same run")
	require.Less(t, bob, 12, "and not its last")
	var late int
	require.NoError(t,
		m.Pool.QueryRow(t.Context(),
			"SELECT count(*) FROM mails WHERE status = 'failed' AND taken_at > created_at").Scan(&late))
	require.Zero(t, late)
}

// TestRetriesDelayNoOtherMail: mails that wait for a retry do not delay others.
func TestRetriesDelayNoOtherMail(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"email": "first@crowd.example"})
	m.crowd(600)
	m.Partner(m.program, M{"email": "last@example.com"})
	m.post.refuse = "@crowd."
	id := m.campaign()
	m.Must(200, m.send(id))
	m.run("send-campaigns", "send-mail", "send-campaigns", "send-mail")
	require.Len(t, m.post.mails["last@example.com"], 1)
}

// TestStopWhileSending: no unsent mail is lost when the server stops, or when the database cannot
// return the recipient.
func TestStopWhileSending(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	for range 20 {
		m.Partner(m.program)
	}
	id := m.campaign()
	m.Must(200, m.send(id))
	m.run("send-campaigns")
	ctx, stop := context.WithCancel(t.Context())
	require.NoError(t, m.sender(hook(func(string) error { stop(); return nil })).Run(ctx, m.Clock.Now()))
	left := m.mails()
	require.Zero(t, left["sending"])
	require.Equal(t, 20, left["queued"]+left["sent"])

	m.sql("ALTER TABLE sequences RENAME TO hidden")
	require.Error(t, m.try("send-mail"))
	m.sql("ALTER TABLE hidden RENAME TO sequences")
	require.Equal(t, left["sent"], m.mails()["sent"])
	m.run("send-mail", "send-campaigns")
	require.Equal(t, want("sent", 20, 0, 20, 0, 0, 0), m.stats(id))
}

// TestUnsubscribedComesBack: an unsubscribed address stays unsubscribed when its partner is deleted
// and created again, whatever the case of its letters.
func TestUnsubscribedComesBack(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	leave := func(handle string, unsubscribed bool) {
		if unsubscribed {
			m.sql("UPDATE partners SET unsubscribed_at = now() WHERE handle = $1", handle)
		}
		m.Must(200,
			m.Delete("/v1/partners/"+
				m.Must(200,
					m.Get("/v1/partners?program_id="+m.program+"&handle="+handle)).Body["data"].([]any)[0].(M)["id"].(string)))
	}
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	leave("ada", true)
	leave("bob", false)
	m.Partner(m.program, M{"handle": "ada", "email": "Ada@example.com"})
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	m.Must(201, apitest.Apply(m.Server, m.Program(), "ada@example.com"))
	id := m.campaign()
	m.Must(200, m.send(id))
	require.Equal(t, want("sending", 2, 1, 0, 0, 0, 1), m.stats(id))
	m.sql("UPDATE partners SET unsubscribed_at = NULL")
	leave("ada", false)
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	id = m.campaign()
	m.Must(200, m.send(id))
	require.Equal(t, want("sending", 2, 2, 0, 0, 0, 0), m.stats(id), "who subscribed again stays so too")
}

// TestOneMailboxOnce: two spellings of an address are one mailbox.
func TestOneMailboxOnce(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	p := m.Partner(m.program, M{"handle": "ada", "email": "Ada@example.com"})
	m.Partner(m.program, M{"handle": "bob", "email": "bob@example.com"})
	m.post.refuse = "bob@"
	id := m.campaign()
	m.Must(200, m.send(id))
	m.run("send-campaigns", "send-mail")
	m.Must(200, m.Post("/v1/campaigns/"+id+"/pause", M{"program_id": m.program}))
	m.Must(200, m.Delete("/v1/partners/"+p))
	m.Partner(m.program, M{"handle": "ada", "email": "ada@example.com"})
	m.post.refuse = ""
	m.Must(200, m.send(id))
	m.run("send-campaigns", "send-mail", "send-campaigns")
	require.Equal(t, want("sent", 3, 0, 2, 0, 0, 1), m.stats(id))
	require.Equal(t, 2, m.post.count())
}

// TestIdleSinceApproval: the time before an applicant's approval does not count as idle.
func TestIdleSinceApproval(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	applied := m.Must(201, apitest.Apply(m.Server, m.program, "bob@example.com"))
	id := m.sequence(M{"trigger": "idle", "trigger_days": 7})
	m.Clock.Advance(30 * 24 * time.Hour)
	m.Must(200, m.Post("/v1/applications/"+applied.String("id")+"/approve", nil))
	m.run("advance-sequences")
	require.Equal(t, int64(0), m.counts(id)[0])
	m.Clock.Advance(8 * 24 * time.Hour)
	m.run("advance-sequences")
	require.Equal(t, int64(1), m.counts(id)[0])
}

// TestFirstCommissionNoted: deleting one sequence while another is created does not disable the
// other.
func TestFirstCommissionNoted(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	old := m.sequence(M{"trigger": "first_commission"})
	creating, err := m.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer creating.Rollback(context.Background()) // after its end
	_, err = creating.Exec(t.Context(), "SELECT 1 FROM programs WHERE id = $1 FOR NO KEY UPDATE", m.program)
	require.NoError(t, err)
	_, err = creating.Exec(t.Context(),
		"INSERT INTO sequences SELECT (jsonb_populate_record(s, '{\"id\": \"seq_new\"}')).* FROM sequences s")
	require.NoError(t, err)
	deleted := make(chan int, 1)
	go func() { deleted <- m.Delete("/v1/sequences/" + old).Status }()
	wait.ForLocks(t, m.Pool, "", 1)
	require.NoError(t, creating.Commit(t.Context()))
	require.Equal(t, 200, <-deleted)
	var enrols bool
	require.NoError(t,
		m.Pool.QueryRow(t.Context(), "SELECT enrols_first_commission FROM programs WHERE id = $1", m.program).Scan(&enrols))
	require.True(t, enrols)
}

// TestApplyAgainWithHandle: a repeated application gets the requested handle, if it is free.
func TestApplyAgainWithHandle(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	m.Partner(m.program, M{"handle": "taken"})
	first := m.Must(201, apitest.Apply(m.Server, m.program, "ada@example.com", M{"handle": "first"}))
	for _, handle := range []string{"second", "first", "second"} {
		m.Must(200, m.Post("/v1/applications/"+m.lastApplication()+"/reject", nil))
		m.Refused(409, "partner_handle_taken", "handle", apitest.Apply(m.Server, m.program, "ada@example.com", M{"handle": "taken"}))
		a := m.Must(201, apitest.Apply(m.Server, m.program, "ada@example.com", M{"handle": handle}))
		require.Equal(t, first.String("partner_id"), a.String("partner_id"))
		require.Equal(t, handle, m.Must(200, m.Get("/v1/partners/"+first.String("partner_id"))).String("handle"))
	}
	m.Refused(409, "partner_handle_taken", "handle", apitest.Apply(m.Server, m.program, "eve@example.com", M{"handle": "first"}))
}

func (m mailing) lastApplication() string {
	m.T.Helper()
	return m.Must(200, m.Get("/v1/applications?limit=1&program_id="+m.program)).Body["data"].([]any)[0].(M)["id"].(string)
}
