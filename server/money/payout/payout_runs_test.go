package payout_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/jobs"
	"rail/server/postgres"
)

// page is the number of partners that one transaction of a batch collects.
const page = 500

// many adds n partners with 1000 due each, in the order of their numbers.
func (e earner) many(n int) {
	e.T.Helper()
	conn, err := pgx.Connect(e.T.Context(), e.DSN) // without a pool's time limits
	require.NoError(e.T, err)
	defer func() { _ = conn.Close(context.WithoutCancel(e.T.Context())) }()
	for _, sql := range []string{
		`INSERT INTO partners (id, org_id, program_id, email, handle, status, created_at, updated_at)
			SELECT 'part_' || number, @org, @program, number || '@many.example', 'm' || number, 'active', @at, @at FROM numbers`,
		`INSERT INTO commissions (id, org_id, program_id, partner_id, kind, amount_minor, rate_type, rate_value, currency, status, mature_at, approved_at, created_at, updated_at)
			SELECT 'com_' || number, @org, @program, 'part_' || number, 'referral', 1000, 'fixed', 1000, 'USD', 'due', @at, @at, @at, @at FROM numbers`,
		`INSERT INTO ledger_entries (org_id, program_id, partner_id, commission_id, currency, from_bucket, to_bucket, amount_minor, created_at)
			SELECT @org, @program, 'part_' || number, 'com_' || number, 'USD', 'source', 'due', 1000, @at FROM numbers`,
		`INSERT INTO balances (id, org_id, program_id, partner_id, currency, updated_at) SELECT 'bal_' || number || '_usd', @org, @program, 'part_' || number, 'USD', @at FROM numbers`,
		`ANALYZE partners, commissions`,
	} {
		if !strings.HasPrefix(sql, "ANALYZE") {
			sql = "WITH numbers AS (SELECT right(@program, 4) || to_char(g, 'FM0000000') AS number FROM generate_series(1, @n::integer) g) " + sql
			_, err = conn.Exec(e.T.Context(), sql, pgx.NamedArgs{
				"org": e.Org, "program": e.ProgramID, "n": n, "at": e.Clock.Now().Days(-1),
			})
		} else {
			_, err = conn.Exec(e.T.Context(), sql)
		}
		require.NoError(e.T, err, sql)
	}
}

// run runs a job on a separate, traced connection.
func (e earner) run(ctx context.Context, name string, tracer pgx.QueryTracer) error {
	e.T.Helper()
	pool, err := postgres.Open(e.T.Context(), e.DSN, postgres.Options{MaxConns: 1, Tracer: tracer})
	require.NoError(e.T, err)
	defer pool.Close()
	for _, j := range jobs.All(jobs.Deps{Pool: pool, Clock: e.Clock}) {
		if j.Name == name {
			return j.Run(ctx, e.Clock.Now())
		}
	}
	require.Fail(e.T, "no such job", name)
	return nil
}

// TestBatchOfManyPartners: a batch of any number of partners answers at once, and is created in
// pages, each with the same number of statements. 100,000 partners with RAIL_TEST_FULL=1.
func TestBatchOfManyPartners(t *testing.T) {
	t.Parallel()
	n := 1200
	if os.Getenv("RAIL_TEST_FULL") == "1" {
		n = 100_000
	}
	e := newEarner(t)
	s := e.Server
	e.many(n)
	body := M{"program_id": e.ProgramID, "period_end": "2026-09-01"}
	post := func() apitest.Answer {
		return s.Do("POST", "/v1/payout_batches", s.Key, body, "Idempotency-Key", "batch")
	}
	batch := s.Must(201, post())
	require.Equal(t, []any{true, "open", int64(page)}, []any{
		batch.Body["generating"], batch.String("status"), batch.Int("payout_count"),
	})
	require.Equal(t, batch.Raw, s.Must(201, post()).Raw)
	s.Must(200, s.Post("/v1/payouts/"+e.Payouts("")[0].String("id")+"/mark_paid", nil))

	tracer := &apitest.Trips{}
	start := time.Now()
	require.NoError(t, e.run(t.Context(), "generate-payouts", tracer))
	names := tracer.Take()
	t.Logf("%d partners in %s, %d round trips", n, time.Since(start).Round(time.Millisecond), len(names))
	pages := (n - 1) / page // after the first
	statements := strings.Count(strings.Join(names, "+"), "+") + 1
	require.Less(t, len(names), 7*pages+20, "round trips")
	require.Less(t, statements, 30*pages+20, "statements: %v", names)

	batch = s.Must(200, s.Get("/v1/payout_batches/"+batch.String("id")))
	require.Equal(t, []any{false, "open", int64(n)}, []any{
		batch.Body["generating"], batch.String("status"), batch.Int("payout_count"),
	})
	require.EqualValues(t, n*1000, apitest.Answer{Body: batch.Body["totals"].([]any)[0].(M)}.Int("amount_minor"))
	var recorded int
	require.NoError(t,
		s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE program_id = $1 AND type = 'payout.created'",
			e.ProgramID).Scan(&recorded))
	require.Equal(t, n, recorded)
	apitest.Balanced(t, s)
	again := e.Batch(200)
	require.EqualValues(t, n, again.Int("payout_count"), "nobody twice")
	require.Equal(t, false, again.Body["generating"])
}

// cut is a tracer that ends a context after some round trips.
type cut struct {
	apitest.Trips
	after int
	end   context.CancelFunc
}

func (c *cut) TraceBatchStart(ctx context.Context, conn *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	if c.after--; c.after == 0 {
		c.end()
	}
	return c.Trips.TraceBatchStart(ctx, conn, d)
}

// TestBatchIsResumed: each partner is paid once, wherever the work is interrupted and however many
// replicas resume it.
func TestBatchIsResumed(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 2, 3, 4, 5, 6} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			e := newEarner(t)
			e.many(3*page + 1)
			require.Equal(t, true, e.Batch(201).Body["generating"])
			ctx, cancel := context.WithCancel(t.Context())
			tracer := &cut{after: after, end: cancel}
			require.Error(t, e.run(ctx, "generate-payouts", tracer))
			require.Equal(t, true, e.Batch(200, M{"partner_id": e.Payouts("")[0].String("partner_id")}).Body["generating"])
			apitest.AtOnce(3, func(int) apitest.Answer {
				apitest.RunJob(t, e.Server, "generate-payouts")
				return apitest.Answer{}
			})
			apitest.RunJob(t, e.Server, "generate-payouts") // finishes the work of an interrupted run
			batch := e.Batch(200)
			require.Equal(t, []any{false, int64(3*page + 1)}, []any{batch.Body["generating"], batch.Int("payout_count")})
			e.Tallied(t)
		})
	}
}

// TestBatchAskedAgainWhileItIsMade: a request with the same parameters joins the run, which then
// visits all partners once more. A request with other parameters starts a separate run.
func TestBatchAskedAgainWhileItIsMade(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"min_payout_minor": 1001})
	e.many(page + 2)
	batch := e.Batch(201)
	require.Equal(t, []any{true, int64(page)}, []any{batch.Body["generating"], batch.Int("not_eligible_count")})
	first := e.Payouts("")[0].String("partner_id")
	e.Must(200, e.Post("/v1/partners/"+first, M{"min_payout_minor": 1}))
	for _, a := range apitest.AtOnce(8, func(int) apitest.Answer {
		return e.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": "2026-09-01"})
	}) {
		require.Equal(t, []any{200, true}, []any{a.Status, a.Body["generating"]}, "%s", a.Raw)
	}
	apitest.RunJob(t, e.Server, "generate-payouts")
	batch = e.Batch(200)
	require.Equal(t, true, batch.Body["generating"], "a new run")
	apitest.RunJob(t, e.Server, "generate-payouts")
	batch = e.Must(200, e.Get("/v1/payout_batches/"+batch.String("id")))
	require.Equal(t, []any{false, int64(1), int64(page + 1)}, []any{
		batch.Body["generating"], batch.Int("payout_count"), batch.Int("not_eligible_count"),
	})
	e.Batch(200, M{"ignore_minimum": true})
	apitest.RunJob(t, e.Server, "generate-payouts")
	require.EqualValues(t, page+2, e.Batch(200, M{"ignore_minimum": true}).Int("payout_count"))
	e.Tallied(t)
}

// TestBatchOfManyRaces: the books balance after payments, deletions and refunds while two replicas
// create a batch.
func TestBatchOfManyRaces(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	e.many(2*page + 1)
	var sales []string
	for range 4 {
		_, some := e.Referrer(10000)
		sales = append(sales, some...)
	}
	e.Batch(201)
	payouts := e.Payouts("")
	for _, a := range apitest.AtOnce(12, func(i int) apitest.Answer {
		p := "/v1/payouts/" + payouts[i%4].String("id")
		switch i % 6 {
		case 0:
			return e.Post(p+"/mark_paid", nil)
		case 1:
			return e.Delete(p)
		case 2:
			return e.Post("/v1/sales/"+sales[i/6]+"/refund", nil)
		case 3:
			return e.Post("/v1/payout_batches", M{"program_id": e.ProgramID, "period_end": "2026-09-01"})
		}
		apitest.RunJob(t, e.Server, "generate-payouts")
		return apitest.Answer{}
	}) {
		require.Contains(t, []int{0, 200, 404, 409}, a.Status, "%s", a.Raw)
	}
	apitest.RunJob(t, e.Server, "generate-payouts")
	require.Zero(t, e.Batch(200).Int("not_eligible_count"))
	e.Tallied(t)
}

// monthEnds advances to the time of the monthly batches.
func (e earner) monthEnds() { e.Clock.Set(time.Date(2026, 10, 1, 0, 10, 0, 0, time.UTC)) }

// TestAutoPayoutsReachEveryPartner: every partner with a due balance at the month's end is in the
// batch, whatever batches exist for the month before and in whatever order jobs run.
func TestAutoPayoutsReachEveryPartner(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"auto_payouts_enabled": true})
	s := e.Server
	early, _ := e.Referrer(10000)
	e.Batch(201, M{"partner_id": early})
	late, _ := e.Referrer(20000)
	s.Clock.Set(time.Date(2026, 9, 10, 0, 0, 0, 0, time.UTC))
	s.Must(200, s.Post("/v1/programs/"+e.ProgramID, M{"holding_period_days": 14}))
	holding, _ := e.Referrer(30000)
	s.Flow(e.ProgramID, M{"approval_mode": "after_days", "approval_delay_days": 5, "priority": 1})
	waiting, _ := e.Referrer(40000)
	s.Clock.Set(time.Date(2026, 9, 21, 0, 0, 0, 0, time.UTC))
	e.Referrer(50000)
	e.monthEnds()
	apitest.RunJob(t, s, "auto-payouts")
	apitest.RunJob(t, s, "mature-commissions")
	apitest.RunJob(t, s, "approve-commissions")
	got := map[string]int64{}
	for _, p := range e.Payouts("") {
		got[p.String("partner_id")] = p.Int("amount_minor")
	}
	require.Equal(t, map[string]int64{early: 2000, late: 4000, holding: 6000, waiting: 8000}, got)
	require.Len(t, s.Get("/v1/payout_batches?program_id="+e.ProgramID).Data(), 1)
	e.Tallied(t)
}

// TestAutoPayoutsAreMadeOnce: a completed run is not repeated, by replicas at the same moment or a
// minute later, whatever happens to its payouts.
func TestAutoPayoutsAreMadeOnce(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"auto_payouts_enabled": true})
	e.many(page + 1)
	e.Batch(201)
	e.monthEnds()
	apitest.AtOnce(4, func(int) apitest.Answer { apitest.RunJob(t, e.Server, "auto-payouts"); return apitest.Answer{} })
	apitest.RunJob(t, e.Server, "auto-payouts")
	list := e.Get("/v1/payout_batches?program_id=" + e.ProgramID).Data()
	require.Len(t, list, 1)
	require.Equal(t, []any{false, "2026-09-30T23:59:59.999Z"}, []any{list[0]["generating"], list[0]["period_end"]})
	require.Equal(t, page+1, apitest.Tally(e.Server, e.ProgramID, "payout.created"))
	e.Must(200, e.Delete("/v1/payouts/"+e.Payouts("")[0].String("id")))
	tracer := &apitest.Trips{}
	require.NoError(t, e.run(t.Context(), "auto-payouts", tracer))
	require.Equal(t, []string{"ProgramsToBatch", "PayoutRuns"}, queriesOf(tracer.Take()), "done is done")
	e.Tallied(t)
}

// TestAutoPayoutsSwitched: automatic batches begin with the month in which they are switched on, and end when they are
// switched off. A program that was off at the month's end has no batch by itself.
func TestAutoPayoutsSwitched(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	s := e.Server
	path := "/v1/programs/" + e.ProgramID
	batches := func() int { return len(s.Get("/v1/payout_batches?program_id=" + e.ProgramID).Data()) }
	e.Referrer(10000)
	at := func(month time.Month, day int) {
		s.Clock.Set(time.Date(2026, month, day, 0, 10, 0, 0, time.UTC))
		apitest.RunJob(t, s, "mature-commissions")
		apitest.RunJob(t, s, "auto-payouts")
	}
	at(10, 1)
	require.Zero(t, batches(), "off")
	at(10, 20)
	require.Equal(t, true, s.Must(200, s.Post(path, M{"auto_payouts_enabled": true})).Body["auto_payouts_enabled"])
	at(10, 20)
	require.Zero(t, batches(), "September ended before")
	at(11, 1)
	require.Equal(t, 1, batches(), "October")
	require.Len(t, e.Payouts(""), 1, "with what was due before, too")
	s.Must(200, s.Post(path, M{"auto_payouts_enabled": true}))
	at(11, 2)
	s.Must(200, s.Post(path, M{"auto_payouts_enabled": false}))
	at(12, 1)
	require.Equal(t, 1, batches(), "off at the end of November")
	s.Must(200, s.Post(path, M{"auto_payouts_enabled": true}))
	at(12, 2)
	require.Equal(t, 1, batches(), "on after the end of November")
	s.Clock.Set(time.Date(2027, 1, 1, 0, 10, 0, 0, time.UTC))
	apitest.RunJob(t, s, "auto-payouts")
	require.Equal(t, 2, batches(), "December")
	e.Tallied(t)
}

// TestAutoPayoutsSwitchedOffAtTheMonthsEnd: the job makes no batch of a program that is switched off after the job has
// listed it.
func TestAutoPayoutsSwitchedOffAtTheMonthsEnd(t *testing.T) {
	t.Parallel()
	e := newEarner(t, M{"auto_payouts_enabled": true})
	e.Referrer(10000)
	e.monthEnds()
	tx, err := e.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	_, err = tx.Exec(t.Context(), "UPDATE programs SET auto_payouts_enabled = false WHERE id = $1", e.ProgramID)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- e.run(t.Context(), "auto-payouts", nil) }()
	wait.ForLocks(t, e.Pool, "", 1) // the job has listed the program and waits for its row
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Empty(t, e.Get("/v1/payout_batches?program_id="+e.ProgramID).Data())
}

// queriesOf returns the names of queries, without the statements that prepare them.
func queriesOf(names []string) (out []string) {
	for _, n := range names {
		if !strings.HasPrefix(n, "prepare") {
			out = append(out, n)
		}
	}
	return out
}

// TestAutoPayoutsOfOthers: a program that fails, or is large, does not delay others.
func TestAutoPayoutsOfOthers(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	earners := map[string]earner{}
	for _, name := range []string{"a", "b", "c"} {
		e := earner{s.Earner(M{"auto_payouts_enabled": true})}
		s.Flow(e.ProgramID)
		e.Referrer(10000)
		earners[name] = e
	}
	broken := earners["a"]
	_, err := s.Pool.Exec(t.Context(),
		`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'broken'; END $$`)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(),
		`CREATE TRIGGER payouts_refuse BEFORE INSERT ON payouts FOR EACH ROW WHEN (NEW.program_id = '`+broken.ProgramID+
			`') EXECUTE FUNCTION refuse()`)
	require.NoError(t, err)
	large := earners["b"]
	large.many(2*page + 1)
	large.monthEnds()
	err = large.run(t.Context(), "auto-payouts", nil)
	require.ErrorContains(t, err, broken.ProgramID+": ")
	require.Empty(t, broken.Payouts(""))
	require.EqualValues(t, 2*page+2,
		apitest.Answer{Body: s.Get("/v1/payout_batches?program_id=" + large.ProgramID).Data()[0]}.Int("payout_count"))
	require.Len(t, earners["c"].Payouts(""), 1)
	_, err = s.Pool.Exec(t.Context(), `DROP TRIGGER payouts_refuse ON payouts`)
	require.NoError(t, err)
	s.Clock.Advance(time.Minute)
	apitest.RunJob(t, s, "auto-payouts")
	require.Len(t, broken.Payouts(""), 1)
	broken.Tallied(t)
}

// TestPaidAt: a payout cannot be paid before its commissions were earned.
func TestPaidAt(t *testing.T) {
	t.Parallel()
	e := newEarner(t)
	e.Referrer(10000)
	at := e.Clock.Now()
	e.Clock.Advance(time.Hour)
	e.Customer(e.ProgramID, e.Partner(e.ProgramID))
	e.Batch(201)
	p := "/v1/payouts/" + e.Payouts("")[0].String("id") + "/mark_paid"
	for _, bad := range []clock.Time{at.Plus(-time.Millisecond), at.Days(-9000)} {
		e.Refused(400, "parameter_invalid", "paid_at", e.Post(p, M{"paid_at": bad.String()}))
	}
	require.Equal(t, at.String(), e.Must(200, e.Post(p, M{"paid_at": at.String()})).String("paid_at"))
}
