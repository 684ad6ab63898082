package handlers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/openapi"
	"rail/server/config"
	"rail/server/harness/apitest"
	"rail/server/ident"
)

// slot is a place of a request that holds an id: a query parameter or a member
// of the body.
type slot struct {
	name   string // partner_id, tag_ids[0]
	prefix string // part_
	wrap   bool   // the member is a list
}

// param is how a refusal names the slot.
func (s slot) param() string {
	if s.wrap {
		return s.name + "[0]"
	}
	return s.name
}

// value is what the member is with the id in the slot.
func (s slot) value(id string) any {
	if s.wrap {
		return []string{id}
	}
	return id
}

// operation is what the sweeps need to know of an implemented operation.
type operation struct {
	id, method, path string
	hasBody          bool
	query, body      []slot
	cursors          bool // the list takes starting_after and ending_before
	needsProgram     bool
	toleratesProgram bool // program_id is optional and must be the object's
}

// url returns the path with an id in its place.
func (o operation) url(id string) string { return strings.Replace(o.path, "{id}", id, 1) }

func (o operation) takesID() bool { return strings.Contains(o.path, "{id}") }

// window is the range that the list of maturing commissions demands.
func (o operation) window() string {
	if o.id == "listMaturingCommissions" {
		return "&from=2020-01-01&to=2099-01-01"
	}
	return ""
}

// prefix is the prefix of the ids of the operation's resource.
func (o operation) prefix() string {
	resource, _, _ := strings.Cut(strings.TrimPrefix(o.path, "/v1/"), "/")
	return map[string]string{
		"programs": "prg_", "partners": "part_", "groups": "grp_", "tags": "tag_", "applications": "app_", "links": "lnk_",
		"coupons": "cpn_",
		"clicks":  "clk_", "referrals": "ref_", "customers": "cus_", "sales": "sale_", "refunds": "rfd_",
		"commissions": "com_", "balances": "bal_",
		"payouts": "pyt_", "payout_batches": "batch_", "flows": "flw_", "risk_flags": "rsk_", "resources": "res_",
		"campaigns": "camp_",
		"sequences": "seq_", "webhook_endpoints": "whe_", "webhook_deliveries": "whd_", "tax_form_statuses": "tax_",
		"audit_log_entries": "aud_",
	}[resource]
}

// operations reads the implemented operations from the description.
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
			if !named {
				continue
			}
			op := operation{id: id, method: strings.ToUpper(method), path: path}
			shared, _ := d.Paths[path]["parameters"].([]any)
			given, _ := o["parameters"].([]any)
			for _, raw := range slices.Concat(shared, given) {
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
	case name == "program_id" && p["required"] == true:
		o.needsProgram = true
		o.query = append(o.query, slot{name: name, prefix: "prg_"})
	case name == "program_id":
		o.toleratesProgram = true
	case idPrefix(schema, schemas) != "":
		o.query = append(o.query, slot{name: name, prefix: idPrefix(schema, schemas)})
	}
}

// idPrefix returns the prefix of the ids that a schema asks for, or "".
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

// world is one object of each type of an organization, by prefix.
type world map[string]string

// populate makes a world; everything unique in it is made of stem.
func populate(s *apitest.Server, stem string) world {
	s.T.Helper()
	w := world{}
	add := func(prefix, path string, body M) apitest.Answer {
		a := s.Must(201, s.Post(path, body))
		w[prefix] = a.String("id")
		return a
	}
	add("prg_", "/v1/programs", M{
		"name": stem, "website_url": "https://" + stem + ".example", "currency": "USD", "subdomain": stem,
		"holding_period_days":  0,
		"block_self_referrals": false,
	})
	program := w["prg_"]
	add("grp_", "/v1/groups", M{"program_id": program, "name": stem})
	add("tag_", "/v1/tags", M{"program_id": program, "name": stem})
	add("part_", "/v1/partners", M{
		"program_id": program, "email": stem + "@example.com", "handle": stem, "group_id": w["grp_"],
		"metadata": M{"k": stem},
	})
	s.Must(200, s.Post("/v1/partners/"+w["part_"], M{"tag_ids": []string{w["tag_"]}}))
	add("lnk_", "/v1/links", M{
		"program_id": program, "partner_id": w["part_"], "destination_url": "https://shop.example/" + stem,
		"value": stem + ".link",
	})
	add("cpn_", "/v1/coupons", M{
		"program_id": program, "code": stem, "partner_id": w["part_"], "external_id": "promo_" + stem,
	})
	add("flw_", "/v1/flows", M{"program_id": program, "name": stem, "rate_type": "percent", "rate_value": 2000})
	click := add("clk_", "/v1/clicks", M{
		"program_id": program, "value": stem + ".link", "landing_url": "https://shop.example/" + stem,
		"visitor_token": "visitor-" + stem,
	})
	w["ref_"] = click.String("referral_id")
	add("cus_", "/v1/customers", M{
		"program_id": program, "click_id": w["clk_"], "email": "buyer@" + stem + ".example",
		"external_customer_id": "ext_" + stem,
	})
	add("sale_", "/v1/sales", M{
		"program_id": program, "customer_id": w["cus_"], "external_charge_id": "ch_" + stem, "amount_minor": 4999,
		"currency": "USD",
	})
	w["rfd_"] = s.Must(202, s.Post("/v1/refunds", refundBody(program, "ch_other_"+stem, "re_"+stem))).String("id")
	add("tax_", "/v1/tax_form_statuses", M{"partner_id": w["part_"], "type": "w9", "status": "submitted"})
	add("whe_", "/v1/webhook_endpoints", M{"program_id": program, "url": "https://hooks.example/"})
	add("app_", "/v1/applications", M{"program_id": program, "email": "new@" + stem + ".example", "handle": stem + "-new"})
	s.Must(201, s.Post("/v1/customers", M{
		"program_id": program, "partner_id": w["part_"], "email": stem + "@example.com",
	}))
	add("res_", "/v1/resources", M{"program_id": program, "title": stem, "url": "https://" + stem + ".example"})
	add("camp_", "/v1/campaigns", M{"program_id": program, "name": stem, "subject": stem, "body": stem})
	add("seq_", "/v1/sequences", M{
		"program_id": program, "name": stem, "trigger": "approved",
		"steps": []M{{"delay_days": 0, "subject": stem, "body": stem}},
	})
	w["rsk_"] = s.Get("/v1/risk_flags?program_id=" + program).Data()[0]["id"].(string)
	w["whd_"] = ident.New(ident.Delivery)
	w["com_"] = s.Get("/v1/commissions?program_id=" + program).Data()[0]["id"].(string)
	w["bal_"] = s.Get("/v1/balances?program_id=" + program).Data()[0]["id"].(string)
	s.Must(201, s.Post("/v1/commissions", M{
		"program_id": program, "partner_id": w["part_"], "amount_minor": 5, "reason": stem,
	}))
	w["aud_"] = s.Get("/v1/audit_log_entries?program_id=" + program).Data()[0]["id"].(string)
	w["pyt_"], w["batch_"] = ident.New(ident.Payout), ident.New(ident.Batch)
	_, err := s.Pool.Exec(s.T.Context(),
		`INSERT INTO payout_batches (id, org_id, program_id, period_month, period_end, created_at, updated_at)
		VALUES ($1, $2, $3, '2026-07-01', '2026-08-01Z', '2026-08-01Z', '2026-08-01Z')`, w["batch_"], s.Org, program)
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO payouts (id, org_id, program_id, partner_id, batch_id, amount_minor, currency, status,
			period_month, period_end, due_at, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, 5, 'USD', 'pending', '2026-07-01', '2026-08-01Z', '2026-08-31Z', '2026-08-01Z', '2026-08-01Z')`,
		w["pyt_"], s.Org, program, w["part_"], w["batch_"])
	require.NoError(s.T, err)
	_, err = s.Pool.Exec(s.T.Context(),
		`INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status, next_attempt_at, created_at)
		SELECT $1, w.org_id, w.program_id, w.id, e.id, e.type, 0, 'pending', e.created_at, e.created_at FROM webhook_endpoints w JOIN events e ON e.program_id = w.program_id WHERE w.id = $2 LIMIT 1`, w["whd_"], w["whe_"])
	require.NoError(s.T, err)
	return w
}

// unknownID is an id of a type that no object has.
func unknownID(prefix string) string {
	id := ident.New(ident.Prefix(prefix))
	if prefix == "bal_" {
		return id + "_usd"
	}
	return id
}

// wellFormed returns a body that the operation accepts in the world; the slot
// is among its members. The operations that take a body must all be here.
func wellFormed(t *testing.T, op operation, w world, at string) M {
	t.Helper()
	body, ok := map[string]M{
		"createProgram": {"name": apitest.Unique("Program "), "website_url": "https://shop.example", "currency": "USD"},
		"updateProgram": {"name": apitest.Unique("Program ")},
		"createPartner": {"program_id": w["prg_"], "email": apitest.Unique("sweep") + "@example.com", "group_id": w["grp_"]},
		"updatePartner": {"group_id": w["grp_"], "tag_ids": []string{w["tag_"]}, "first_name": "Ada"}, "createPartnerSSO": {},
		"createGroup": {"program_id": w["prg_"], "name": apitest.Unique("Group ")}, "updateGroup": {"description": "x"},
		"createTag": {"program_id": w["prg_"], "name": apitest.Unique("Tag ")}, "updateTag": {"color": "#000000"},
		"createLink": {"program_id": w["prg_"], "partner_id": w["part_"], "destination_url": "https://shop.example"},
		"updateLink": {"label": "x"},
		"createCoupon": {
			"program_id": w["prg_"], "partner_id": w["part_"], "group_id": w["grp_"], "code": apitest.Unique("CODE"),
		},
		"updateCoupon": {"partner_id": w["part_"], "external_id": apitest.Unique("promo_")},
		"createClick": {
			"program_id": w["prg_"], "value": w["handle"], "landing_url": "https://shop.example",
			"visitor_token": apitest.Unique("visitor-token-"),
		},
		"createCustomer": {"program_id": w["prg_"], "partner_id": w["part_"]},
		"updateCustomer": {"partner_id": w["part_"], "name": "x"},
		"createSale":     apitest.SaleBody(w["prg_"], w["cus_"]),
		"createRefund":   refundBody(w["prg_"], apitest.Unique("ch_"), apitest.Unique("re_")),
		"createFlow":     {"program_id": w["prg_"], "name": apitest.Unique("Flow "), "rate_type": "percent", "rate_value": 1},
		"updateFlow":     {"priority": 7}, "setInboundSigning": {"required": false},
		"createCommission": {
			"program_id": w["prg_"], "partner_id": w["part_"], "customer_id": w["cus_"], "sale_id": w["sale_"],
			"amount_minor": 7, "reason": "x",
		},
		"approveCommission": {"reason": "x"}, "rejectCommission": {"reason": "x"}, "refundSale": {}, "markPayoutPaid": {},
		"createWebhookEndpoint": {"program_id": w["prg_"], "url": "https://hooks.example/", "partner_id": w["part_"]},
		"updateWebhookEndpoint": {"enabled": true},
		"pingWebhookEndpoint":   {}, "replayWebhookEndpoint": {"failed_since": apitest.Start.Format(time.RFC3339)},
		"createApplication": {
			"program_id": w["prg_"], "email": apitest.Unique("sweep") + "@example.com", "group_id": w["grp_"],
		}, "rejectApplication": {},
		"resolveRiskFlag": {"note": "x"},
		"createResource": {
			"program_id": w["prg_"], "title": "x", "url": "https://x.example", "group_ids": []string{w["grp_"]},
			"tag_ids": []string{w["tag_"]},
		},
		"updateResource": {"title": "y", "group_ids": []string{w["grp_"]}, "tag_ids": []string{w["tag_"]}},
		"createCampaign": {"program_id": w["prg_"], "name": "x", "subject": "x", "body": "x"},
		"updateCampaign": {"name": "y", "program_id": w["prg_"]},
		"sendCampaign":   {"program_id": w["prg_"]}, "pauseCampaign": {"program_id": w["prg_"]},
		"createSequence": {
			"program_id": w["prg_"], "name": "x", "trigger": "approved",
			"steps": []M{{"delay_days": 0, "subject": "x", "body": "x"}},
		},
		"pauseSequence": {"program_id": w["prg_"]}, "resumeSequence": {"program_id": w["prg_"]},
		"createTaxFormStatus": {"partner_id": w["part_"], "type": "w9", "status": "submitted"},
		"createPayoutBatch": {
			"program_id": w["prg_"], "period_end": "2026-08-31", "partner_id": w["part_"], "group_id": w["grp_"],
		},
	}[op.id]
	require.True(t, ok, "%s has no body here", op.id)
	switch op.id + " " + at {
	case "createCustomer click_id":
		delete(body, "partner_id")
		body["click_id"] = w["clk_"]
	case "createSale partner_id", "createSale click_id":
		delete(body, "customer_id")
		body["external_customer_id"], body[at] = apitest.Unique("cus_"), map[string]string{
			"partner_id": w["part_"], "click_id": w["clk_"],
		}[at]
	case "createFlow group_id", "updateFlow group_id":
		body["group_id"] = w["grp_"]
	case "createFlow partner_id", "updateFlow partner_id":
		body["partner_id"], body["group_id"] = w["part_"], nil
	case "createFlow target_group_id", "updateFlow target_group_id":
		body = M{"action": "switch_group", "target_group_id": w["grp_"], "rate_type": nil, "rate_value": nil}
		if op.id == "createFlow" {
			body["program_id"], body["name"] = w["prg_"], apitest.Unique("Flow ")
		}
	}
	require.True(t, at == "" || body[at] != nil, "%s has no %s here", op.id, at)
	return body
}

// rows is a fingerprint of everything that an organization owns, by table.
func rows(s *apitest.Server, org string) map[string]string {
	s.T.Helper()
	found, err := s.Pool.Query(s.T.Context(), `SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'org_id' ORDER BY 1`)
	require.NoError(s.T, err)
	var tables []string
	for found.Next() {
		var name string
		require.NoError(s.T, found.Scan(&name))
		tables = append(tables, name)
	}
	require.NoError(s.T, found.Err())
	out := map[string]string{}
	for _, table := range tables {
		var n int
		var sum string
		require.NoError(s.T,
			s.Pool.QueryRow(s.T.Context(), `SELECT count(*), md5(coalesce(string_agg(t::text, E'\n' ORDER BY t::text), ''))
			FROM `+table+` t WHERE org_id = $1`, org).Scan(&n, &sum))
		out[table] = fmt.Sprint(n, " rows ", sum)
	}
	return out
}

// shape is what a client can see of an answer, but for the request's own id.
func shape(a apitest.Answer) string {
	names := slices.Sorted(maps.Keys(a.Header))
	names = slices.DeleteFunc(names, func(n string) bool { return n == "Rail-Request-Id" })
	raw := strings.ReplaceAll(string(a.Raw), a.Header.Get("Rail-Request-Id"), "")
	return fmt.Sprintf("%d\n%s\n%s", a.Status, strings.Join(names, "\n"), raw)
}

// sweep asks for what belongs to another organization, in the places of an
// operation where an id can stand.
type sweep struct {
	*apitest.Server
	t            *testing.T
	own, foreign world
	asked        int
}

// same asks for the other organization's object of the prefix and for nobody's:
// both are refused so, and alike.
func (w *sweep) same(status int, code, param, prefix string, ask func(id string) apitest.Answer) {
	w.t.Helper()
	w.asked++
	require.NotEmpty(w.t, w.foreign[prefix], prefix)
	theirs, nobodys := ask(w.foreign[prefix]), ask(unknownID(prefix))
	require.Equal(w.t, shape(nobodys), shape(theirs), "a foreign id must be like an unknown one")
	w.Refused(status, code, param, theirs)
	require.NotContains(w.t, string(theirs.Raw), "theirs")
}

func (w *sweep) send(op operation, id, query string, body any) apitest.Answer {
	w.t.Helper()
	return w.Do(op.method, op.url(id)+query, w.Key, body)
}

// accepted is a body that the operation accepts, nil where it has none.
func (w *sweep) accepted(op operation) any {
	w.t.Helper()
	if !op.hasBody {
		return nil
	}
	return wellFormed(w.t, op, w.own, "")
}

// path asks for the object that the path names, with a body that would be
// accepted.
func (w *sweep) path(op operation) {
	w.t.Helper()
	if !op.takesID() {
		return
	}
	query := ""
	if op.needsProgram && !op.hasBody {
		query = "?program_id=" + w.own["prg_"]
	}
	w.same(404, "resource_not_found", "", op.prefix(),
		func(id string) apitest.Answer { return w.send(op, id, query, w.accepted(op)) })
}

// members asks in each member of the body.
func (w *sweep) members(op operation) {
	w.t.Helper()
	for _, sl := range op.body {
		body := wellFormed(w.t, op, w.own, sl.name)
		w.same(404, "resource_not_found", sl.param(), sl.prefix, func(id string) apitest.Answer {
			body[sl.name] = sl.value(id)
			return w.send(op, w.own[op.prefix()], "", body)
		})
	}
}

// filters asks in each parameter of the query.
func (w *sweep) filters(op operation) {
	w.t.Helper()
	for _, sl := range op.query {
		w.same(404, "resource_not_found", sl.name, sl.prefix, func(id string) apitest.Answer {
			if sl.name == "program_id" {
				return w.send(op, w.own[op.prefix()], "?program_id="+id+op.window(), nil)
			}
			return w.send(op, "", "?program_id="+w.own["prg_"]+"&"+sl.name+"="+id+op.window(), nil)
		})
	}
}

// cursors asks for the page beside an object. The deliveries are the one list
// within another object, and the catalogue of events is of no program.
func (w *sweep) cursors(op operation) {
	w.t.Helper()
	prefix, within, more := op.prefix(), "", op.window()
	switch {
	case op.id == "listWebhookDeliveries":
		prefix, within = "whd_", w.own["whe_"]
	case op.id == "listWebhookEvents" || !op.cursors:
		return
	case op.needsProgram:
		more += "&program_id=" + w.own["prg_"]
	}
	for _, name := range []string{"starting_after", "ending_before"} {
		w.same(400, "invalid_cursor", name, prefix, func(id string) apitest.Answer {
			return w.send(op, within, "?"+name+"="+id+more, nil)
		})
	}
}

// programs asks for an object of ours, said to be of their program.
func (w *sweep) programs(op operation) {
	w.t.Helper()
	if op.method == http.MethodPost && (op.takesID() || op.id == "createTaxFormStatus") {
		w.same(404, "resource_not_found", "program_id", "prg_", func(id string) apitest.Answer {
			return w.send(op, w.own[op.prefix()], "", with(w.accepted(op), "program_id", id))
		})
	}
	if !op.toleratesProgram || op.id == "listWebhookEvents" { // the catalogue is of no program
		return
	}
	w.same(404, "resource_not_found", "program_id", "prg_", func(id string) apitest.Answer {
		return w.send(op, w.own[op.prefix()], "?program_id="+id, w.accepted(op))
	})
}

// with is a body with one more member.
func with(body any, name string, value any) M {
	out := M{name: value}
	if had, ok := body.(M); ok {
		for k, v := range had {
			if k != name {
				out[k] = v
			}
		}
	}
	return out
}

// TestTenancySweep asks, in every place of the description where an id can
// stand, for another organization's object and for one that does not exist:
// the answers must be the same to the byte, and the other's rows stay.
func TestTenancySweep(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
	other := apitest.On(t, s.DSN, s.Clock)
	w := &sweep{Server: s, t: t, own: populate(s, "ours"), foreign: populate(other, "theirs")}
	w.own["handle"] = "ours"
	before := rows(s, other.Org)
	for _, table := range []string{
		"programs", "groups", "tags", "partners", "partner_tags", "links", "tracking_values", "coupons", "clicks",
		"referrals", "customers", "flows", "sales", "commissions", "events", "payouts",
	} {
		require.NotContains(t, before[table], "0 rows d41d8cd9", table)
	}
	for _, op := range operations() {
		control(s, op, w.own)
		w.path(op)
		w.members(op)
		w.filters(op)
		w.cursors(op)
		w.programs(op)
	}
	require.Greater(t, w.asked, 120, "the sweep lost its way")
	require.Equal(t, before, rows(s, other.Org), "a row of the other organization changed")
	for prefix, id := range w.own { // none of ours went either: every refusal kept its hands off
		if path := (map[string]string{
			"part_": "partners", "grp_": "groups", "tag_": "tags", "lnk_": "links", "cpn_": "coupons", "cus_": "customers",
			"flw_": "flows",
		})[prefix]; path != "" {
			s.Must(200, s.Get("/v1/"+path+"/"+id))
		}
	}
}

// undecided takes the decisions on what is reviewed back.
func undecided(s *apitest.Server, own world) {
	s.T.Helper()
	for sql, id := range map[string]string{
		`UPDATE campaigns SET status = 'scheduled', scheduled_at = now(), started_at = NULL WHERE id = $1`:                    own["camp_"],
		`UPDATE commissions SET status = 'pending', approved_at = NULL, voided_at = NULL, void_reason = NULL WHERE id = $1`:   own["com_"],
		`UPDATE applications SET status = 'pending', reviewed_at = NULL WHERE id = $1`:                                        own["app_"],
		`UPDATE risk_flags SET status = 'open', resolved_at = NULL, resolved_by = NULL, resolution_note = NULL WHERE id = $1`: own["rsk_"],
	} {
		_, err := s.Pool.Exec(s.T.Context(), sql, id)
		require.NoError(s.T, err)
	}
}

// control shows that the operation succeeds with ids of ours, in every slot, so
// that a refusal in the sweep is one of the foreign id.
func control(s *apitest.Server, op operation, own world) {
	s.T.Helper()
	t := s.T.(*testing.T)
	undecided(s, own)
	switch {
	case op.method == http.MethodDelete: // TestTenancyDeletes
	case op.hasBody:
		for _, sl := range append([]slot{{}}, op.body...) {
			undecided(s, own)
			if op.id == "sendCampaign" {
				s.Must(200, s.Post("/v1/campaigns/"+own["camp_"]+"/pause", nil))
			}
			body := wellFormed(t, op, own, sl.name)
			if sl.name == "" { // every body may name the program
				body = with(body, "program_id", own["prg_"])
			}
			a := s.Do(op.method, op.url(own[op.prefix()]), s.Key, body)
			require.Contains(t, []int{200, 201, 202}, a.Status, "%s %s: %s", op.id, sl.name, a.Raw)
			if op.id == "updateFlow" { // back from any scope and action
				s.Must(200, s.Post(op.url(own["flw_"]), M{
					"action": "generate_commission", "rate_type": "percent", "rate_value": 2000, "group_id": nil, "partner_id": nil,
					"target_group_id": nil,
				}))
			}
		}
	case op.needsProgram:
		for _, sl := range append([]slot{{}}, op.query...) {
			query := "?program_id=" + own["prg_"]
			if sl.name != "" && sl.name != "program_id" {
				query += "&" + sl.name + "=" + own[sl.prefix]
			}
			a := s.Must(200, s.Do(op.method, op.url(own[op.prefix()])+query+op.window(), s.Key, nil))
			require.NotContains(t, string(a.Raw), "theirs", op.id)
		}
	case op.method == http.MethodPost:
		require.Contains(t, []int{200, 202}, s.Post(op.url(own[op.prefix()]), nil).Status, op.id)
		undecided(s, own)
		require.Contains(t, []int{200, 202}, s.Post(op.url(own[op.prefix()]), M{"program_id": own["prg_"]}).Status, op.id)
	default:
		require.Equal(t, 200, s.Get(op.url(own[op.prefix()])).Status, op.id)
	}
}

// TestTenancyDeletes: the deletions that the sweep saw refused are real ones.
func TestTenancyDeletes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	other := apitest.On(t, s.DSN, s.Clock)
	own, foreign := populate(s, "ours"), populate(other, "theirs")
	own["cus_"] = s.Customer(own["prg_"], own["part_"]) // one without sales
	before := rows(s, other.Org)
	deleted := 0
	for _, op := range operations() {
		if op.method != http.MethodDelete || op.id == "deletePartner" {
			continue
		}
		require.NotEmpty(t, own[op.prefix()], op.id)
		require.Equal(t, 404, s.Delete(op.url(foreign[op.prefix()])).Status, op.id)
		a := s.Must(200, s.Delete(op.url(own[op.prefix()])))
		require.Equal(t, own[op.prefix()], a.String("id"))
		require.Equal(t, true, a.Body["deleted"])
		s.Refused(404, "resource_not_found", "", s.Delete(op.url(own[op.prefix()])))
		deleted++
	}
	require.GreaterOrEqual(t, deleted, 6)
	s.Must(200, s.Delete("/v1/partners/"+own["part_"]))
	require.Equal(t, before, rows(s, other.Org))
}

// TestTenancyUniqueValues: what is unique is unique within an organization.
func TestTenancyUniqueValues(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	other := apitest.On(t, s.DSN, s.Clock)
	theirs := populate(other, "same")
	before := rows(s, other.Org)
	ours := populate(s, "same") // every 201 is required there
	for prefix, id := range theirs {
		require.NotEqual(t, id, ours[prefix])
	}
	require.Equal(t, before, rows(s, other.Org))
	keyed := func(o *apitest.Server, w world) apitest.Answer {
		return o.Must(201,
			o.Do("POST", "/v1/tags", o.Key, M{"program_id": w["prg_"], "name": "keyed"}, "Idempotency-Key", "same"))
	}
	first := keyed(other, theirs)
	before = rows(s, other.Org)
	second := keyed(s, ours)
	require.NotEqual(t, first.String("id"), second.String("id"))
	require.Empty(t, second.Header.Get("Idempotent-Replayed"))
	require.Equal(t, before, rows(s, other.Org))
}
