// Package description reads the bundled OpenAPI document for the references that are made
// of it: plain text, and pages.
package description

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Document has the parts of the bundled OpenAPI document that the references use.
type Document struct {
	Info struct {
		Title, Version, Summary, Description string
	}
	Tags       []struct{ Name, Description string }
	Paths      Ordered[PathItem]
	Webhooks   Ordered[PathItem]
	Components struct {
		Schemas    Ordered[Schema]
		Parameters Ordered[Parameter]
		Responses  Ordered[Response]
	}
}

// PathItem is a path or a webhook. A webhook has only a Post. The API uses only these
// three methods.
type PathItem struct {
	Parameters []Parameter
	Get        *Operation
	Post       *Operation
	Delete     *Operation
}

// Operation is one operation. Additive marks an addition to Rail's specification.
// Audience names the pages that the operation serves.
type Operation struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Tags        []string
	Security    []map[string][]string
	Parameters  []Parameter
	RequestBody *Body
	Responses   Ordered[Response]
	Additive    bool   `json:"x-additive"`
	Audience    string `json:"x-audience"`
}

// Parameter is a parameter of an operation, or a reference to a shared parameter.
type Parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Required    bool
	Description string
	Schema      Schema
	Example     any
}

// Body is the body of a request, by media type.
type Body struct {
	Required bool
	Content  Media
}

// Response is a response of an operation, or a reference to a shared error response.
type Response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     Media
}

// Media is a body by media type.
type Media map[string]Content

// All returns the forms of a body in the order of their media types, so that JSON is the first.
func (m Media) All() []Content {
	var out []Content
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[name])
	}
	return out
}

// Content is a body of one media type with its examples. The references show the first example.
type Content struct {
	Schema   Schema
	Examples Ordered[struct{ Value json.RawMessage }]
}

// Schema has the keywords that Shape shows. The references silently omit any other keyword of
// the OpenAPI document, so add new keywords here.
type Schema struct {
	Ref         string `json:"$ref"`
	Description string
	Type        Types
	Format      string
	Pattern     string
	Enum        []any
	Const       any
	Default     json.RawMessage
	Minimum     *json.Number
	Maximum     *json.Number
	MinLength   *int
	MaxLength   *int
	MinItems    *int
	MaxItems    *int
	Items       *Schema
	OneOf       []Schema
	Required    []string
	Properties  Ordered[Schema]
	Additive    bool `json:"x-additive"`
}

// Types is a list of JSON types. The document writes a single type as a string.
type Types []string

// UnmarshalJSON reads both forms.
func (t *Types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = Types{strings.Trim(string(b), `"`)}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// Ordered is a JSON object that preserves the order of its members.
type Ordered[V any] struct {
	Names  []string
	Values map[string]V
}

// UnmarshalJSON reads the members in their order. encoding/json does not report the
// order of a map's members, so UnmarshalJSON parses the object twice: once for the
// values, and once for the names.
func (o *Ordered[V]) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &o.Values); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		o.Names = append(o.Names, fmt.Sprint(name))
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return err
		}
	}
	return nil
}

// Notes returns the scopes and the audience of the operation, in parentheses.
func (op Operation) Notes() string {
	if len(op.Security) == 0 {
		return " (no key needed)"
	}
	s := op.scopes()
	if s == "" {
		return ""
	}
	if op.Audience != "" {
		s += ", for the " + op.Audience
	}
	return " (scope " + s + ")"
}

// scopes returns the scopes of the operation. A key needs one of them.
func (op Operation) scopes() string {
	var all []string
	for _, alternative := range op.Security {
		for _, s := range alternative {
			all = append(all, s...)
		}
	}
	return strings.Join(all, " or ")
}

// Shared reports whether the parameter is a header that nearly every operation takes.
func (p Parameter) Shared() bool {
	switch p.Name {
	case "X-Rail-Version", "Rail-Signature", "Rail-Position", "Idempotency-Key":
		return p.In == "header" && !p.Required
	}
	return false
}

// Parse reads the bundle. It does not resolve references: recursive schemas would never
// end.
func Parse(bundle []byte) (*Document, error) {
	var d Document
	if err := json.Unmarshal(bundle, &d); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return &d, nil
}

// Name returns the last segment of a reference.
func Name(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// Follow returns the parameter that p refers to, or p itself.
func (d *Document) Follow(p Parameter) Parameter {
	if p.Ref == "" {
		return p
	}
	return d.Components.Parameters.Values[Name(p.Ref)]
}

// Each calls f for every operation with the tag. The operation's parameters begin with
// the parameters of the path.
func (d *Document) Each(tag string, f func(method, path string, op Operation)) {
	for _, path := range d.Paths.Names {
		item := d.Paths.Values[path]
		for _, on := range []struct {
			method string
			op     *Operation
		}{{"GET", item.Get}, {"POST", item.Post}, {"DELETE", item.Delete}} {
			if on.op == nil || len(on.op.Tags) == 0 || on.op.Tags[0] != tag {
				continue
			}
			// Copy the operation, so that the description stays unchanged.
			op := *on.op
			op.Parameters = slices.Concat(item.Parameters, op.Parameters)
			f(on.method, path, op)
		}
	}
}
