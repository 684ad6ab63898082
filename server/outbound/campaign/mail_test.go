package campaign_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
)

// TestMailsOfChanges: partners who enabled the mails get one about decisions, leads and payments.
// Without a mail server, nothing is queued.
func TestMailsOfChanges(t *testing.T) {
	t.Parallel()
	run := func(options ...apitest.Option) []string {
		s := apitest.New(t, options...)
		e := s.Earner()
		s.Flow(e.ProgramID)
		a := s.Must(201, apitest.Apply(s, e.ProgramID, "ada@example.com", M{"handle": "ada"}))
		b := s.Must(201, apitest.Apply(s, e.ProgramID, "bob@example.com"))
		s.Must(200, s.Post("/v1/applications/"+a.String("id")+"/approve", nil))
		s.Must(200, s.Post("/v1/applications/"+b.String("id")+"/reject", M{"reason": "Not yet."}))
		for i := range 3 {
			if i == 2 {
				_, err := s.Pool.Exec(t.Context(), "UPDATE partners SET email_new_referral = false, email_first_referral = false")
				require.NoError(t, err)
			}
			click := s.Click(e.ProgramID, "ada")
			customer := s.Must(201,
				s.Post("/v1/customers", M{"program_id": e.ProgramID, "click_id": click.String("id")})).String("id")
			s.Sale(e.ProgramID, customer)
			if i != 1 { // two cases: without a click, and with a click that a lead has used
				s.Customer(e.ProgramID, click.String("partner_id"))
				s.Must(201, s.Post("/v1/customers", M{"program_id": e.ProgramID, "click_id": click.String("id")}))
			}
		}
		e.Batch(201)
		s.Must(200, s.Post("/v1/payouts/"+e.Payouts("")[0].String("id")+"/mark_paid", nil))
		rows, err := s.Pool.Query(t.Context(), "SELECT purpose || ' ' || recipient FROM mails ORDER BY created_at, id")
		require.NoError(t, err)
		defer rows.Close()
		var out []string
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			out = append(out, line)
		}
		return out
	}
	require.Equal(t, []string{
		"application_approved ada@example.com", "application_rejected bob@example.com", "first_referral ada@example.com",
		"new_referral ada@example.com", "new_referral ada@example.com", "new_referral ada@example.com",
		"payout_paid ada@example.com",
	}, run(func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() }))
	require.Empty(t, run())
}

// TestUndoPaidMail: the partner's mail about a payment marked by hand waits for ten minutes, and an
// undo in that time drops it. A payment that a result reports is mailed at once.
func TestUndoPaidMail(t *testing.T) {
	t.Parallel()
	m := newMailing(t)
	s, e := m.Server, apitest.Earner{Server: m.Server, ProgramID: m.program}
	s.Flow(e.ProgramID)
	e.Referrer(10000)
	e.Batch(201)
	id := e.Payouts("")[0].String("id")
	mails := func() (queued, sent int) {
		m.run("send-mail")
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE status = 'queued'),
			count(*) FILTER (WHERE status = 'sent') FROM mails WHERE purpose = 'payout_paid'`).Scan(&queued, &sent))
		return queued, sent
	}
	expect := func(queued, sent int) {
		t.Helper()
		q, n := mails()
		require.Equal(t, []int{queued, sent}, []int{q, n})
	}
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	s.Clock.Advance(9 * time.Minute)
	expect(1, 0)
	s.Must(200, s.Post("/v1/payouts/"+id+"/undo_paid", M{"reason": "The wrong one."}))
	expect(0, 0)
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	s.Clock.Advance(10 * time.Minute)
	expect(0, 1)
	s.Must(200, s.Post("/v1/payouts/"+id+"/undo_paid", M{"reason": "The wrong one."}))
	s.Must(200, s.Post("/v1/payout_batches/"+e.Payouts("")[0].String("batch_id")+"/results",
		M{"content": "payout_id,status\n" + id + ",paid\n"}))
	expect(0, 1)
}
