package bar

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// objects maps the prefix of a type to the id of one object of an organization.
type objects map[string]string

// wellFormed returns a body that the operation accepts: its example with the ids
// of own, current times and fresh names. The stages need no list of bodies for it, and an
// example that the service refuses is found.
func (sys *system) wellFormed(op *operation, own objects) M {
	if op.body == nil {
		return nil
	}
	body, _ := sys.fit(op.body, clone(op.example), own, "").(M)
	if body == nil {
		body = M{}
	}
	for name, p := range op.body.Properties {
		if p.Value.Format == "date-time" && !slices.Contains(op.body.Required, name) && len(body) > 1 {
			delete(body, name) // the example's time may not suit these objects
		}
	}
	maps.Copy(body, exampleChanges[op.id])
	switch op.id { // rules that the schema cannot express
	case "createImport": // of files, since another product would have to answer
		body["source"], body["files"] = "csv", M{"partners": "id,email\n1,ada@example.com\n"}
		delete(body, "api_key")
	case "createClick":
		body["value"] = own["handle"]
		delete(body, "param")
	case "rehearseSale": // by a link, not by a coupon
		body["value"] = own["handle"]
		delete(body, "coupon_code")
	case "createCustomer":
		delete(body, "partner_id") // comes with the click
	case "previewFlows":
		body["customer_id"] = own["cus_"]
		for _, name := range []string{"partner_id", "payment_number", "customer_months"} { // of a new customer
			delete(body, name)
		}
	case "markPayoutsPaid": // the payouts by their ids, or those of a batch
		for _, name := range []string{"batch_id", "method", "currency", "confirm_count", "confirm_amount_minor"} {
			delete(body, name)
		}
		body["payout_ids"] = []any{own["pyt_"]}
	case "sendPayoutBatch": // the figures of the payouts that subject has made
		if own["send_count"] != "" {
			body["confirm_count"], body["confirm_amount_minor"] = json.Number(own["send_count"]), json.Number(own["send_minor"])
		}
	case "mergeCustomer":
		body["customer_id"] = own["merged"]
	case "updateFlow":
		delete(body, "branches")
	case "createWebhookEndpoint":
		body["url"] = sys.sink.web.URL + "/any"
	}
	return body
}

// exampleChanges has members that replace those of an operation's example.
var exampleChanges = map[string]M{
	"banPartner":        {"dry_run": true}, // the partner is others' too
	"setInboundSigning": {"required": false},
}

// body returns what wellFormed does, or nil where the operation takes no body.
func (sys *system) body(op *operation, own objects) any {
	if op.body == nil {
		return nil
	}
	return sys.wellFormed(op, own)
}

// fit replaces ids, times and names in a value, guided by its schema. If own has no id of a type, the example's id
// remains, which belongs to no object.
func (sys *system) fit(s *openapi3.Schema, v any, own objects, name string) any {
	if v == nil {
		return nil
	}
	if p := idPrefix(s); p != "" {
		if own[p] == "" {
			return v
		}
		return own[p]
	}
	switch v := v.(type) {
	case M:
		for key := range v {
			if p := property(s, key); p != nil {
				v[key] = sys.fit(p, v[key], own, key)
			}
		}
	case []any:
		for i := range v {
			if s.Items != nil {
				v[i] = sys.fit(s.Items.Value, v[i], own, "")
			}
		}
	case string:
		return sys.fresh(s, v, name)
	}
	return v
}

// property returns the schema of a member, in any of the schema's alternatives.
func property(s *openapi3.Schema, name string) *openapi3.Schema {
	if p := s.Properties[name]; p != nil {
		return p.Value
	}
	for _, choice := range s.OneOf {
		if p := property(choice.Value, name); p != nil {
			return p
		}
	}
	return nil
}

// distinct lists the members whose values are unique among objects.
var distinct = map[string]bool{
	"name": true, "title": true, "handle": true, "code": true, "subdomain": true, "visitor_token": true,
	"external_id": true, "external_customer_id": true,
	"external_charge_id": true, "external_refund_id": true, "value": true,
}

// fresh replaces a text of the example by a unique one. Texts with a fixed form, such as currencies
// and addresses, do not change.
func (sys *system) fresh(s *openapi3.Schema, v, name string) string {
	if len(s.Enum) > 0 {
		return v
	}
	switch s.Format {
	case "date-time":
		return time.Now().UTC().Add(-time.Second).Format(time.RFC3339)
	case "date":
		return time.Now().UTC().Format(time.DateOnly)
	case "email":
		return sys.unique("mail") + "@example.com"
	case "":
	default:
		return v
	}
	if !distinct[name] || !s.Type.Includes("string") {
		return v
	}
	u := sys.unique("bar")
	if s.Pattern != "" && !pattern(s.Pattern).MatchString(u) || s.MaxLength != nil && uint64(len(u)) > *s.MaxLength {
		return v
	}
	if name == "code" {
		return strings.ToUpper(u)
	}
	return u
}

var (
	patternsMu sync.Mutex
	patterns   = map[string]*regexp.Regexp{}
)

// pattern returns the compiled expression of a schema, compiled once for all
// workers.
func pattern(text string) *regexp.Regexp {
	patternsMu.Lock()
	defer patternsMu.Unlock()
	if patterns[text] == nil {
		patterns[text] = regexp.MustCompile(text)
	}
	return patterns[text]
}

// queryOf returns the query with the parameters that an operation requires, such
// as a program and a window of time. The window is the last month, in which populate
// made everything.
func queryOf(op *operation, own objects) string {
	var parts []string
	for _, p := range op.query {
		if !p.required {
			continue
		}
		switch {
		case idPrefix(p.schema) != "":
			parts = append(parts, p.name+"="+own[idPrefix(p.schema)])
		case len(p.schema.Enum) > 0:
			value, _ := p.schema.Enum[0].(string)
			parts = append(parts, p.name+"="+value)
		case p.name == "to":
			parts = append(parts, "to="+time.Now().UTC().Format(time.DateOnly))
		case p.schema.Format == "date" || p.schema.Format == "date-time" || p.name == "from":
			parts = append(parts, p.name+"="+time.Now().UTC().AddDate(0, -1, 0).Format(time.DateOnly))
		}
	}
	return strings.Join(parts, "&")
}

// with adds a query to a path.
func with(path string, queries ...string) string {
	queries = slices.DeleteFunc(queries, func(q string) bool { return q == "" })
	if len(queries) == 0 {
		return path
	}
	return path + "?" + strings.Join(queries, "&")
}

// text returns v as JSON.
func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // v is built of JSON types only
	}
	return string(raw)
}

// merged returns a copy of base with the members of more, of which later ones
// win.
func merged(base M, more ...M) M {
	out := maps.Clone(base)
	for _, m := range more {
		maps.Copy(out, m)
	}
	return out
}
