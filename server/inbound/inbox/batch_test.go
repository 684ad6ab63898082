package inbox_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/queryplan"
	"rail/server/harness/stripetest"
	"rail/server/harness/wait"
	"rail/server/inbound/connection"
	"rail/server/inbound/inbox"
	"rail/server/postgres/pgtx"
	"rail/server/postgres/pgtx/share"
	"rail/server/secret"
)

// TestMain limits the property test, whose steps are requests, so that the whole suite stays fast.
// -rapid.checks=1000 runs more.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	pgtest.Main(m)
}

// hurried is a clock that advances a quarter of a minute on each of its first reads: fewer than it takes to
// claim an event too often.
type hurried struct {
	*clock.Manual
	left *atomic.Int64
}

func (h hurried) Now() clock.Time {
	if h.left.Add(-1) >= 0 {
		h.Advance(16 * time.Second)
	}
	return h.Manual.Now()
}

// worker returns a worker for a server's inbox.
func worker(t testing.TB, s *apitest.Server, c clock.Clock) inbox.Worker {
	t.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(t, err)
	return inbox.Worker{Pool: s.Pool, Keeper: keeper, Clock: c, Plan: s.Config.Plan()}
}

// send stores a number of payments, each of another customer.
func send(s *apitest.Server, n int) {
	s.T.Helper()
	program := s.Program()
	partner := s.Partner(program)
	c := s.Connect(program)
	for i := range n {
		customer := fmt.Sprint("c_", i)
		s.Customer(program, partner, apitest.M{"external_customer_id": customer})
		s.Must(200, c.Send(apitest.M{
			"external_charge_id": apitest.Unique("ch_"), "external_customer_id": customer, "amount_minor": 100, "currency": "USD",
		}))
	}
}

// TestTurns: an organization's events are processed before the end of another one's long queue, whichever came
// first.
func TestTurns(t *testing.T) {
	t.Parallel()
	crowd := apitest.New(t)
	send(crowd, 150)
	few := apitest.On(t, crowd.DSN, crowd.Clock)
	send(few, 1)
	require.NoError(t, worker(t, crowd, crowd.Clock).Run(t.Context(), crowd.Clock.Now()))
	var before, after int
	require.NoError(t, crowd.Pool.QueryRow(t.Context(), `
		SELECT count(*) FILTER (WHERE s.id < f.id), count(*) FILTER (WHERE s.id > f.id)
		FROM sales s, sales f WHERE s.org_id = $1 AND f.org_id = $2`, crowd.Org, few.Org).Scan(&before, &after))
	require.Equal(t, 150, before+after)
	require.Less(t, before, 75)
}

// TestTurnsOfLongQueues: organizations with long queues take turns.
func TestTurnsOfLongQueues(t *testing.T) {
	t.Parallel()
	first := apitest.New(t)
	servers := []*apitest.Server{first, apitest.On(t, first.DSN, first.Clock), apitest.On(t, first.DSN, first.Clock)}
	for _, s := range servers {
		send(s, 40)
	}
	require.NoError(t, worker(t, first, first.Clock).Run(t.Context(), first.Clock.Now()))
	for _, s := range servers {
		var early int
		require.NoError(t, first.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE org_id = $1)
			FROM (SELECT org_id FROM sales ORDER BY id LIMIT 60) early`, s.Org).Scan(&early))
		require.Greater(t, early, 10)
	}
}

// TestClaimReadsLittle: a claim reads few rows of a long queue, wherever the round begins, and its plan is cached.
func TestClaimReadsLittle(t *testing.T) {
	t.Parallel()
	s := newShop(t, 1)
	s.pay(0, "ch_0", nil)
	conn, err := s.Pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "SET statement_timeout = 0") // a busy machine takes seconds for the rows
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO inbox_events (id, org_id, program_id, connection_id, processor,
			external_event_id, type, livemode, status, attempts, failures, payload, headers, due_at, created_at)
		SELECT e.id || n, e.org_id, e.program_id, e.connection_id, e.processor, e.external_event_id || n, e.type, e.livemode,
			e.status, 0, 0, e.payload, e.headers, e.due_at, e.created_at
		FROM inbox_events e, generate_series(1, 20000) n`)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ANALYZE inbox_events")
	require.NoError(t, err)
	claim := func(tx pgtx.DBTX, after string) error {
		_, err := db.New().InboxClaim(t.Context(), tx, db.InboxClaimParams{
			After: after, Now: new(s.Clock.Now()), Held: []string{}, Until: s.Clock.Now().Plus(time.Minute),
		})
		return err
	}
	for _, after := range []string{"", s.Org, "a", "p", "~"} {
		var c queryplan.Capture
		require.ErrorIs(t, claim(&c, after), queryplan.ErrCaptured)
		plan := c.Explain(t, conn)
		assert.Less(t, plan.Examined(), 100.0, "after %q: %s", after, plan.Shape())
	}
	for range 10 {
		require.NoError(t, claim(conn, ""))
	}
	assert.Positive(t, queryplan.CachedPlans(t, conn, "InboxClaim"), "uses of the cached plan")
}

// TestNothingOutlivesItsLease: events claimed too long ago to be started are released, which does not count as a
// failure, and processed eventually.
func TestNothingOutlivesItsLease(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	send(s, 60)
	slow := hurried{clock.NewManual(s.Clock.Now().Time), &atomic.Int64{}}
	slow.left.Store(24)
	require.NoError(t, worker(t, s, slow).Run(t.Context(), s.Clock.Now()))
	var recorded, most, failures int
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE status = 'recorded'), max(attempts),
		max(failures) FROM inbox_events`).Scan(&recorded, &most, &failures))
	require.Equal(t, []int{60, 0}, []int{recorded, failures})
	require.Greater(t, most, 1, "given back")
}

// shop is a program with customers c_0, c_1 and so on of one partner, whose payments arrive through a connection.
type shop struct {
	*apitest.Server

	connection apitest.Connected
	customers  int
}

func newShop(t *testing.T, customers int) shop {
	t.Helper()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	for i := range customers {
		s.Customer(program, partner, apitest.M{"external_customer_id": fmt.Sprint("c_", i)})
	}
	return shop{s, s.Connect(program), customers}
}

// pay sends a payment of customer i, with further members.
func (s shop) pay(i int, charge string, more apitest.M) {
	s.T.Helper()
	event := apitest.M{
		"event_id": apitest.Unique("e_"), "external_charge_id": charge, "external_customer_id": fmt.Sprint("c_", i),
		"amount_minor": 100, "currency": "USD",
	}
	maps.Copy(event, more)
	s.Must(200, s.connection.Send(event))
	s.Clock.Advance(time.Millisecond) // so that events are claimed in their order
}

// run processes all events, in shared transactions only.
func (s shop) run() error {
	w := worker(s.T, s.Server, s.Clock)
	w.Commits = share.NewGroupCommit(s.Pool, 0, 2)
	return w.Run(s.T.Context(), s.Clock.Now())
}

// work is run without an error.
func (s shop) work() {
	s.T.Helper()
	require.NoError(s.T, s.run())
}

// count returns the number of a query.
func (s shop) count(query string) (n int) {
	s.T.Helper()
	require.NoError(s.T, s.Pool.QueryRow(s.T.Context(), query).Scan(&n))
	return n
}

// TestSharedTransactions: events of different payments share transactions, also first payments, and two events of one
// payment record it once.
func TestSharedTransactions(t *testing.T) {
	t.Parallel()
	s := newShop(t, 20)
	for range 2 {
		for i := range s.customers {
			s.pay(i, fmt.Sprint("ch_", i), nil)
		}
	}
	s.work()
	require.Equal(t, 20, s.count("SELECT count(*) FROM sales"))
	require.Equal(t, 20, s.count("SELECT count(*) FROM inbox_events WHERE status = 'recorded'"))
	require.Equal(t, 20, s.count("SELECT count(*) FROM inbox_events WHERE reason_code = 'already_recorded'"))
	require.Less(t, s.count("SELECT count(DISTINCT xmin::text) FROM sales"), 10, "transactions of the sales")
}

// TestSharedOrder: an event about the same payment or customer as an earlier one is processed after it.
func TestSharedOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, 20)
	for i := range s.customers {
		s.pay(i, fmt.Sprint("ch_", i), apitest.M{"metadata": apitest.M{"rail": "skip"}})
		s.pay(i, fmt.Sprint("ch_", i), nil)
	}
	s.work()
	require.Equal(t, 40, s.count("SELECT count(*) FROM inbox_events WHERE reason_code = 'opted_out'"))
	require.Zero(t, s.count("SELECT count(*) FROM sales"))
}

// TestLargeEvents: large events share no transaction, and are processed like others.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t, 5)
	for i := range s.customers {
		s.pay(i, fmt.Sprint("ch_", i), apitest.M{"metadata": apitest.M{"note": strings.Repeat("x", 40_000*(i%3))}})
	}
	s.work()
	require.Equal(t, 5, s.count("SELECT count(*) FROM inbox_events WHERE status = 'recorded'"))
}

// TestSharedOptOut: a customer's opt-out precedes the customer's next payment.
func TestSharedOptOut(t *testing.T) {
	t.Parallel()
	s := newShop(t, 20)
	w := worker(t, s.Server, s.Clock)
	box := inbox.Box{Pool: s.Pool, Keeper: w.Keeper, Clock: s.Clock}
	c := s.Connect(s.connection.ProgramID, func(in *connection.Input) {
		in.Processor, in.Secret = connection.Stripe, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	})
	for i := range s.customers {
		p := stripetest.Purchase{
			Version: stripetest.Clover, Name: fmt.Sprint("p", i), Live: true, At: s.Clock.Now().Time,
			Customer: fmt.Sprint("c_", i), Subscription: true, Invoiced: true, Amount: 2400, Currency: "usd",
		}
		paid := p.Event("invoice.paid", p.Invoice())
		p.Metadata = stripetest.Object{"rail": "skip"}
		for _, body := range [][]byte{p.Event("customer.updated", p.CustomerObject(), "x"), paid} {
			require.NoError(t, box.Store(t.Context(), c.ProcessorConnection, body))
			s.Clock.Advance(time.Millisecond)
		}
	}
	s.work()
	require.Zero(t, s.count("SELECT count(*) FROM sales"))
}

// ticking is a clock that runs from a server's time.
type ticking struct{ from, began clock.Time }

func (c ticking) Now() clock.Time { return c.from.Plus(clock.Real().Sub(c.began.Time)) }

// stuck is a processor's API without answers, which counts requests.
type stuck struct{ asking, most atomic.Int64 }

func (p *stuck) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	now := p.asking.Add(1)
	for most := p.most.Load(); now > most && !p.most.CompareAndSwap(most, now); most = p.most.Load() {
	}
	<-r.Context().Done()
	p.asking.Add(-1)
}

// storeInvoices stores events of invoices of different customers that must be completed from Stripe's API.
func storeInvoices(s *apitest.Server, w inbox.Worker, invoices int) {
	s.T.Helper()
	c := s.Connect(s.Program(), func(in *connection.Input) {
		in.Processor, in.Secret, in.APIKey = connection.Stripe, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "rk_live_1"
	})
	box := inbox.Box{Pool: s.Pool, Keeper: w.Keeper, Clock: s.Clock}
	for i := range invoices {
		p := stripetest.Purchase{
			Version: stripetest.Clover, Name: fmt.Sprint(i), Live: true, At: s.Clock.Now().Time,
			Customer: fmt.Sprint("cus_", i), Subscription: true, Invoiced: true, Amount: 2400, Currency: "usd",
		}
		require.NoError(s.T, box.Store(s.T.Context(), c.ProcessorConnection, p.Event("invoice.paid", p.Invoice())))
	}
}

// TestSlowProcessor: an organization with an unresponsive processor has at most three of the eight workers. Events
// of others are processed at the same time, also later ones.
func TestSlowProcessor(t *testing.T) {
	t.Parallel()
	api := &stuck{}
	web := httptest.NewServer(api)
	t.Cleanup(web.Close)
	slow := apitest.New(t)
	quick := apitest.On(t, slow.DSN, slow.Clock)
	w := worker(t, slow, ticking{slow.Clock.Now(), clock.At(clock.Real())})
	w.API = inbox.NewAPI(web.URL)
	storeInvoices(slow, w, 60)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, w.Clock.Now()) }()
	wait.Until(t, func() bool { return api.asking.Load() == 3 }, "nobody asks")
	for n := range 3 {
		send(quick, 1)
		wait.Until(t, func() bool {
			var sales int
			require.NoError(t, quick.Pool.QueryRow(t.Context(), `SELECT count(*) FROM sales`).Scan(&sales))
			return sales == n+1
		}, "sale %d is not recorded", n)
	}
	require.EqualValues(t, 3, api.most.Load())
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}
