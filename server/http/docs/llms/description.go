// Package llms writes the description of the API as plain text, for language
// models and for people with a pager: Short is an overview with one line an
// operation, Full contains everything.
package llms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// description is what the texts need of the bundled OpenAPI document.
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

// pathItem is a path, or a webhook, which has only a Post. The API has no other
// methods than these three.
type pathItem struct {
	Parameters []parameter
	Get        *operation
	Post       *operation
	Delete     *operation
}

// operation is what the texts show of one operation. Additive is whether it is an
// addition to Rail's specification. Audience names the pages that need the operation.
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

// parameter is one of an operation, or a reference to a shared one.
type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Required    bool
	Description string
	Schema      schema
	Example     any
}

// body is what a request sends, by media type.
type body struct {
	Required bool
	Content  map[string]content
}

// response is one answer of an operation, or a reference to a refusal that many share.
type response struct {
	Ref         string `json:"$ref"`
	Description string
	Content     map[string]content
}

// content is a body of one media type with its examples, the first of which is shown.
type content struct {
	Schema   schema
	Examples ordered[struct{ Value json.RawMessage }]
}

// schema has the keywords that shape shows. A keyword that the description begins to
// use is silently absent from the texts until it is added here.
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

// types is one type or several.
type types []string

// UnmarshalJSON reads both forms.
func (t *types) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*t = types{strings.Trim(string(b), `"`)}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// ordered is a JSON object that keeps the order of its members, which the
// description chose for its readers.
type ordered[V any] struct {
	names  []string
	values map[string]V
}

// UnmarshalJSON reads the members in their order.
// encoding/json does not say in which order it met the members, so they are read
// twice: once for their values, once for their names.
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

// parse reads the bundle. Its references within are kept and followed when needed: to
// resolve them all would never end where schemas contain themselves.
func parse(bundle []byte) (*description, error) {
	var d description
	if err := json.Unmarshal(bundle, &d); err != nil {
		return nil, fmt.Errorf("llms: %w", err)
	}
	return &d, nil
}

// name returns what a reference names.
func name(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// follow returns the parameter that p refers to, or p itself.
func (d *description) follow(p parameter) parameter {
	if p.Ref == "" {
		return p
	}
	return d.Components.Parameters.values[name(p.Ref)]
}

// each calls f for every operation of the API that bears the tag, with the
// parameters of its path in front of its own.
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
			// A copy: the parameters of the path must not be added to the description.
			op := *on.op
			op.Parameters = slices.Concat(item.Parameters, op.Parameters)
			f(on.method, path, op)
		}
	}
}
