package scale

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"rail/server/harness/dataset"
)

// request is one thing to ask. A table's name in braces in its url stands for the
// id, or another column, of a row of it, of the largest program.
type request struct{ name, url string }

// document is what of the description says how to read.
type document struct {
	Paths map[string]struct {
		Parameters []parameter
		Get        *operation
	}
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]schema
	}
}

type operation struct {
	OperationID string
	Parameters  []parameter
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Schema      schema
}

type schema struct {
	Ref   string `json:"$ref"`
	Enum  []any
	Items *schema
}

// pages are the parameters that say which page; what a page holds does not change
// its cost.
var pages = []string{"limit", "starting_after", "ending_before", "offset"}

// filters are what parameters are given whose values the description does not
// list: what the most rows have, or a range that holds most of them.
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
	"search":               {"last77", "partner"},
	"external_customer_id": {"ext0"},
	"external_charge_id":   {"{sales.external_charge_id}"},
	"external_refund_id":   {"re_0"},
	"external_id":          {"none"},
	"code":                 {"CODE0"},
	"currency":             {"USD", "EUR"},
	"action":               {"commission.created"},
	"occurred_after":       {"2024-01-01", "2026-08-31"},
	"occurred_before":      {"2026-08-31", "2024-11-01"},
	"from":                 {"2025-09-02"},
	"to":                   {"2026-08-31"},
}

// always are given with each request of an operation.
var always = map[string]string{
	"listMaturingCommissions": "from=2024-01-01&to=2027-01-01",
}

// beside is what a parameter may not be given without.
var beside = map[string]string{"granularity": "&dimension=period", "to": "&from=2025-09-02", "from": "&to=2026-08-31"}

// unmeasured are operations that read no table.
var unmeasured = []string{"retrieveOpenAPIDocument", "retrieveLLMsText", "retrieveLLMsFullText"}

// requests reads the description: every operation that reads, bare, with each
// value of each filter, and with all that can be embedded.
func requests(bundle []byte) ([]request, error) {
	var d document
	if err := json.Unmarshal(bundle, &d); err != nil {
		return nil, err
	}
	var out []request
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		at := d.Paths[path]
		if at.Get == nil || slices.Contains(unmeasured, at.Get.OperationID) {
			continue
		}
		some, err := d.requests(path, at.Get.OperationID, slices.Concat(at.Parameters, at.Get.Parameters))
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return append(out, combined...), nil
}

func (d document) requests(path, id string, parameters []parameter) ([]request, error) {
	resource, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	base := request{id, strings.Replace(path, "{id}", "{"+resource+"}", 1) + "?" + always[id]}
	var optional []parameter
	for _, p := range parameters {
		p = d.parameter(p)
		switch {
		case p.In != "query" || slices.Contains(pages, p.Name) || p.Name == "expand" ||
			strings.Contains(always[id], p.Name+"="):
		case p.Required:
			base.url += "&" + p.Name + "=" + filters[p.Name][0]
		case p.Name != "program_id" || !strings.Contains(path, "{id}"):
			optional = append(optional, p)
		}
	}
	out := []request{base}
	for _, p := range optional {
		values, err := d.values(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
		for _, v := range values {
			if !placeholder.MatchString(v) {
				v = url.QueryEscape(v)
			}
			out = append(out, request{
				id + " " + p.Name + "=" + v, base.url + "&" + url.QueryEscape(p.Name) + "=" + v + beside[p.Name],
			})
		}
	}
	return out, nil
}

func (d document) parameter(p parameter) parameter {
	if p.Ref != "" {
		return d.Components.Parameters[p.Ref[strings.LastIndex(p.Ref, "/")+1:]]
	}
	return p
}

func (d document) schema(s schema) schema {
	if s.Ref != "" {
		return d.Components.Schemas[s.Ref[strings.LastIndex(s.Ref, "/")+1:]]
	}
	return s
}

// placeholder is a table's name in braces, with a column that is not the id.
var placeholder = regexp.MustCompile(`\{([a-z_]+)(?:\.([a-z_]+))?\}`)

// word is a value that a description lists.
var word = regexp.MustCompile("`([a-z_]+)`")

// values are what a filter is given.
func (d document) values(p parameter) ([]string, error) {
	s := d.schema(p.Schema)
	if s.Items != nil {
		s = d.schema(*s.Items)
	}
	var out []string
	for _, v := range s.Enum {
		out = append(out, fmt.Sprint(v))
	}
	if len(out) > 0 {
		return out, nil
	}
	if known, ok := filters[p.Name]; ok {
		return known, nil
	}
	for _, m := range word.FindAllStringSubmatch(p.Description, -1) {
		out = append(out, m[1])
	}
	if len(out) < 2 {
		return nil, fmt.Errorf("nothing is known to filter by %s with: add it to filters", p.Name)
	}
	return append(out, strings.Join(out, ",")), nil
}

// combined are filters that clients use together.
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
	list("retrieveReport one partner, a year", "reports", "dimension", "product", "partner_id", dataset.ID("part", 0),
		"from", "2025-09-02", "to", "2026-08-31"),
}

// list asks the largest program, with pairs of parameter and value.
func list(name, resource string, pairs ...string) request {
	query := url.Values{"program_id": {dataset.ID("prg", 0)}}
	for i := 0; i < len(pairs); i += 2 {
		query.Set(pairs[i], pairs[i+1])
	}
	return request{name, "/v1/" + resource + "?" + query.Encode()}
}
