package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// document has the parts of the description that become a Model.
type document struct {
	Info       struct{ Version string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[ordered[json.RawMessage]]
	Webhooks   ordered[struct{ Post operation }]
	Components struct {
		Schemas    ordered[schema]
		Parameters map[string]parameter
		Responses  map[string]response
		Examples   map[string]example
	}
}

type operation struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Tags        []string
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody *struct {
		Required bool
		Content  map[string]content
	}
	Responses ordered[response]
	Audience  string `json:"x-audience"`
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Explode     *bool
	Schema      schema
	Example     json.RawMessage
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]content
}

type content struct {
	Schema   schema
	Examples ordered[example]
}

type example struct {
	Ref   string `json:"$ref"`
	Value json.RawMessage
}

// schema has the keywords that decide on a type. Bounds of values are the server's concern.
type schema struct {
	Ref           string `json:"$ref"`
	Description   string
	Type          kinds
	Format        string
	Enum          []any
	Const         any
	Default       json.RawMessage
	Examples      []json.RawMessage
	Items         *schema
	OneOf         []schema
	Discriminator *struct {
		PropertyName string
		Mapping      map[string]string
	}
	Required   []string
	Properties ordered[schema]
	// Additional is true, false or a schema.
	Additional json.RawMessage `json:"additionalProperties"`
}

// unread are keywords of JSON Schema that change a type and that the description does not use. A schema with one is an
// error: a generator would write a type that is wrong.
var unread = []string{"allOf", "anyOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas"}

// UnmarshalJSON refuses the keywords that are not read.
func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	if err := json.Unmarshal(b, (*plain)(s)); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	for _, keyword := range unread {
		if _, ok := all[keyword]; ok {
			return fmt.Errorf("a schema has %s, which clients are not generated from", keyword)
		}
	}
	return nil
}

// kinds is a list of JSON types. The document writes a single type as a string.
type kinds []string

// UnmarshalJSON reads both forms.
func (k *kinds) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*k = kinds{strings.Trim(string(b), `"`)}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(k))
}

// ordered is a JSON object that preserves the order of its members.
type ordered[V any] []entry[V]

type entry[V any] struct {
	Name  string
	Value V
}

// UnmarshalJSON reads the members one by one, since a map would lose their order.
func (o *ordered[V]) UnmarshalJSON(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		e := entry[V]{Name: fmt.Sprint(name)}
		if err := dec.Decode(&e.Value); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		*o = append(*o, e)
	}
	return nil
}

// get returns the member with a name, and whether there is one.
func (o ordered[V]) get(name string) (V, bool) {
	for _, e := range o {
		if e.Name == name {
			return e.Value, true
		}
	}
	var none V
	return none, false
}

// last returns the last segment of a reference: the name of the component.
func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// parameter resolves a reference to a shared parameter.
func (d *document) parameter(p parameter) parameter {
	if p.Ref == "" {
		return p
	}
	return d.Components.Parameters[last(p.Ref)]
}

// response resolves a reference to a shared response.
func (d *document) response(r response) response {
	if r.Ref == "" {
		return r
	}
	return d.Components.Responses[last(r.Ref)]
}

// example resolves a reference to a shared example.
func (d *document) example(e example) example {
	if e.Ref == "" {
		return e
	}
	return d.Components.Examples[last(e.Ref)]
}
