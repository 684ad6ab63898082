package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/jobs"
	"rail/server/outbound/webhook/verify"
	"rail/server/secret"
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
		{"delay_days": 70, "subject": "Still", "body": "Still"},
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

// historyOf reads the history of a program: what happened to what, and when. Objects are named by charge and handle,
// which are the same on every server.
func historyOf(s *apitest.Server) []string {
	s.T.Helper()
	conn, err := s.Pool.Acquire(s.T.Context())
	require.NoError(s.T, err)
	defer conn.Release()
	_, err = conn.Exec(s.T.Context(), "SET TIME ZONE 'UTC'")
	require.NoError(s.T, err)
	rows, err := conn.Query(s.T.Context(), `
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
	history := historyOf(once)
	require.Equal(t, historyOf(daily), history)
	for _, fact := range []string{
		"payout ada-0 2026-10-01 8840 pending 2026-11-15 05:00:00+00 t 2026-11-01 04:10:00+00", // New York's clocks go back
		"commission ada-0 ch_48 due 1160 2026-09-21 21:00:00+00 2026-10-19 21:00:00+00 2026-11-01 04:10:00+00 2026-10-01",
		"ledger ada-0 ch_48 pending due 1160 2026-10-19 21:00:00+00",
		"batch 2026-11-01 2026-12-01 04:59:59.999999+00 2026-12-01 05:10:00+00 2026-12-01 05:10:00+00",
		"mail ada-0@example.com sequence Still sent 2026-12-09 06:00:00+00",
	} {
		require.Contains(t, history, fact, strings.Join(history, "\n"))
	}
}

// TestMoves tests the answers of the operations.
func TestMoves(t *testing.T) {
	t.Parallel()
	s := tested(t)
	now := func() string { return s.Must(200, s.Get("/v1/test_clock")).String("now") }
	require.Equal(t, clock.At(apitest.Start).String(), now())
	move := func(at time.Time, headers ...string) apitest.Answer {
		return s.Do("POST", "/v1/test_clock", s.Key, M{"now": clock.At(at).String()}, headers...)
	}
	s.Refused(400, "parameter_invalid", "now", move(apitest.Start.Add(-time.Second)))
	s.Refused(400, "parameter_invalid", "now", move(apitest.Start.Add(731*day+time.Second)))
	s.Refused(400, "parameter_missing", "now", s.Post("/v1/test_clock", M{}))
	reader := s.NewKey(s.Org, false, "read")
	s.Refused(403, "insufficient_scope", "", s.Do("POST", "/v1/test_clock", reader, M{"now": "2026-10-01T00:00:00Z"}))
	require.Equal(t, clock.At(apitest.Start).String(), now())

	first := s.Must(200, move(apitest.Start.Add(40*day), "Idempotency-Key", "move"))
	require.Equal(t, "2026-10-11T12:00:00.000Z", first.String("now"))
	again := s.Must(200, move(apitest.Start.Add(40*day), "Idempotency-Key", "move"))
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"), "the answer is stored at the new time")
	s.Clock.Advance(time.Hour)
	require.Equal(t, "2026-10-11T13:00:00.000Z", now(), "the clock runs on")
	require.Equal(t, first.String("now"), s.Must(200, move(apitest.Start.Add(40*day))).String("now"), "a repetition")
	require.Equal(t, "2026-10-11T13:00:00.000Z", now())
	s.Refused(400, "parameter_invalid", "now", move(apitest.Start.Add(39*day)))

	var logged int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM audit_log_entries
		WHERE action = 'test_clock.moved' AND created_at = $1`, apitest.Start.Add(40*day)).Scan(&logged))
	require.Equal(t, 2, logged)
}

// TestNoTestClock: a server has none unless it is set.
func TestNoTestClock(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	s.Refused(404, "test_clock_off", "", s.Get("/v1/test_clock"))
	s.Refused(404, "test_clock_off", "", s.Post("/v1/test_clock", M{"now": "2027-01-01T00:00:00Z"}))
}

// timeline returns a timeline of a server's clock. A job in the middle of each moment calls half.
func timeline(s *apitest.Server, half func()) *jobs.Timeline {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	all := slices.Insert(jobs.All(jobs.Deps{
		Pool: s.Pool, Keeper: keeper, Clock: s.Tested.Shifted, RetentionDays: 30, FraudMonitoring: true,
	}), 5, jobs.Job{Name: "half", Every: time.Second, Run: func(context.Context, clock.Time) error {
		half()
		return nil
	}})
	t := jobs.NewTimeline(s.Pool, jobs.NewRunner(s.Tested, slog.New(slog.DiscardHandler), nil), all)
	t.Use(s.Tested)
	return t
}

// TestBrokenOffMove: a move whose time is over keeps what it reached, and the same call continues to the same end.
func TestBrokenOffMove(t *testing.T) {
	t.Parallel()
	whole, broken := tested(t), tested(t)
	shop(whole)
	shop(broken)
	to := clock.At(whole.Clock.Now().Truncate(time.Minute)).Days(60)
	require.NoError(t, timeline(whole, func() {}).Move(t.Context(), to))
	calls, rounds, end := 0, 0, func() {}
	move := timeline(broken, func() {
		if rounds++; rounds%7 == 0 {
			end()
		}
	})
	for err := errors.New("not begun"); err != nil; calls++ {
		var ctx context.Context
		ctx, end = context.WithCancel(t.Context())
		if err = move.Move(ctx, to); err != nil {
			require.ErrorContains(t, err, "send it again to continue")
			require.Less(t, calls, 100)
		}
		end()
	}
	require.Greater(t, calls, 5)
	require.Equal(t, historyOf(whole), historyOf(broken))
}

// TestLiveServerMoves moves the clock of a process whose own jobs and sender run, and verifies the webhooks by the real
// time.
func TestLiveServerMoves(t *testing.T) {
	t.Parallel()
	s := apitest.TestClockProcess(t, "RAIL_WEBHOOK_ALLOW_CIDRS=127.0.0.0/8")
	program := s.Program(M{"auto_payouts_enabled": true, "holding_period_days": 30, "min_payout_minor": 100})
	s.Flow(program)
	partner := s.Partner(program)
	sink := apitest.NewSink(t)
	endpoint := s.Must(201, s.Post("/v1/webhook_endpoints", M{
		"program_id": program, "url": sink.URL + "/any", "event_types": []string{"payout.created"},
	}))
	s.Sale(program, s.Customer(program, partner), M{"amount_minor": 10000})
	began := clock.Real()
	s.MoveTo(began.Add(92 * day))
	t.Log("the move took", time.Since(began))
	payouts := s.Must(200, s.Get("/v1/payouts?program_id="+program)).Data()
	require.Len(t, payouts, 1)
	require.Equal(t, "2000", fmt.Sprint(payouts[0]["amount_minor"]))
	got := sink.Wait(t, "/any", 1)[0]
	require.NoError(t, verify.Signature(got.Header, []byte(got.Body), endpoint.String("secret"), time.Now()))
	at, err := clock.Parse(s.Must(200, s.Get("/v1/test_clock")).String("now"))
	require.NoError(t, err)
	require.WithinDuration(t, began.Add(92*day), at.Time, time.Minute)
}
