package apitest

import (
	"fmt"
	"maps"
	"sync/atomic"
)

// counter makes names unique in this process; the databases of tests are their own.
var counter atomic.Int64

// Unique returns a name that no other call returns.
func Unique(stem string) string { return fmt.Sprintf("%s%d", stem, counter.Add(1)) }

// with returns base with the members of more, which replace those of the same name. nil is sent as null.
func with(base M, more []M) M {
	for _, m := range more {
		maps.Copy(base, m)
	}
	return base
}

// Program creates a program in USD without a holding period and returns its id.
func (s *Server) Program(more ...M) string {
	s.T.Helper()
	return s.Must(201, s.Post("/v1/programs", with(M{
		"name": Unique("Program "), "website_url": "https://shop.example", "currency": "USD", "holding_period_days": 0,
	}, more))).String("id")
}

// Partner creates an active partner and returns its id. Its handle and address are unique.
func (s *Server) Partner(program string, more ...M) string {
	s.T.Helper()
	return s.PartnerObject(program, more...).String("id")
}

// PartnerObject creates an active partner and returns the answer.
func (s *Server) PartnerObject(program string, more ...M) Answer {
	s.T.Helper()
	handle := Unique("partner-")
	return s.Must(201,
		s.Post("/v1/partners", with(M{"program_id": program, "email": handle + "@example.com", "handle": handle}, more)))
}

// Flow creates a flow of 20 % and returns its id.
func (s *Server) Flow(program string, more ...M) string {
	s.T.Helper()
	body := with(M{"program_id": program, "name": Unique("Flow "), "rate_type": "percent", "rate_value": 2000}, more)
	return s.Must(201, s.Post("/v1/flows", body)).String("id")
}

// Click records a click on a value and returns the answer.
func (s *Server) Click(program, value string, more ...M) Answer {
	s.T.Helper()
	return s.Must(201, s.Post("/v1/clicks", with(M{
		"program_id": program, "value": value, "landing_url": "https://shop.example/?ref=" + value,
		"visitor_token": Unique("visitor-token-"),
	}, more)))
}

// Customer creates a customer of a partner and returns its id.
func (s *Server) Customer(program, partner string, more ...M) string {
	s.T.Helper()
	return s.Must(201, s.Post("/v1/customers", with(M{"program_id": program, "partner_id": partner}, more))).String("id")
}

// SaleBody is a sale of 49.99 in USD with a new charge.
func SaleBody(program, customer string, more ...M) M {
	return with(M{
		"program_id": program, "customer_id": customer, "external_charge_id": Unique("ch_"), "amount_minor": 4999,
		"currency": "USD",
	}, more)
}

// Sale records a new sale and returns the answer.
func (s *Server) Sale(program, customer string, more ...M) Answer {
	s.T.Helper()
	return s.Must(201, s.Post("/v1/sales", SaleBody(program, customer, more...)))
}

// Balance returns the balance of a partner in a currency, zeros where there is none
// yet.
func (s *Server) Balance(program, partner, currency string) (pending, due, paid int64) {
	s.T.Helper()
	a := s.Must(200, s.Get("/v1/balances?program_id="+program+"&partner_id="+partner+"&currency="+currency))
	for _, b := range a.Data() {
		row := Answer{Body: b}
		return row.Int("pending_minor"), row.Int("due_minor"), row.Int("paid_minor")
	}
	return 0, 0, 0
}

// Events returns the bodies of a program's events in the events' order. They are read from the table, where they are
// committed with what caused them; no delivery is waited for.
func (s *Server) Events(program string) []Answer {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(), `SELECT body FROM events WHERE program_id = $1 ORDER BY seq`, program)
	if err != nil {
		s.T.Fatal(err)
	}
	defer rows.Close()
	var out []Answer
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			s.T.Fatal(err)
		}
		out = append(out, decoded(body))
	}
	return out
}

// EventTypes returns the types of a program's events in the events' order.
func (s *Server) EventTypes(program string) []string {
	s.T.Helper()
	var out []string
	for _, e := range s.Events(program) {
		out = append(out, e.String("type"))
	}
	return out
}

// Grant asks for a commission of 5.00 that is entered by hand.
func Grant(s *Server, program, partner string, more ...M) Answer {
	s.T.Helper()
	return s.Post("/v1/commissions", with(M{
		"program_id": program, "partner_id": partner, "amount_minor": 500, "reason": "A good year.",
	}, more))
}

// Apply sends an application.
func Apply(s *Server, program, email string, more ...M) Answer {
	s.T.Helper()
	return s.Post("/v1/applications", with(M{"program_id": program, "email": email}, more))
}

// RefundBody is a refund of a charge.
func RefundBody(program, charge, refund string, more ...M) M {
	return with(M{"program_id": program, "external_charge_id": charge, "external_refund_id": refund}, more)
}

// DefaultGroups returns the default groups of a program.
func (s *Server) DefaultGroups(program string) (ids []string) {
	s.T.Helper()
	for _, g := range s.Must(200, s.Get("/v1/groups?program_id="+program+"&limit=100")).Data() {
		if g["is_default"] == true {
			ids = append(ids, g["id"].(string))
		}
	}
	return ids
}

// Browser is the User-Agent of a browser.
const Browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// Follow requests a short link as a browser does. The given headers replace the default ones.
func Follow(s *Server, method, slug string, headers ...string) Answer {
	s.T.Helper()
	return s.Do(method, "/r/"+slug, "", nil, append([]string{"User-Agent", Browser}, headers...)...)
}
