// Package agent has the operations of the API for MCP clients, by name and with one flat object of arguments,
// and the requests that wait for a person.
//
// The package `mcp` serves the clients, and the console shows the waiting requests to people. Both send
// operations to the API, with the client's key or as the person, and decide nothing. confirmed.go lists the operations
// that an agent can only prepare.
package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/openapi"
	"rail/server/http/loopback"
	"rail/server/problem"
)

// Arguments are the arguments of an operation by their names, as JSON.
type Arguments map[string]json.RawMessage

// Text returns an argument that is a string; "" for any other.
func (a Arguments) Text(name string) string {
	var text string
	_ = json.Unmarshal(a[name], &text) // no string is no text
	return text
}

// Integer returns an argument that is an integer.
func (a Arguments) Integer(name string) (n int64, ok bool) {
	value, has := a[name]
	return n, has && string(value) != "null" && json.Unmarshal(value, &n) == nil
}

// isTrue reports whether an argument is true.
func (a Arguments) isTrue(name string) bool { return string(bytes.TrimSpace(a[name])) == "true" }

// Operation is an operation of the API with its arguments: those of the path, of the query and of the body.
type Operation struct {
	openapi.Operation
	// Required and Optional are the names of the arguments; the required ones are in the order of the description.
	Required, Optional []string

	query map[string]parameter
	path  []string
}

// parameter is an argument of the query.
type parameter struct {
	name     string // as sent
	repeated bool   // a list of repetitions; another list is joined with commas
}

// Known refuses arguments that the operation does not have.
func (o Operation) Known(args Arguments) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(o.Required, name) && !slices.Contains(o.Optional, name) {
			return problem.Invalid(name, "%s has no argument %s.", o.ID, name)
		}
	}
	return nil
}

// hidden are arguments that agents do not need.
var hidden = map[string]bool{"format": true}

// newOperation returns an operation with its arguments.
func newOperation(o openapi.Operation) Operation {
	out := Operation{Operation: o, query: map[string]parameter{}}
	for part := range strings.SplitSeq(o.Path, "{") {
		if name, _, ok := strings.Cut(part, "}"); ok {
			out.path = append(out.path, name)
		}
	}
	out.Required = slices.Clone(out.path)
	for _, p := range o.Query {
		name := strings.TrimSuffix(p.Name, "[]")
		if hidden[name] {
			continue
		}
		list := p.Schema.Value.Type.Is("array") && (p.Explode == nil || *p.Explode)
		out.query[name] = parameter{p.Name, list}
		out.add(name, p.Required)
	}
	if o.Body != nil {
		out.Required = append(out.Required, missing(o.Body.Required, out.Required)...)
		out.Optional = append(out.Optional, missing(slices.Sorted(maps.Keys(o.Body.Properties)),
			slices.Concat(out.Required, out.Optional))...)
	}
	return out
}

func (o *Operation) add(name string, required bool) {
	if required {
		o.Required = append(o.Required, name)
	} else {
		o.Optional = append(o.Optional, name)
	}
}

// missing returns the names that a list does not have.
func missing(names, list []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(list, name) {
			out = append(out, name)
		}
	}
	return out
}

// Schema returns the schema of an argument; nil for an id of the path.
func (o Operation) Schema(name string) *openapi3.Schema {
	if o.Body != nil && o.Body.Properties[name] != nil {
		return o.Body.Properties[name].Value
	}
	for _, p := range o.Query {
		if strings.TrimSuffix(p.Name, "[]") == name {
			schema := *p.Schema.Value
			schema.Description = cmp.Or(p.Description, schema.Description)
			return &schema
		}
	}
	return nil
}

// Reads reports whether an operation changes nothing.
func (o Operation) Reads() bool {
	return o.Method == http.MethodGet || slices.Contains(o.Scopes, "read")
}

// Creates reports whether an operation adds something each time it is called.
func (o Operation) Creates() bool {
	return o.Method == http.MethodPost && len(o.path) == 0 && !o.Reads()
}

// Request returns the request of an operation within this process. Arguments that the operation does not have are sent
// too, so that the API refuses them by name.
func (o Operation) Request(ctx context.Context, args Arguments) (*http.Request, error) {
	rest := maps.Clone(args)
	path, err := o.address(rest)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		p, inQuery := o.query[name]
		if o.Body != nil && (o.Body.Properties[name] != nil || !inQuery) {
			continue
		}
		if err := p.put(query, name, rest[name]); err != nil {
			return nil, err
		}
		delete(rest, name)
	}
	to := loopback.URL + path + "?" + query.Encode()
	if o.Body == nil {
		return http.NewRequestWithContext(ctx, o.Method, to, http.NoBody)
	}
	if rest == nil {
		rest = Arguments{}
	}
	raw, err := json.Marshal(rest)
	if err != nil {
		return nil, problem.Invalid("arguments", "arguments must be JSON.")
	}
	r, err := http.NewRequestWithContext(ctx, o.Method, to, bytes.NewReader(raw))
	if err == nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

// InPath returns the arguments of the path.
func (o Operation) InPath(args Arguments) map[string]string {
	out := map[string]string{}
	for _, name := range o.path {
		out[name] = args.Text(name)
	}
	return out
}

// address returns the path with its arguments, and removes them from the others.
func (o Operation) address(args Arguments) (string, error) {
	path := o.Path
	for _, name := range o.path {
		id := args.Text(name)
		if id == "" {
			return "", problem.Missing(name)
		}
		path = strings.Replace(path, "{"+name+"}", url.PathEscape(id), 1)
		delete(args, name)
	}
	return path, nil
}

// put adds an argument to a query.
func (p parameter) put(query url.Values, name string, value json.RawMessage) error {
	sent := p.name
	if sent == "" {
		sent = name
	}
	texts, err := textsOf(name, value)
	if err != nil || len(texts) == 0 {
		return err
	}
	if !p.repeated {
		texts = []string{strings.Join(texts, ",")}
	}
	query[sent] = texts
	return nil
}

// textsOf returns the texts of a value or of a list of values; none for null.
func textsOf(name string, value json.RawMessage) ([]string, error) {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		list = []json.RawMessage{value}
	}
	var out []string
	for _, one := range list {
		var v any
		d := json.NewDecoder(bytes.NewReader(one))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			return nil, problem.Invalid(name, "%s must be a text, a number, true or false.", name)
		}
		switch v := v.(type) {
		case nil:
		case string:
			out = append(out, v)
		case json.Number, bool:
			out = append(out, strings.TrimSpace(string(one)))
		default:
			return nil, problem.Invalid(name, "%s must be a text, a number, true or false.", name)
		}
	}
	return out, nil
}
