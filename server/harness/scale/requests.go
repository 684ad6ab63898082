package scale

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/openapi"
	"rail/server/harness/dataset"
	"rail/server/money/report"
)

// request is a request to measure. A table's name in braces in url is replaced by the id, or another column, of a row
// of the largest program.
type request struct{ name, url string }

// pages lists the parameters that choose a page, and are not measured: all pages
// cost the same.
var pages = []string{"limit", "starting_after", "ending_before", "offset", "after"}

// filters has values for parameters whose values the description does not list: those
// of the most rows, or a range with most of them.
var filters = map[string][]string{
	"program_id":           {dataset.ID("prg", 0)},
	"partner_id":           {dataset.ID("part", 0)},
	"group_id":             {dataset.ID("grp", 0)},
	"tag_id":               {dataset.ID("tag", 0)},
	"link_id":              {dataset.ID("lnk", 0)},
	"referral_id":          {"{referrals}"},
	"customer_id":          {"{customers}"},
	"sale_id":              {"{sales}"},
	"payout_id":            {"{payouts}"},
	"batch_id":             {"{payout_batches}"},
	"target_id":            {"{commissions}"},
	"email":                {"partner0@example.com", "customer0@example.com"},
	"handle":               {"partner-0"},
	"no_click_since":       {"2026-08-01"},
	"search":               {"last77", "partner"},
	"external_customer_id": {"{customers.external_customer_id}"},
	"identifier":           {"none"},
	"has_duplicates":       {"true"},
	"external_charge_id":   {"{sales.external_charge_id}"},
	"external_refund_id":   {"re_0"},
	"external_id":          {"none"},
	"external_event_id":    {"{inbox_events.external_event_id}"},
	"connection_id":        {"{processor_connections}"},
	"type":                 {"invoice.paid"},
	"top":                  {"10"},
	"changes":              {"6"},
	"reason_code":          {"no_partner"},
	"code":                 {"CODE0"},
	"currency":             {"USD", "EUR"},
	"action":               {"commission.created"},
	"created_after":        {"2024-01-01", "2026-08-31"},
	"created_before":       {"2026-08-31", "2024-11-01"},
	"occurred_after":       {"2024-01-01", "2026-08-31"},
	"occurred_before":      {"2026-08-31", "2024-11-01"},
	"from":                 {"2025-09-02"},
	"to":                   {"2026-08-31"},
	"year":                 {"2026"},
	"number":               {"R-2026-000001"},
	"source":               {"source 1", "none"},
	"medium":               {"social", "none"},
	"campaign":             {"campaign 5", "nobody"},
	"referrer":             {"site-2.example", "none"},
	"country":              {"US", "none"},
	"device":               {"desktop", "none"},
	"months":               {"24"},
}

// always has the required query of an operation.
var always = map[string]string{
	"listMaturingCommissions": "from=2024-01-01&to=2027-01-01",
}

// beside has the parameters that a parameter needs.
var beside = map[string]string{"granularity": "&dimension=period", "to": "&from=2025-09-02", "from": "&to=2026-08-31"}

// besideOf returns the parameters that a parameter of an operation needs. A report with a filter by origin reads rows, at
// most 200,000, so its window is short.
func besideOf(operation, name string) string {
	if operation == "retrieveReport" && report.By(name).Original() {
		return "&from=2026-08-28"
	}
	return beside[name]
}

// unmeasured lists the operations that read no table, for a browser's cookie only, or rows that must be signed.
var unmeasured = []string{
	"retrievePayoutStatement",
	"retrieveOpenAPIDocument", "retrieveLLMsText", "retrieveLLMsFullText", "retrieveBrowserAttribution", "retrieveTestClock",
}

// requests returns, from the description, every operation that reads: alone, with each
// value of each filter, and with everything that can be embedded.
func requests(bundle []byte) ([]request, error) {
	spec, err := openapi.Read(bundle)
	if err != nil {
		return nil, err
	}
	operations, err := openapi.Operations(spec)
	if err != nil {
		return nil, err
	}
	// The order of the description's map is random; runs should be comparable.
	slices.SortFunc(operations, func(a, b openapi.Operation) int { return cmp.Compare(a.Path, b.Path) })
	var out []request
	for _, o := range operations {
		if o.Method != http.MethodGet || slices.Contains(unmeasured, o.ID) {
			continue
		}
		some, err := requestsOf(o)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return append(out, combined...), nil
}

// requestsOf returns the requests of one operation: without filters, and one for each value of each
// filter. program_id is a filter only of operations that are not about one object.
func requestsOf(o openapi.Operation) ([]request, error) {
	resource, _, _ := strings.Cut(strings.TrimPrefix(o.Path, "/v1/"), "/")
	base := request{o.ID, strings.Replace(o.Path, "{id}", "{"+resource+"}", 1) + "?" + always[o.ID]}
	var optional []*openapi3.Parameter
	for _, p := range o.Query {
		switch {
		// Not filters, or in the base already.
		case o.ID == "retrieveInboxEvent" && p.Name == "include[]": // bodies are sealed, except those of the dataset
		case slices.Contains(pages, p.Name) || p.Name == "expand" || strings.Contains(always[o.ID], p.Name+"="):
		case p.Required:
			base.url += "&" + p.Name + "=" + filters[p.Name][0]
		case p.Name != "program_id" || !strings.Contains(o.Path, "{id}"):
			optional = append(optional, p)
		}
	}
	out := []request{base}
	for _, p := range optional {
		list, err := values(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.ID, err)
		}
		for _, v := range list {
			// side.url replaces a placeholder once there is a database to find a row in.
			if !placeholder.MatchString(v) {
				v = url.QueryEscape(v)
			}
			out = append(out, request{
				o.ID + " " + p.Name + "=" + v, base.url + "&" + url.QueryEscape(p.Name) + "=" + v + besideOf(o.ID, p.Name),
			})
		}
	}
	return out, nil
}

// placeholder matches a table's name in braces, with a column other than the id.
var placeholder = regexp.MustCompile(`\{([a-z_]+)(?:\.([a-z_]+))?\}`)

// word matches a value that the text of a parameter lists.
var word = regexp.MustCompile("`([a-z_]+)`")

// values returns the values to measure of a filter: those of its enum, of filters, or of its text, one by
// one and together. It fails where it finds none, so that a new filter is noticed.
func values(p *openapi3.Parameter) ([]string, error) {
	s := p.Schema.Value
	if s.Items != nil {
		s = s.Items.Value
	}
	var out []string
	for _, v := range s.Enum {
		out = append(out, fmt.Sprint(v))
	}
	if len(out) > 0 {
		return out, nil
	}
	if fixed, ok := filters[p.Name]; ok {
		return fixed, nil
	}
	for _, m := range word.FindAllStringSubmatch(p.Description, -1) {
		out = append(out, m[1])
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("nothing is known to filter by %s with: add it to filters", p.Name)
	}
	return append(out, strings.Join(out, ",")), nil
}

// combined lists filters that clients use together: an index for each does not make one for both.
var combined = []request{
	list("listCommissions partner_id and status", "commissions", "partner_id", dataset.ID("part", 0), "status", "paid"),
	list("listCommissions partner_id and kind", "commissions", "partner_id", dataset.ID("part", 0), "kind", "referral"),
	list("listCommissions status and kind", "commissions", "status", "paid", "kind", "referral"),
	list("listSales partner_id and a month", "sales", "partner_id", dataset.ID("part", 0), "occurred_after", "2026-07-01",
		"occurred_before", "2026-08-01"),
	list("listSales partner_id and refunded", "sales", "partner_id", dataset.ID("part", 0), "refunded", "true"),
	list("listSales a month", "sales", "occurred_after", "2026-07-01", "occurred_before", "2026-08-01"),
	list("listSales refunded in two years", "sales", "occurred_after", "2024-07-01", "refunded", "true"),
	list("listCustomers partner_id and status", "customers", "partner_id", dataset.ID("part", 0), "status", "active"),
	list("listClicks partner_id and link_id", "clicks", "partner_id", dataset.ID("part", 0), "link_id",
		dataset.ID("lnk", 0)),
	list("listReferrals partner_id and status", "referrals", "partner_id", dataset.ID("part", 0), "status", "visit"),
	list("listPartners group_id and status", "partners", "group_id", dataset.ID("grp", 0), "status", "active"),
	list("retrieveReport by partner, two years", "reports", "dimension", "partner", "from", "2024-09-02", "to",
		"2026-08-31"),
	list("retrieveReport by link, a year", "reports", "dimension", "link", "from", "2025-09-02", "to", "2026-08-31"),
	list("retrieveReport by product, a year", "reports", "dimension", "product", "from", "2025-09-02", "to", "2026-08-31"),
	list("retrieveReport by day, a year", "reports", "dimension", "period", "granularity", "day", "from", "2025-09-02",
		"to", "2026-08-31"),
	list("retrieveReport by source, a year", "reports", "dimension", "source", "from", "2025-09-02", "to", "2026-08-31"),
	list("retrieveReport by source of partners, a year", "reports", "dimension", "source", "attribution", "partners",
		"from", "2025-09-02", "to", "2026-08-31"),
	list("retrieveReport by month of one source, a year", "reports", "dimension", "period", "source", "source 1",
		"from", "2025-09-02", "to", "2026-08-31"),
	list("retrieveReport one partner, a year", "reports", "dimension", "product", "partner_id", dataset.ID("part", 0),
		"from", "2025-09-02", "to", "2026-08-31"),
}

// list returns a request of the largest program with pairs of parameter and value.
func list(name, resource string, pairs ...string) request {
	query := url.Values{"program_id": {dataset.ID("prg", 0)}}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return request{name, "/v1/" + resource + "?" + query.Encode()}
}
