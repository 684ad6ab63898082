// Package llms writes the API reference as plain text, for language models and for
// people who read in a terminal. Short returns an overview with one line for each
// operation. Full returns everything.
package llms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// description has the parts of the bundled OpenAPI document that the texts use.
type description struct {
	Info struct {
		Title, Version, Summary, Description string
	}
	Tags       []struct{ Name, Description string }
	Paths      ordered[pathItem]
	Webhooks   ordered[pathItem]
	Components struct {
		Schemas    ordered[schema]
		Parameters ordered[parameter]
		Responses  ordered[response]
	}
}

// pathItem is a path or a webhook. A webhook has only a Post. The API uses only these
// three methods.
type pathItem struct {
	Parameters []parameter
	Get        *operation
	Post       *operation
	Delete     *operation
}

// operation is one operation. Additive marks an addition to Rail's specification.
// Audience names the pages that the operation serves.
type operation struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Tags        []string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *body
	Responses   ordered[response]
	Additive    bool   `json:"x-additive"`
	Audience    string `json:"x-audience"`
}

// parameter is a parameter of an operation, or a reference to a shared parameter.
type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Required    bool
	Description string
	Schema      schema
	Example     any
}

// body is the body of a request, by media type.
type body struct {
	Required bool
	Content  map[string]content
}

// response is a response of an operation, or a reference to a shared error response.
type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]content
}

// content is a body of one media type with its examples. The texts show the first example.
type content struct {
	Schema   schema
	Examples ordered[struct{ Value json.RawMessage }]
}

// schema has the keywords that shape shows. The texts silently omit any other keyword of
// the OpenAPI document, so add new keywords here.
type schema struct {
	Ref         string `json:"$ref"`
	Description string
	Type        types
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
	Items       *schema
	OneOf       []schema
	Required    []string
	Properties  ordered[schema]
	Additive    bool `json:"x-additive"`
}

// types is a list of JSON types. The document writes a single type as a string.
type types []string

// UnmarshalJSON reads both forms.
func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = types{strings.Trim(string(b), `"`)}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// ordered is a JSON object that preserves the order of its members.
type ordered[V any] struct {
	names  []string
	values map[string]V
}

// UnmarshalJSON reads the members in their order. encoding/json does not report the
// order of a map's members, so UnmarshalJSON parses the object twice: once for the
// values, and once for the names.
func (o *ordered[V]) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &o.values); err != nil {
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
		o.names = append(o.names, fmt.Sprint(name))
		var skipped json.RawMessage
		if err := dec.Decode(&skipped); err != nil {
			return err
		}
	}
	return nil
}

// parse reads the bundle. It does not resolve references: recursive schemas would never
// end.
func parse(bundle []byte) (*description, error) {
	var d description
	if err := json.Unmarshal(bundle, &d); err != nil {
		return nil, fmt.Errorf("llms: %w", err)
	}
	return &d, nil
}

// name returns the last segment of a reference.
func name(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// follow returns the parameter that p refers to, or p itself.
func (d *description) follow(p parameter) parameter {
	if p.Ref == "" {
		return p
	}
	return d.Components.Parameters.values[name(p.Ref)]
}

// each calls f for every operation with the tag. The operation's parameters begin with
// the parameters of the path.
func (d *description) each(tag string, f func(method, path string, op operation)) {
	for _, path := range d.Paths.names {
		item := d.Paths.values[path]
		for _, on := range []struct {
			method string
			op     *operation
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
