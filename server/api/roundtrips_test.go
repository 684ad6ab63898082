package api_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/apitest"
	"rail/server/app"
	"rail/server/postgres"
)

// trips notes each round trip to the database by the names of its queries.
type trips struct {
	mu    sync.Mutex
	names []string
}

var (
	queryName = regexp.MustCompile(`^-- name: (\w+)`)
	ofKey     = regexp.MustCompile(`^APIKey`) // the authentication's own
)

func (t *trips) note(sql string, more ...string) {
	name := sql
	if m := queryName.FindStringSubmatch(sql); m != nil {
		name = m[1]
	}
	for _, s := range more {
		if m := queryName.FindStringSubmatch(s); m != nil {
			s = m[1]
		}
		name += "+" + s
	}
	if ofKey.MatchString(name) || name == "-- ping" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names = append(t.names, name)
}

func (t *trips) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.names
	t.names = nil
	return out
}

func (t *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	t.note(d.SQL)
	return ctx
}
func (t *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (t *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	var all []string
	for _, q := range d.Batch.QueuedQueries {
		all = append(all, q.SQL)
	}
	t.note(all[0], all[1:]...)
	return ctx
}
func (t *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (t *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

func (t *trips) TracePrepareStart(ctx context.Context, _ *pgx.Conn, d pgx.TracePrepareStartData) context.Context {
	t.note("prepare", d.SQL)
	return ctx
}
func (t *trips) TracePrepareEnd(context.Context, *pgx.Conn, pgx.TracePrepareEndData) {}

// TestRoundTrips counts what an operation costs, after authentication, on a
// server whose one connection knows the statements. A change of a number is a
// change of speed: make it on purpose.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	tracer := &trips{}
	pool, err := postgres.Open(t.Context(), s.DSN, postgres.Options{MaxConns: 1, Tracer: tracer})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	a, err := app.New(t.Context(), s.Config, pool, s.Clock, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	web := httptest.NewServer(a.Handler())
	t.Cleanup(web.Close)
	traced := *s
	traced.URL = web.URL

	program := s.Program()
	partner := s.Partner(program, M{"handle": "ann"})
	s.Flow(program, M{"branches": []any{branchOf(100, cond("sale.product_id", "eq", "x"))}})
	customer := s.Customer(program, partner)
	counted := s.Program()
	counting := s.Customer(counted, s.Partner(counted))
	s.Flow(counted, M{"branches": []any{branchOf(100, cond("partner.sales_count", "gte", 1000))}})
	post := func(path string, body func() M, headers ...func() string) func() apitest.Answer {
		return func() apitest.Answer {
			var h []string
			for _, f := range headers {
				h = append(h, f())
			}
			return traced.Do("POST", path, traced.Key, body(), h...)
		}
	}
	get := func(path string) func() apitest.Answer { return func() apitest.Answer { return traced.Get(path) } }
	fresh := func() M { return apitest.SaleBody(program, customer) }
	known := s.Sale(program, customer, M{"external_charge_id": "ch_known"}).String("id")
	repeat := func() M { return apitest.SaleBody(program, customer, M{"external_charge_id": "ch_known"}) }
	name, key := func() string { return "Idempotency-Key" }, func() string { return apitest.Unique("key-") }
	same := func() string { return "the-same-key" }
	click := func(visitor func() string) func() M {
		return func() M {
			return M{"program_id": program, "value": "ann", "landing_url": "https://shop.example/", "visitor_token": visitor()}
		}
	}
	for _, c := range []struct {
		operation string
		most      int // what the design allows
		trips     int // what it costs
		run       func() apitest.Answer
	}{
		{"sale", 4, 2, post("/v1/sales", fresh)},
		{"sale with Idempotency-Key", 4, 3, post("/v1/sales", fresh, name, key)},
		{"sale replayed by Idempotency-Key", 4, 2, post("/v1/sales", repeat, name, same)},
		{"sale with counters", 4, 3, post("/v1/sales", func() M { return apitest.SaleBody(counted, counting) })},
		{"sale repeated", 4, 3, post("/v1/sales", repeat)},
		{"click of a new visitor", 3, 2, post("/v1/clicks", click(func() string { return apitest.Unique("new-visitor-") }))},
		{"click of a known visitor", 3, 2, post("/v1/clicks", click(func() string { return "known-visitor" }))},
		{"retrieve a sale", 1, 1, get("/v1/sales/" + known)},
		{"retrieve a partner", 1, 1, get("/v1/partners/" + partner)},
		{"retrieve a customer", 1, 1, get("/v1/customers/" + customer)},
		{"list of sales, filter, two expands", 3, 2, get("/v1/sales?program_id=" + program + "&partner_id=" + partner + "&expand=partner,customer")},
		{"list of commissions, filter, two expands", 3, 2, get("/v1/commissions?program_id=" + program + "&partner_id=" + partner + "&expand=sale,flow")},
		{"list of clicks, filter, two expands", 3, 2, get("/v1/clicks?program_id=" + program + "&partner_id=" + partner + "&expand=partner,referral")},
	} {
		for range 2 { // the first runs prepare the statements
			require.Less(t, c.run().Status, 300, c.operation)
		}
		tracer.take()
		answer := c.run()
		require.Less(t, answer.Status, 300, c.operation)
		names := tracer.take()
		require.LessOrEqual(t, len(names), c.most, "%s: %v", c.operation, names)
		require.Len(t, names, c.trips, "%s: %v", c.operation, names)
	}
}
