package jobs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
)

type M = apitest.M

const day = 24 * time.Hour

// tested starts a server with a test clock that writes its mails to files.
func tested(t *testing.T) *apitest.Server {
	t.Helper()
	return apitest.New(t, apitest.TestClock, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
}

// shop makes a program in New York with 50 sales of 4 partners within 19 days, a sequence of mails and a ban to come,
// and returns its id. Names are the same in every call.
func shop(s *apitest.Server) string {
	s.T.Helper()
	program := s.Program(M{
		"auto_payouts_enabled": true, "holding_period_days": 30, "time_zone": "America/New_York", "cookie_days": 20,
		"name": "Shop", "payout_term": "net_15", "min_payout_minor": 1000,
	})
	s.Flow(program, M{"approval_mode": "after_days", "approval_delay_days": 2})
	s.Must(201, s.Post("/v1/sequences", M{"program_id": program, "name": "Welcome", "trigger": "approved", "steps": []M{
		{"delay_days": 0, "subject": "Hello", "body": "Hello"}, {"delay_days": 10, "subject": "Well", "body": "Well"},
		{"delay_days": 20, "subject": "Still", "body": "Still"},
	}}))
	var customers, partners []string
	for i := range 4 {
		handle := fmt.Sprint("ada-", i)
		partners = append(partners, s.Partner(program, M{"handle": handle, "email": handle + "@example.com"}))
		customers = append(customers, s.Customer(program, partners[i]))
		s.Click(program, handle)
	}
	for i := range 50 {
		s.Clock.Advance(9 * time.Hour)
		s.Sale(program, customers[i%4], M{"external_charge_id": fmt.Sprint("ch_", i), "amount_minor": 1000 + 100*i})
	}
	s.Must(200, s.Post("/v1/partners/"+partners[3]+"/ban", M{"reason": "fraud"}))
	return program
}

// told reads the history of a program: what happened to what, and when. Objects are named by charge and handle,
// which are the same on every server.
func told(s *apitest.Server) []string {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(), `
		SELECT concat_ws(' ', 'ledger', p.handle, v.external_charge_id, l.from_bucket, l.to_bucket, l.amount_minor, l.created_at)
			FROM ledger_entries l JOIN partners p ON p.id = l.partner_id JOIN commissions k ON k.id = l.commission_id
				JOIN sales v ON v.id = k.sale_id
		UNION ALL SELECT concat_ws(' ', 'commission', p.handle, v.external_charge_id, k.status, k.amount_minor, k.approved_at,
			k.mature_at, k.updated_at, y.period_month)
			FROM commissions k JOIN partners p ON p.id = k.partner_id JOIN sales v ON v.id = k.sale_id
				LEFT JOIN payouts y ON y.id = k.payout_id
		UNION ALL SELECT concat_ws(' ', 'batch', b.period_month, b.period_end, b.auto_run_at, b.created_at) FROM payout_batches b
		UNION ALL SELECT concat_ws(' ', 'payout', p.handle, y.period_month, y.amount_minor, y.status, y.reason, y.due_at,
			y.due_told, y.created_at) FROM payouts y JOIN partners p ON p.id = y.partner_id
		UNION ALL SELECT concat_ws(' ', 'event', e.type, e.created_at) FROM events e
		UNION ALL SELECT concat_ws(' ', 'mail', m.recipient, m.purpose, m.subject, m.status, m.created_at) FROM mails m
		UNION ALL SELECT concat_ws(' ', 'partner', p.handle, p.status, p.updated_at) FROM partners p
		UNION ALL SELECT concat_ws(' ', 'referral', p.handle, r.current) FROM referrals r JOIN partners p ON p.id = r.partner_id`)
	require.NoError(s.T, err)
	var out []string
	for rows.Next() {
		var line string
		require.NoError(s.T, rows.Scan(&line))
		out = append(out, line)
	}
	require.NoError(s.T, rows.Err())
	slices.Sort(out)
	return out
}

// TestOneMoveIsManyMoves: a move of three months has the results of a move each day, to the minute.
func TestOneMoveIsManyMoves(t *testing.T) {
	t.Parallel()
	once, daily := tested(t), tested(t)
	shop(once)
	shop(daily)
	start := once.Clock.Now().Truncate(time.Minute).Add(time.Minute)
	began := clock.Real()
	once.MoveTo(start.Add(92 * day))
	t.Log("one move took", time.Since(began))
	began = clock.Real()
	for i := range 93 {
		daily.MoveTo(start.Add(time.Duration(i) * day))
	}
	t.Log("93 moves took", time.Since(began))
	require.Equal(t, told(daily), told(once))
	lines := told(once)
	for _, l := range lines {
		t.Log(l)
	}
}
