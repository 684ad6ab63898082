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

// things are one object of each type of an organization, by prefix.
type things map[string]string

// wellFormed returns the example of an operation's body with the ids of the
// given objects, times of now and fresh names, so that the operation accepts it.
func (w *world) wellFormed(op *operation, own things) M {
	if op.body == nil {
		return nil
	}
	body, _ := w.fit(op.body, clone(op.example), own, "").(M)
	if body == nil {
		body = M{}
	}
	for name, p := range op.body.Properties {
		if p.Value.Format == "date-time" && !slices.Contains(op.body.Required, name) && len(body) > 1 {
			delete(body, name) // a time that the example's story fits, and this world's may not
		}
	}
	switch op.id { // what the schema cannot say
	case "createClick":
		body["value"] = own["handle"]
		delete(body, "param")
	case "createCustomer":
		delete(body, "partner_id") // the click's
	case "setInboundSigning":
		body["required"] = false
	case "updateFlow":
		delete(body, "branches")
	case "createWebhookEndpoint":
		body["url"] = w.sink.web.URL + "/any"
	}
	return body
}

// fit walks a value by its schema.
func (w *world) fit(s *openapi3.Schema, v any, own things, name string) any {
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
				v[key] = w.fit(p, v[key], own, key)
			}
		}
	case []any:
		for i := range v {
			if s.Items != nil {
				v[i] = w.fit(s.Items.Value, v[i], own, "")
			}
		}
	case string:
		return w.fresh(s, v, name)
	}
	return v
}

// property is the schema of a member, in any of the schema's alternatives.
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

// distinct are the members whose texts an object has for itself.
var distinct = map[string]bool{
	"name": true, "title": true, "handle": true, "code": true, "subdomain": true, "visitor_token": true,
	"external_id": true, "external_customer_id": true,
	"external_charge_id": true, "value": true,
}

// fresh makes a text of the example one that no other object has.
func (w *world) fresh(s *openapi3.Schema, v, name string) string {
	if len(s.Enum) > 0 {
		return v
	}
	switch s.Format {
	case "date-time":
		return time.Now().UTC().Add(-time.Second).Format(time.RFC3339)
	case "date":
		return time.Now().UTC().Format(time.DateOnly)
	case "email":
		return w.unique("mail") + "@example.com"
	case "":
	default:
		return v
	}
	if !distinct[name] || !s.Type.Includes("string") {
		return v
	}
	u := w.unique("bar")
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

func pattern(text string) *regexp.Regexp {
	patternsMu.Lock()
	defer patternsMu.Unlock()
	if patterns[text] == nil {
		patterns[text] = regexp.MustCompile(text)
	}
	return patterns[text]
}

// queryOf returns the query that an operation demands, with an object's program
// and a window of time where it asks for one.
func queryOf(op *operation, own things) string {
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

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made of JSON
	}
	return string(raw)
}

func merged(base M, more ...M) M {
	out := maps.Clone(base)
	for _, m := range more {
		maps.Copy(out, m)
	}
	return out
}
