package rails_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/paypaltest"
	"rail/server/money/ledger/check"
	"rail/server/money/payout"
	"rail/server/money/payout/rails"
	"rail/server/outbound/mail"
	"rail/server/secret"
	"rail/server/work"
)

const (
	day = 24 * time.Hour
	// dies is the probability that a server ends within a round.
	dies = 0.6
	// lifetime is the largest number of statements of a server that ends within a round.
	lifetime = 40
	// rounds and payoutsInRound bound the rounds until all payouts are polled.
	rounds         = 40
	payoutsInRound = 10
)

// simulation pays the payouts of several months by a PayPal with troubles. Two servers do each round at once, and end
// in its middle.
type simulation struct {
	calm bool // no server ends
	connected
	random   *rand.Rand
	partners []string
	servers  []*mortal
	payouts  int
	ended    atomic.Int64
}

// mortal is a server whose context is cancelled after a number of statements, as if its process were killed there.
type mortal struct {
	pool *pgxpool.Pool
	left atomic.Int64 // statements until it ends
	kill atomic.Pointer[context.CancelFunc]
	rail *rails.Service
}

// TraceQueryStart ends the server before its last statement.
func (m *mortal) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if m.left.Add(-1) == 0 {
		(*m.kill.Load())()
	}
	return ctx
}

// TraceQueryEnd ends the server after its last statement.
func (m *mortal) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {
	if m.left.Add(-1) == 0 {
		(*m.kill.Load())()
	}
}

// size returns the number of partners and of months. RAIL_TEST_RAIL_PAYOUTS is the number of payouts of a larger run:
//
//	RAIL_TEST_RAIL_PAYOUTS=10000 go test -v -timeout 2h -run MonthsOfTrouble ./server/money/payout/rails
func size(t *testing.T) (partners, months int) {
	t.Helper()
	text := os.Getenv("RAIL_TEST_RAIL_PAYOUTS")
	if text == "" {
		return 12, 4
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return max(1, n*2/3/12), 12
}

// TestMonthsOfTrouble: whatever PayPal answers and wherever servers end, no payout is paid twice or lost, each end is
// seen by the next poll, and the books are right.
func TestMonthsOfTrouble(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64N(1 << 32)
	if text := os.Getenv("RAIL_TEST_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("RAIL_TEST_SEED=%d repeats the troubles", seed)
	partners, months := size(t)
	s := newSimulation(t, seed, partners)
	plan := paypaltest.Trouble(0.03)
	plan.Submit.Throttle, plan.Other.Throttle = 0.003, 0.003 // each ends the round
	s.PayPal.SetPlan(plan)
	for month := range months {
		s.month(month)
		t.Logf("month %d: %d payouts, %d servers ended", month+1, s.payouts, s.ended.Load())
	}
	for range 2 {
		s.step(35 * day)
	}
	// A server that ends between a lease and its poll delays the poll by five minutes, so the last round is calm.
	s.PayPal.SetPlan(paypaltest.Plan{})
	s.calm = true
	s.step(25 * time.Hour)
	require.Empty(t, s.PayPal.Compare(s.seen()))
	require.NotZero(t, s.ended.Load())
	s.report()
	s.Tallied(t)
	found, err := check.Run(t.Context(), s.Pool)
	require.NoError(t, err)
	require.Empty(t, found)
}

func newSimulation(t *testing.T, seed uint64, partners int) *simulation {
	t.Helper()
	s := &simulation{connected: newConnected(t), random: rand.New(rand.NewPCG(seed, 36))}
	s.PayPal.SetSeed(seed)
	s.owner()
	for range partners {
		id := s.Partner(s.ProgramID)
		s.Must(200, s.Post("/v1/partners/"+id, M{"payout_method": "paypal", "payout_details": M{"email": id + "@example.com"}}))
		s.partners = append(s.partners, id)
	}
	for range 2 {
		s.servers = append(s.servers, s.server())
	}
	return s
}

// server returns a server with separate connections, which its end closes in the middle of a statement.
func (s *simulation) server() *mortal {
	m := &mortal{}
	m.kill.Store(new(context.CancelFunc(func() {})))
	config := s.Pool.Config()
	config.MaxConns = 4
	config.ConnConfig.Tracer = m
	var err error
	m.pool, err = pgxpool.NewWithConfig(s.T.Context(), config)
	require.NoError(s.T, err)
	s.T.Cleanup(m.pool.Close)
	return m
}

// month makes the payouts of a month, hands them over, and follows them until the next month.
func (s *simulation) month(n int) {
	for i, partner := range s.partners {
		s.earn(partner, 1000+s.random.IntN(100_000), "USD")
		if i%4 == n%4 {
			s.earn(partner, 100*(1+s.random.IntN(5000)), "HUF")
		}
		if i%8 == n%8 {
			s.earn(partner, 1+s.random.IntN(90_000), "JPY")
		}
		if i%8 == (n+3)%8 {
			s.earn(partner, 50+100*s.random.IntN(5000), "HUF") // with a HUF of another month it may be whole
		}
	}
	a := s.Post("/v1/payout_batches", M{"program_id": s.ProgramID, "period_end": s.Clock.Now().String()})
	require.Contains(s.T, []int{200, 201}, a.Status)
	s.sendAll(a.String("id"))
	for _, pause := range []time.Duration{
		0, time.Minute, 6 * time.Minute, time.Hour, 12 * time.Hour, 2 * day, 8 * day,
	} {
		s.step(pause)
	}
	s.Clock.Advance(31*day - s.Clock.Now().Sub(apitest.Start)%(31*day))
}

func (s *simulation) earn(partner string, minor int, currency string) {
	s.T.Helper()
	s.Must(201, s.Post("/v1/commissions", M{
		"program_id": s.ProgramID, "partner_id": partner, "amount_minor": minor, "currency": currency, "reason": "a month",
	}))
}

// sendAll hands over the payouts of a batch, each currency with its own confirmation.
func (s *simulation) sendAll(batch string) {
	s.T.Helper()
	for _, currency := range []string{"USD", "HUF", "JPY"} {
		var count, minor int
		require.NoError(s.T, s.Pool.QueryRow(s.T.Context(), `SELECT count(*), coalesce(sum(amount_minor), 0)::bigint FROM payouts
			WHERE batch_id = $1 AND currency = $2 AND status = 'pending'`, batch, currency).Scan(&count, &minor))
		if count > 0 {
			s.Must(200, s.send(batch, count, minor, M{"currency": currency}))
			s.payouts += count
		}
	}
	s.nameAll()
}

// nameAll names the payouts for the decisions of PayPal, which a seed then repeats.
func (s *simulation) nameAll() {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(), "SELECT id, partner_id, currency, period_month::text FROM payouts")
	require.NoError(s.T, err)
	type named struct{ ID, Partner, Currency, Month string }
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[named])
	require.NoError(s.T, err)
	for _, p := range all {
		s.PayPal.SetName(p.ID, fmt.Sprint(slices.Index(s.partners, p.Partner), p.Currency, p.Month))
	}
}

// step lets time pass, and runs both servers until they have asked about every payout.
func (s *simulation) step(by time.Duration) {
	s.T.Helper()
	s.Clock.Advance(by)
	begun := s.Clock.Now()
	most := rounds + s.payouts/payoutsInRound
	for range most {
		var wait sync.WaitGroup
		for _, m := range s.servers {
			s.prepare(m)
			wait.Go(func() { s.run(m) })
		}
		wait.Wait()
		require.Empty(s.T, s.PayPal.Early(s.seen()))
		s.Clock.Advance(61 * time.Second) // a rail that failed is called again
		var open int
		require.NoError(s.T, s.Pool.QueryRow(s.T.Context(), `SELECT count(*) FROM payouts WHERE rail_id = $1
			AND (status = 'processing' AND attention IS DISTINCT FROM 'unconfirmed' AND (checked_at IS NULL OR checked_at < $2)
			OR status = 'paid' AND checked_at < $3 AND (attention IS NULL OR attention NOT IN ('returned', 'reversed')))`,
			s.ID, begun, begun.Plus(-day)).Scan(&open))
		if open == 0 {
			return
		}
	}
	s.T.Fatalf("payouts were not asked about in %d rounds", most)
}

// prepare decides when a server ends. It has forgotten what it had in memory if it has ended before.
func (s *simulation) prepare(m *mortal) {
	if m.rail == nil {
		m.rail = &rails.Service{Keeper: s.keeper(), Clock: s.Clock, PayPalURL: s.PayPal.URL(), Name: "Rail"}
	}
	m.left.Store(1 << 40)
	if !s.calm && s.random.Float64() < dies {
		m.left.Store(int64(1 + s.random.IntN(lifetime)))
	}
}

func (s *simulation) keeper() *secret.Keeper {
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	return keeper
}

// run does one round of a server, which may end in its middle.
func (s *simulation) run(m *mortal) {
	ctx, cancel := context.WithCancel(s.T.Context())
	defer cancel()
	m.kill.Store(&cancel)
	sender := payout.Sender{Pool: m.pool, Keeper: s.keeper(), Open: m.rail.Open, Mail: &mail.Outbox{Configured: true}}
	_ = sender.Run(ctx, work.NewRun(m.pool, work.Actor{Kind: work.Job, ID: "send-payouts"}, s.Clock.Now()))
	if ctx.Err() != nil {
		m.rail = nil
		s.ended.Add(1)
	}
}

// seen returns all payouts as the database has them.
func (s *simulation) seen() (all []paypaltest.Seen) {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(), `SELECT id, amount_minor, currency, status, coalesce(attention, ''),
		coalesce(error_code, '') FROM payouts`)
	require.NoError(s.T, err)
	all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[paypaltest.Seen])
	require.NoError(s.T, err)
	require.Len(s.T, all, s.payouts)
	return all
}

// report logs the ends of the payouts.
func (s *simulation) report() {
	ends := map[string]int{}
	for _, p := range s.seen() {
		ends[fmt.Sprint(p.Status, " ", p.Attention)]++
	}
	s.T.Logf("%d payouts, %d servers ended, %d submissions, %d polls: %v", s.payouts, s.ended.Load(),
		s.PayPal.Calls(paypaltest.Submit), s.PayPal.Calls(paypaltest.ShowBatch), ends)
	require.NotZero(s.T, ends["paid "])
	require.NotZero(s.T, ends["failed "])
}
