package handlers_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// tracedServer is a server whose one connection is traced.
type tracedServer struct {
	*apitest.Server
	tracer *apitest.Trips

	program, partner, customer, sale string
	counted, counting                string // a program whose flow counts sales, and its customer
}

func newTracedServer(t *testing.T) tracedServer {
	t.Helper()
	s := apitest.New(t)
	traced, tracer := s.Traced()
	w := tracedServer{Server: traced, tracer: tracer, program: s.Program()}
	w.partner = s.Partner(w.program, M{"handle": "ann"})
	s.Flow(w.program, M{"branches": []any{apitest.Branch(100, apitest.Condition("sale.product_id", "eq", "x"))}})
	w.customer = s.Customer(w.program, w.partner)
	w.counted = s.Program()
	w.counting = s.Customer(w.counted, s.Partner(w.counted))
	s.Flow(w.counted, M{"branches": []any{apitest.Branch(100, apitest.Condition("partner.sales_count", "gte", 1000))}})
	w.sale = s.Sale(w.program, w.customer, M{"external_charge_id": "ch_known"}).String("id")
	return w
}

// roundTrip is an operation and its number of round trips.
type roundTrip struct {
	operation string
	most      int // what the design allows
	trips     int // what it costs
	run       func() apitest.Answer
}

func (w tracedServer) post(path string, body func() M) func() apitest.Answer {
	return func() apitest.Answer { return w.Post(path, body()) }
}

func (w tracedServer) keyed(path string, body func() M, key func() string) func() apitest.Answer {
	return func() apitest.Answer { return w.Do("POST", path, w.Key, body(), "Idempotency-Key", key()) }
}

// visitors returns n customers who came by a click and have not paid.
func (w tracedServer) visitors(n int) (customers []string) {
	for range n {
		click := w.Click(w.program, "ann").String("id")
		customers = append(customers, w.Must(201, w.Post("/v1/customers", M{
			"program_id": w.program, "click_id": click,
		})).String("id"))
	}
	return customers
}

func (w tracedServer) sales() []roundTrip {
	fresh := func() M { return apitest.SaleBody(w.program, w.customer) }
	repeat := func() M { return apitest.SaleBody(w.program, w.customer, M{"external_charge_id": "ch_known"}) }
	counted := func() M { return apitest.SaleBody(w.counted, w.counting) }
	unique := func() string { return apitest.Unique("key-") }
	same := func() string { return "the-same-key" }
	visitors := w.visitors(3)
	first := func() M {
		customer := visitors[0]
		visitors = visitors[1:]
		return apitest.SaleBody(w.program, customer)
	}
	past := func() M {
		return apitest.SaleBody(w.program, w.customer, M{"occurred_at": w.Clock.Now().Plus(-time.Hour)})
	}
	return []roundTrip{
		{"sale", 4, 2, w.post("/v1/sales", fresh)},
		{"sale with Idempotency-Key", 4, 3, w.keyed("/v1/sales", fresh, unique)},
		{"sale replayed by Idempotency-Key", 4, 2, w.keyed("/v1/sales", repeat, same)},
		{"sale with counters", 4, 3, w.post("/v1/sales", counted)},
		{"first sale of a visitor", 4, 3, w.post("/v1/sales", first)},
		{"sale of an hour ago", 4, 3, w.post("/v1/sales", past)},
		{"sale repeated", 4, 3, w.post("/v1/sales", repeat)},
	}
}

func (w tracedServer) clicks() []roundTrip {
	of := func(visitor func() string) func() M {
		return func() M {
			return M{"program_id": w.program, "value": "ann", "landing_url": "https://shop.example/", "visitor_token": visitor()}
		}
	}
	return []roundTrip{
		{"click of a new visitor", 3, 2, w.post("/v1/clicks", of(func() string { return apitest.Unique("new-visitor-") }))},
		{"click of a known visitor", 3, 2, w.post("/v1/clicks", of(func() string { return "known-visitor" }))},
	}
}

func (w tracedServer) reads() []roundTrip {
	get := func(path string) func() apitest.Answer { return func() apitest.Answer { return w.Get(path) } }
	filter := "?program_id=" + w.program + "&partner_id=" + w.partner
	return []roundTrip{
		{"retrieve a sale", 1, 1, get("/v1/sales/" + w.sale)},
		{"retrieve a partner", 1, 1, get("/v1/partners/" + w.partner)},
		{"retrieve a customer", 1, 1, get("/v1/customers/" + w.customer)},
		{"list of sales, filter, two expands", 3, 2, get("/v1/sales" + filter + "&expand=partner,customer")},
		{"list of commissions, filter, two expands", 3, 2, get("/v1/commissions" + filter + "&expand=sale,flow")},
		{"list of clicks, filter, two expands", 3, 2, get("/v1/clicks" + filter + "&expand=partner,referral")},
	}
}

// TestRoundTrips counts the round trips of each operation, after authentication, on a server whose
// one connection has prepared the statements. A different number changes the speed: change it on
// purpose.
func TestRoundTrips(t *testing.T) {
	t.Parallel()
	w := newTracedServer(t)
	for _, c := range slices.Concat(w.sales(), w.clicks(), w.reads()) {
		for range 2 { // the first runs prepare the statements
			require.Less(t, c.run().Status, 300, c.operation)
		}
		w.tracer.Take()
		answer := c.run()
		require.Less(t, answer.Status, 300, c.operation)
		names := w.tracer.Take()
		require.LessOrEqual(t, len(names), c.most, "%s: %v", c.operation, names)
		require.Len(t, names, c.trips, "%s: %v", c.operation, names)
	}
}
