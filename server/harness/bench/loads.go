package bench

import "fmt"

// loads lists the measured requests in the order of the table. A goal is the ratio to pgbench that
// a load should reach, or a limit of its own.
var loads = []load{
	// Name, title, goal; how it is drawn here and in pgbench; what is sent.
	{"sale", "POST /v1/sales", "ratio >= 0.60", pickCustomer, setCustomer, askSale},
	{"keyed", "the same, Idempotency-Key", "ratio >= 0.55", pickCustomer, setCustomer, askKeyed},
	{"hot", "POST /v1/sales, one partner", "hot/spread >= 0.60", pickHot, setHot, askSale},
	{"click", "POST /v1/clicks", "ratio >= 0.55", pickPartner, setPartner, askClick},
	{"retrieve", "GET /v1/sales/{id}", "ratio >= 0.25, <= 60 us", pickSale, setSale, askRetrieve},
	{"list", "GET /v1/sales, 25 + count", "ratio >= 0.35, 1 trip", pickPartner, setPartner, askList},
}

// Names returns the names that may be chosen: of the loads, and the footprint.
func Names() []string {
	var out []string
	for _, l := range loads {
		out = append(out, l.name)
	}
	return append(out, "footprint")
}

// find returns the load with a name.
func find(name string) (load, error) {
	for _, l := range loads {
		if l.name == name {
			return l, nil
		}
	}
	return load{}, fmt.Errorf("no load is called %q; there are %v", name, Names())
}

// The requests. What must be unique has the fresh number of the draw in it.
func askSale(d draw) request {
	return request{Method: "POST", Path: "/v1/sales", Body: fmt.Sprintf(
		`{"program_id":%q,"customer_id":%q,"external_charge_id":"ch_%d","amount_minor":4999,"currency":"USD","product_name":"Pro plan"}`,
		id("prg", d.Program), id("cus", d.Customer), d.Fresh)}
}

func askKeyed(d draw) request {
	r := askSale(d)
	r.Key = fmt.Sprintf("key-%d", d.Fresh)
	return r
}

// visitor returns the token of a visitor who has not been there before.
func visitor(d draw) string { return fmt.Sprintf("visitor-%d", d.Fresh) }

func askClick(d draw) request {
	return request{Method: "POST", Path: "/v1/clicks", Body: fmt.Sprintf(
		`{"program_id":%q,"value":"p%d","landing_url":"https://shop.example/?ref=p%d","visitor_token":%q,"country":"DE","user_agent":"Mozilla/5.0"}`,
		id("prg", d.Program), d.Partner, d.Partner, visitor(d))}
}

func askRetrieve(d draw) request {
	return request{Method: "GET", Path: "/v1/sales/" + id("sale", d.Sale)}
}

func askList(d draw) request {
	return request{
		Method: "GET",
		Path:   "/v1/sales?program_id=" + id("prg", d.Program) + "&partner_id=" + id("part", d.Partner) + "&limit=25",
	}
}
