package handlers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/openapi"
	"rail/server/harness/apitest"
	"rail/server/ident"
)

// slot is a place for an id in a request: a query parameter or a member of the body.
type slot struct {
	name   string // partner_id, tag_ids[0]
	prefix string // part_
	wrap   bool   // the member is a list
}

// param returns the slot's name in an error.
func (s slot) param() string {
	if s.wrap {
		return s.name + "[0]"
	}
	return s.name
}

// value is the member's value with the id in the slot.
func (s slot) value(id string) any {
	if s.wrap {
		return []string{id}
	}
	return id
}

// operation describes an operation for the tests that run on every operation.
type operation struct {
	id, method, path string
	hasBody          bool
	query, body      []slot
	cursors          bool // the list takes starting_after and ending_before
	ranged           bool // the list takes created_after and created_before
	needsProgram     bool
	toleratesProgram bool // program_id is optional and must match the object's
}

// url returns the path with the id filled in.
func (o operation) url(id string) string { return strings.Replace(o.path, "{id}", id, 1) }

func (o operation) takesID() bool { return strings.Contains(o.path, "{id}") }

// window is the range that the list of maturing commissions requires.
func (o operation) window() string {
	if o.id == "listMaturingCommissions" {
		return "&from=2020-01-01&to=2099-01-01"
	}
	return ""
}

// paidPayout is the name of a paid payout among objects.
const paidPayout = "paid"

// prefix is the prefix of the ids of the operation's resource.
func (o operation) prefix() string {
	if o.id == "retrievePayoutStatement" {
		return paidPayout
	}
	resource, _, _ := strings.Cut(strings.TrimPrefix(o.path, "/v1/"), "/")
	return map[string]string{
		"programs": "prg_", "partners": "part_", "partner_notes": "note_", "groups": "grp_", "tags": "tag_", "applications": "app_", "links": "lnk_",
		"coupons": "cpn_",
		"clicks":  "clk_", "referrals": "ref_", "customers": "cus_", "sales": "sale_", "refunds": "rfd_",
		"commissions": "com_", "balances": "bal_",
		"payouts": "pyt_", "payout_batches": "batch_", "flows": "flw_", "risk_flags": "rsk_", "resources": "res_",
		"campaigns": "camp_",
		"sequences": "seq_", "webhook_endpoints": "whe_", "webhook_deliveries": "whd_", "tax_form_statuses": "tax_",
		"audit_log_entries": "aud_", "events": "evt_", "processor_connections": "pco_", "payout_rails": "prl_",
		"inbox_events":     "inb_",
		"imports":          "imp_",
		"mails":            "mail_",
		"publishable_keys": "pub_",
	}[resource]
}

// operations returns the implemented operations of the description.
var operations = sync.OnceValue(func() []operation {
	var d struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas, Parameters map[string]M }
	}
	if err := json.Unmarshal(openapi.Bundle, &d); err != nil {
		panic(err)
	}
	var out []operation
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[path])) {
			o, _ := d.Paths[path][method].(M)
			id, named := o["operationId"].(string)
			if !named || strings.HasPrefix(path, "/hooks/") { // a signature, not a key
				continue
			}
			op := operation{id: id, method: strings.ToUpper(method), path: path}
			shared, _ := d.Paths[path]["parameters"].([]any)
			params, _ := o["parameters"].([]any)
			for _, raw := range slices.Concat(shared, params) {
				p := raw.(M)
				if ref, ok := p["$ref"].(string); ok {
					p = d.Components.Parameters[ref[strings.LastIndex(ref, "/")+1:]]
				}
				op.parameter(p, d.Components.Schemas)
			}
			if content, ok := o["requestBody"].(M); ok {
				op.hasBody = true
				schema := content["content"].(M)["application/json"].(M)["schema"].(M)
				ref := schema["$ref"].(string)
				properties, _ := d.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]]["properties"].(M)
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					p := properties[name].(M)
					if prefix := idPrefix(p, d.Components.Schemas); prefix != "" {
						op.body = append(op.body, slot{name: name, prefix: prefix})
					} else if items, ok := p["items"].(M); ok && idPrefix(items, d.Components.Schemas) != "" {
						op.body = append(op.body, slot{name: name, prefix: idPrefix(items, d.Components.Schemas), wrap: true})
					}
				}
			}
			out = append(out, op)
		}
	}
	return out
})

func (o *operation) parameter(p M, schemas map[string]M) {
	name, _ := p["name"].(string)
	switch schema, _ := p["schema"].(M); {
	case p["in"] != "query":
	case name == "starting_after":
		o.cursors = true
	case name == "created_after":
		o.ranged = true
	case name == "program_id" && p["required"] == true:
		o.needsProgram = true
		o.query = append(o.query, slot{name: name, prefix: "prg_"})
	case name == "program_id":
		o.toleratesProgram = true
	case idPrefix(schema, schemas) != "":
		o.query = append(o.query, slot{name: name, prefix: idPrefix(schema, schemas)})
	}
}

// idPrefix returns the prefix of the ids that a schema requires, or "".
func idPrefix(schema M, schemas map[string]M) string {
	if choices, ok := schema["oneOf"].([]any); ok {
		for _, c := range choices {
			if prefix := idPrefix(c.(M), schemas); prefix != "" {
				return prefix
			}
		}
	}
	ref, _ := schema["$ref"].(string)
	name := ref[strings.LastIndex(ref, "/")+1:]
	if !strings.HasSuffix(name, "Id") {
		return ""
	}
	pattern, _ := schemas[name]["pattern"].(string)
	pattern, ok := strings.CutPrefix(pattern, "^(sample_)?")
	if !ok {
		panic(name + " has no prefix: " + pattern)
	}
	return pattern[:strings.Index(pattern, "[")]
}

// objects maps the prefix of a type to the id of one object of an organization.
type objects map[string]string

// populate creates one object of each type. Unique values derive from stem, so that two
// organizations can have different values or the same.
func populate(s *apitest.Server, stem string) objects {
	s.T.Helper()
	own := objects{}
	add := func(prefix, path string, body M) apitest.Answer {
		a := s.Must(201, s.Post(path, body))
		own[prefix] = a.String("id")
		return a
	}
	add("prg_", "/v1/programs", M{
		"name": stem, "website_url": "https://" + stem + ".example", "currency": "USD", "subdomain": stem,
		"holding_period_days":  0,
		"block_self_referrals": false,
	})
	program := own["prg_"]
	add("grp_", "/v1/groups", M{"program_id": program, "name": stem})
	add("tag_", "/v1/tags", M{"program_id": program, "name": stem})
	add("part_", "/v1/partners", M{
		"program_id": program, "email": stem + "@example.com", "handle": stem, "group_id": own["grp_"],
		"metadata": M{"k": stem},
	})
	s.Must(200, s.Post("/v1/partners/"+own["part_"], M{"tag_ids": []string{own["tag_"]}}))
	add("lnk_", "/v1/links", M{
		"program_id": program, "partner_id": own["part_"], "destination_url": "https://shop.example/" + stem,
		"value": stem + ".link",
	})
	add("cpn_", "/v1/coupons", M{
		"program_id": program, "code": stem, "partner_id": own["part_"], "external_id": "promo_" + stem,
	})
	add("flw_", "/v1/flows", M{"program_id": program, "name": stem, "rate_type": "percent", "rate_value": 2000})
	click := add("clk_", "/v1/clicks", M{
		"program_id": program, "value": stem + ".link", "landing_url": "https://shop.example/" + stem,
		"visitor_token": "visitor-" + stem,
	})
	own["ref_"] = click.String("referral_id")
	add("cus_", "/v1/customers", M{
		"program_id": program, "click_id": own["clk_"], "email": "buyer@" + stem + ".example",
		"external_customer_id": "ext_" + stem,
	})
	add("sale_", "/v1/sales", M{
		"program_id": program, "customer_id": own["cus_"], "external_charge_id": "ch_" + stem, "amount_minor": 4999,
		"currency": "USD",
	})
	own["rfd_"] = s.Must(202, s.Post("/v1/refunds", apitest.RefundBody(program, "ch_other_"+stem, "re_"+stem))).String("id")
	add("tax_", "/v1/tax_form_statuses", M{"partner_id": own["part_"], "type": "w9", "status": "submitted"})
	add("whe_", "/v1/webhook_endpoints", M{"program_id": program, "url": "https://hooks.example/"})
	add("app_", "/v1/applications", M{"program_id": program, "email": "new@" + stem + ".example", "handle": stem + "-new"})
	s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "partner_id": own["part_"], "email": stem + "@example.com",
	}))
	add("note_", "/v1/partner_notes", M{
		"program_id": program, "partner_id": own["part_"], "text": stem, "file": M{"name": stem, "content": "eA=="},
	})
	add("res_", "/v1/resources", M{"program_id": program, "title": stem, "url": "https://" + stem + ".example"})
	add("pub_", "/v1/publishable_keys", M{"program_id": program, "allowed_hosts": []string{stem + ".example"}})
	add("camp_", "/v1/campaigns", M{"program_id": program, "name": stem, "subject": stem, "body": stem})
	add("seq_", "/v1/sequences", M{
		"program_id": program, "name": stem, "trigger": "approved",
		"steps": []M{{"delay_days": 0, "subject": stem, "body": stem}},
	})
	populateByJobs(s, own, stem)
	return own
}

// populateByJobs adds the objects that depend on other objects, jobs and processors.
func populateByJobs(s *apitest.Server, own objects, stem string) {
	s.T.Helper()
	program := own["prg_"]
	own["imp_"] = addImport(s, program, db.ImportStatusReady)
	own["mail_"] = failedMail(s)
	own["rsk_"] = s.Get("/v1/risk_flags?program_id=" + program).Data()[0]["id"].(string)
	own["whd_"] = ident.New(ident.Delivery)
	own["com_"] = s.Get("/v1/commissions?program_id=" + program).Data()[0]["id"].(string)
	own["bal_"] = s.Get("/v1/balances?program_id=" + program).Data()[0]["id"].(string)
	s.Must(201, s.Post("/v1/commissions", M{
		"program_id": program, "partner_id": own["part_"], "amount_minor": 5, "reason": stem,
	}))
	own["aud_"] = s.Get("/v1/audit_log_entries?program_id=" + program).Data()[0]["id"].(string)
	connected := s.Connect(program)
	own["pco_"] = connected.ID
	own["prl_"] = s.PayoutRail(program, db.PayoutRailStatusActive, "paypal")
	s.Must(200, connected.Send(M{"external_charge_id": "ch_hook_" + stem, "amount_minor": 4999, "currency": "USD"}))
	own["inb_"] = s.Get("/v1/inbox_events?program_id=" + program).Data()[0]["id"].(string)
	own[paidPayout] = pay(s, program)
	own["pyt_"], own["batch_"] = ident.New(ident.Payout), ident.New(ident.Batch)
	var event string
	err := s.Pool.QueryRow(s.T.Context(), "SELECT max(id) FROM events WHERE program_id = $1", program).Scan(&event)
	require.NoError(s.T, err)
	own["evt_"] = event
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
		VALUES ($1, $2, $3, '2026-07-01', '2026-08-01Z', '2026-08-01Z', '2026-08-01Z')`, own["batch_"], s.Org, program)
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status,
			period_month, period_end, due_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 5, 'USD', 'pending', '2026-07-01', '2026-08-01Z', '2026-08-31Z', '2026-08-01Z',
			'2026-08-01Z')`,
		own["pyt_"], s.Org, program, own["part_"], own["batch_"])
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status,
			next_attempt_at, created_at)
		SELECT $1, w.org_id, w.program_id, w.id, e.id, e.type, 0, 'pending', e.created_at, e.created_at
		FROM webhook_endpoints w JOIN events e ON e.program_id = w.program_id WHERE w.id = $2 LIMIT 1`, own["whd_"], own["whe_"])
	require.NoError(s.T, err)
}

// addImport adds an import with a problem.
func addImport(s *apitest.Server, program string, status db.ImportStatus) string {
	s.T.Helper()
	id := ident.New(ident.Import)
	_, err := s.Pool.Exec(s.T.Context(),
		`INSERT INTO imports (id, org_id, program_id, source, dry_run, emit_events, status, place, counts, balances, groups,
			problems_count, created_at, updated_at)
		VALUES ($1, $2, $3, 'rewardful', true, false, $4, '{}', '{}', '[]', '[]', 1, $5, $5)`,
		id, s.Org, program, status, s.Clock.Now())
	require.NoError(s.T, err)
	addImportDetails(s, program, id)
	return id
}

func addImportDetails(s *apitest.Server, program, importID string) {
	s.T.Helper()
	_, err := s.Pool.Exec(s.T.Context(),
		`INSERT INTO import_problems (id, org_id, program_id, import_id, kind, source_id, code, detail, created_at)
		VALUES ($1, $2, $3, $4, 'links', '1', 'value_taken', 'x', $5)`,
		ident.New(ident.Problem), s.Org, program, importID, s.Clock.Now())
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO import_balances (id, org_id, program_id, import_id, source_id, currency, source_minor, rail_minor, created_at)
		SELECT $1, $2, $3, $4, $1, 'USD', 100, 100, $5`,
		ident.New(ident.OpenBalance), s.Org, program, importID, s.Clock.Now())
	require.NoError(s.T, err)
}

// pay pays a new partner of a program, and returns the payout.
func pay(s *apitest.Server, program string) string {
	s.T.Helper()
	partner := s.Partner(program)
	s.Must(201, s.Post("/v1/commissions", M{
		"program_id": program, "partner_id": partner, "amount_minor": 700, "reason": "x",
	}))
	s.Must(201, s.Post("/v1/payout_batches", M{
		"program_id": program, "period_end": s.Clock.Now().String(), "partner_id": partner,
	}))
	id := s.Get("/v1/payouts?program_id=" + program + "&partner_id=" + partner).Data()[0]["id"].(string)
	s.Must(200, s.Post("/v1/payouts/"+id+"/mark_paid", nil))
	return id
}
