package bench

import "fmt"

// loads lists the measured requests in the order of the table.
var loads = []load{
	// Name, title; how it is drawn here and in pgbench; what is sent.
	{"sale", "POST /v1/sales", pickCustomer, setCustomer, askSale},
	{"keyed", "the same, Idempotency-Key", pickCustomer, setCustomer, askKeyed},
	{"hot", "POST /v1/sales, one partner", pickHot, setHot, askSale},
	{"click", "POST /v1/clicks", pickPartner, setPartner, askClick},
	{"browser", "POST /t/c", pickPartner, setPartner, askBrowser},
	{"retrieve", "GET /v1/sales/{id}", pickSale, setSale, askRetrieve},
	{"list", "GET /v1/sales, 25 + count", pickPartner, setPartner, askList},
}

// Names returns the names that may be chosen: of the loads, and of what else is measured.
func Names() []string {
	var out []string
	for _, l := range loads {
		out = append(out, l.name)
	}
	return append(out, others...)
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

// generated returns the load with a name, which may be one of a pair.
func generated(name string) (load, error) {
	for _, pair := range paired {
		for _, l := range pair {
			if l.name == name {
				return l, nil
			}
		}
	}
	return find(name)
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

// visitor returns a new visitor's token: the 16 digits of a new number, as long as tokens that the server creates for
// browsers.
func visitor(d draw) string { return fmt.Sprintf("%s%d", visitorStem, d.Fresh) }

const visitorStem = "visit-"

// The browser's endpoint for visits, and the page's address.
const (
	browserPath = "/t/c"
	shop        = "https://shop.example"
)

// publishable returns the publishable key of a program.
func publishable(program int64) string { return fmt.Sprintf("rail_pub_%032d", program) }

func askBrowser(d draw) request {
	return request{Method: "POST", Path: browserPath, Body: fmt.Sprintf(
		`{"key":%q,"value":"partner-%d","url":"https://shop.example/?ref=partner-%d","visitor":%q}`,
		publishable(d.Program), d.Partner, d.Partner, visitor(d))}
}

func askClick(d draw) request {
	return request{Method: "POST", Path: "/v1/clicks", Body: fmt.Sprintf(
		`{"program_id":%q,"value":"partner-%d","landing_url":"https://shop.example/?ref=partner-%d","visitor_token":%q,"country":"DE","user_agent":"Mozilla/5.0"}`,
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
