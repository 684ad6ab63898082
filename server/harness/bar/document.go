package bar

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"rail/openapi"
	"rail/server/harness/contract"
)

// operation is an operation of the description, with the data that the stages need.
type operation struct {
	id, method, path string
	route            *routers.Route // for checking answers against the description
	public           bool           // needs no key of the API
	browser          bool           // what pages call, with a publishable key
	later            bool           // described, and answers 501
	scopes           []string       // a key needs one of them
	prefix           string         // prefix of the id in the path
	makes            string         // prefix of the id of the object in the answer
	body             *openapi3.Schema
	example          M
	query            []parameter
	success          []int
}

// parameter is a query parameter of an operation.
type parameter struct {
	name     string
	required bool
	schema   *openapi3.Schema
	list     bool
}

// attachedID is the id at a processor that paths name.
const attachedID = "bar_attached"

// filled returns the path with every parameter but the id filled in.
func (o *operation) filled() string {
	return strings.ReplaceAll(o.path, "{external_customer_id}", attachedID)
}

// in returns the path with the id filled in.
func (o *operation) in(id string) string {
	before, after, found := strings.Cut(o.filled(), "{id}")
	if !found {
		return o.path
	}
	return before + url.PathEscape(id) + after
}

// takesID reports whether the path names an object.
func (o *operation) takesID() bool { return strings.Contains(o.path, "{id}") }

// parameter returns the query parameter of a name, or nil.
func (o *operation) parameter(name string) *parameter {
	for i := range o.query {
		if o.query[i].name == name {
			return &o.query[i]
		}
	}
	return nil
}

// pages reports whether the operation is a list whose cursors are ids.
func (o *operation) pages() bool {
	return o.parameter("starting_after") != nil && o.id != "listWebhookEvents" // its cursors are names
}

// operations returns the operations of the description by their ids.
var operations = sync.OnceValue(func() map[string]*operation {
	out := map[string]*operation{}
	described, err := openapi.Operations(contract.Spec())
	if err != nil {
		panic(err) // the description is embedded in the program
	}
	for _, d := range described {
		out[d.ID] = newOperation(d)
	}
	for _, o := range out {
		if o.takesID() {
			o.prefix = prefixOf(out, o)
		}
		if o.id == "retrievePayoutStatement" {
			o.prefix = paidPayout
		}
	}
	return out
})

// sorted returns the operations ordered by their ids, so that a seed repeats a run.
func sorted() []*operation {
	all := operations()
	var out []*operation
	for _, id := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[id])
	}
	return out
}

// newOperation reads from the description what the stages need, but for prefix, which
// takes all operations.
func newOperation(d openapi.Operation) *operation {
	o := &operation{
		id: d.ID, method: d.Method, path: d.Path, later: d.Operation.Extensions["x-unimplemented"] == true,
		route: d.Route, public: d.Public || d.Browser, browser: d.Browser, scopes: d.Scopes, body: d.Body,
	}
	for _, p := range d.Query {
		o.query = append(o.query, parameter{p.Name, p.Required, p.Schema.Value, p.Schema.Value.Type.Is("array")})
	}
	if d.Body != nil {
		o.example = exampleOf(d.Operation.RequestBody.Value.Content["application/json"])
	}
	for status, r := range d.Operation.Responses.Map() {
		if strings.HasPrefix(status, "2") {
			o.success = append(o.success, int(status[2]-'0')+200)
			o.makes = idPrefixOf(r.Value)
		}
	}
	return o
}

// exampleOf returns the first example of a body.
func exampleOf(content *openapi3.MediaType) M {
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		m, _ := clone(content.Examples[name].Value.Value).(M)
		return m
	}
	m, _ := clone(content.Example).(M)
	return m
}

// clone copies a JSON value. Numbers keep their digits.
func clone(v any) any {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // v was decoded from JSON
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		panic(err)
	}
	return out
}

// idPrefixOf returns the prefix of the ids of a response's objects.
func idPrefixOf(r *openapi3.Response) string {
	content := r.Content["application/json"]
	if content == nil || content.Schema == nil {
		return ""
	}
	s := content.Schema.Value
	if data := s.Properties["data"]; data != nil && data.Value.Items != nil {
		s = data.Value.Items.Value
	}
	if id := s.Properties["id"]; id != nil {
		return idPrefix(id.Value)
	}
	return ""
}

// prefixOf returns the prefix of the ids of a path's resource: that of the object
// shown there, or else that of the objects in its list.
func prefixOf(all map[string]*operation, o *operation) string {
	resource, _, _ := strings.Cut(o.path, "/{id}")
	for _, want := range []string{resource + "/{id}", resource} {
		for _, other := range sortedOf(all) {
			if other.path == want && other.makes != "" {
				return other.makes
			}
		}
	}
	return o.makes
}

// sortedOf returns operations ordered by their ids.
func sortedOf(all map[string]*operation) []*operation {
	return slices.SortedFunc(maps.Values(all), func(a, b *operation) int { return strings.Compare(a.id, b.id) })
}

// idPrefix returns the prefix of the ids that a schema requires, or "". It is read from
// the pattern: the prefix comes first, or after the mark of sample objects.
func idPrefix(s *openapi3.Schema) string {
	if s == nil {
		return ""
	}
	for _, choice := range s.OneOf {
		if p := idPrefix(choice.Value); p != "" {
			return p
		}
	}
	rest, ok := strings.CutPrefix(s.Pattern, "^")
	rest = strings.TrimPrefix(rest, "(sample_)?")
	at := strings.IndexAny(rest, "[(")
	if !ok || at < 0 || !strings.HasSuffix(rest[:at], "_") {
		return ""
	}
	return rest[:at]
}

// slot is a place for an id in a body.
type slot struct {
	path   []string // partner_id; audience, group_ids, []
	prefix string
}

// name returns the slot as error.param of a refusal names it.
func (s slot) name() string {
	return strings.ReplaceAll(strings.Join(s.path, "."), ".[]", "[0]")
}

// slots returns the places for ids in a body's schema, through four levels of objects and
// lists.
func slots(s *openapi3.Schema, at []string) []slot {
	if p := idPrefix(s); p != "" {
		return []slot{{slices.Clone(at), p}}
	}
	var out []slot
	for _, choice := range s.OneOf {
		out = append(out, slots(choice.Value, at)...)
	}
	if s.Items != nil {
		out = append(out, slots(s.Items.Value, append(slices.Clone(at), "[]"))...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if len(at) < 4 {
			out = append(out, slots(s.Properties[name].Value, append(slices.Clone(at), name))...)
		}
	}
	return out
}

// put sets the slot of a body to an id. It adds the objects and lists on the way.
func (s slot) put(body any, id string) any {
	if len(s.path) == 0 {
		return id
	}
	rest := slot{s.path[1:], s.prefix}
	if s.path[0] == "[]" {
		list, _ := body.([]any)
		var first any
		if len(list) > 0 {
			first = list[0]
		}
		return []any{rest.put(first, id)}
	}
	m, _ := body.(M)
	if m == nil {
		m = M{}
	}
	m[s.path[0]] = rest.put(m[s.path[0]], id)
	return m
}
