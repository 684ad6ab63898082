package openapi_test

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"rail/openapi"
)

// document is the description as it is published.
func document(t *testing.T) object {
	t.Helper()
	var d object
	require.NoError(t, json.Unmarshal(openapi.Bundle, &d))
	return d
}

var notLetters = regexp.MustCompile(`[^a-z0-9]`)

// identifier returns a name in the form that distinguishes names in most languages' generators.
func identifier(name string) string { return notLetters.ReplaceAllString(strings.ToLower(name), "") }

// eachOperation calls f for the operations of the paths and of the webhooks,
// with the parameters of their paths.
func eachOperation(d object, f func(id string, op object, parameters []any)) {
	for _, kind := range []string{"paths", "webhooks"} {
		for _, item := range at(d, kind) {
			shared, _ := item.(object)["parameters"].([]any)
			for method, op := range item.(object) {
				if method == "parameters" {
					continue
				}
				own, _ := op.(object)["parameters"].([]any)
				f(op.(object)["operationId"].(string), op.(object), append(own, shared...))
			}
		}
	}
}

// resolved follows a reference to a component.
func resolved(d, o object) object {
	ref, ok := o["$ref"].(string)
	if !ok {
		return o
	}
	return at(d, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}

// TestParametersHaveOneIdentifierEach: expand and expand[] would be one
// argument of a generated function.
func TestParametersHaveOneIdentifierEach(t *testing.T) {
	t.Parallel()
	d := document(t)
	eachOperation(d, func(id string, _ object, parameters []any) {
		seen := map[string]string{}
		for _, p := range parameters {
			name := resolved(d, p.(object))["name"].(string)
			require.Empty(t, seen[identifier(name)], "%s: %s", id, name)
			seen[identifier(name)] = name
		}
	})
}

// TestComponentsHaveOneIdentifierEach: generators make a type of every
// component, whatever its kind.
func TestComponentsHaveOneIdentifierEach(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, kind := range []string{"schemas", "parameters", "responses"} {
		for name := range at(document(t), "components", kind) {
			require.Empty(t, seen[identifier(name)], "%s is in %s too", name, kind)
			seen[identifier(name)] = kind
		}
	}
}

// TestEventsAreAUnion checks that the schema Event knows every event and distinguishes them by type, and that each
// webhook sends one of its branches.
func TestEventsAreAUnion(t *testing.T) {
	t.Parallel()
	d := document(t)
	union := schema(d, "Event")
	require.Equal(t, "type", at(union, "discriminator")["propertyName"])
	mapping := at(union, "discriminator", "mapping")
	branches := map[any]bool{}
	for _, b := range union["oneOf"].([]any) {
		branches[b.(object)["$ref"]] = true
	}
	require.Len(t, mapping, len(at(d, "webhooks")))
	require.Len(t, branches, len(mapping))
	for event, item := range at(d, "webhooks") {
		sent := at(item.(object), "post", "requestBody", "content", "application/json", "schema")["$ref"]
		require.Equal(t, sent, mapping[event], event)
		require.True(t, branches[sent], event)
		require.Equal(t, []any{event}, at(resolved(d, object{"$ref": sent}), "properties", "type")["enum"])
	}
}

// TestNamesForGenerators: nothing in the description is for Rail's own generator
// alone, except the names without which the constants of its client collide with types;
// and no schema has the name that a union's tag gets (ogen calls that of Event EventType).
func TestNamesForGenerators(t *testing.T) {
	t.Parallel()
	named := map[string]string{}
	eachNamed(document(t), func(schema, property string) {
		require.Empty(t, named[property], "%s of %s: kubb exports two constants with this name", property, schema)
		named[property] = schema
	})
	require.Equal(t, map[string]string{
		"object": "ProgramStatusReport", "actor_type": "AuditLogEntry", "": "MailListStatus",
	}, named)
	require.Equal(t, len(named), strings.Count(string(openapi.Bundle), `"x-enum-varnames"`))
	require.NotContains(t, string(openapi.Bundle), `"x-go-`)
	d := document(t)
	for name := range at(d, "components", "schemas") {
		if union, ok := schema(d, name)["discriminator"].(object); ok {
			tag := name + union["propertyName"].(string)
			for other := range at(d, "components", "schemas") {
				require.NotEqual(t, identifier(tag), identifier(other))
			}
		}
	}
}

// eachNamed calls f for the component and the property of each schema that names its constants for Go. The property is
// empty where the component is the schema.
func eachNamed(d object, f func(component, property string)) {
	for name := range at(d, "components", "schemas") {
		s := schema(d, name)
		if s["x-enum-varnames"] != nil {
			f(name, "")
		}
		properties, _ := s["properties"].(object)
		for property, p := range properties {
			if p.(object)["x-enum-varnames"] != nil {
				f(name, property)
			}
		}
	}
}

// eachSchema calls f for every schema of the document and the name under which
// it stands, such as amount_minor.
func eachSchema(in any, name string, f func(name string, schema object)) {
	switch v := in.(type) {
	case []any:
		for _, e := range v {
			eachSchema(e, name, f)
		}
	case object:
		if v["type"] != nil && v["enum"] == nil {
			f(name, v)
		}
		for key, e := range v {
			switch key {
			case "example", "examples", "default":
			case "schema", "items":
				eachSchema(e, name, f)
			default:
				eachSchema(e, key, f)
			}
		}
	}
}

// has reports whether a schema's type is, or may be, t.
func has(schema object, t string) bool {
	list, several := schema["type"].([]any)
	return schema["type"] == t || several && slices.Contains(list, any(t))
}

// TestIntegersHaveSizes: without a format, a client in Java counts money in 32
// bits, which end at 21 million dollars.
func TestIntegersHaveSizes(t *testing.T) {
	t.Parallel()
	seen := 0
	eachSchema(document(t), "", func(name string, s object) {
		if !has(s, "integer") {
			return
		}
		seen++
		switch most, bounded := s["maximum"].(float64); {
		case strings.HasSuffix(name, "_minor"):
			require.Equal(t, "int64", s["format"], name)
		case s["format"] == "int32":
			require.True(t, bounded && most <= math.MaxInt32, name)
		default:
			require.Equal(t, "int64", s["format"], name)
		}
	})
	require.Greater(t, seen, 100)
}

// TestAnswersHaveTheirHeaders checks the headers for generated clients: the time to wait, whether the response is a
// replay, and the remaining allowance.
func TestAnswersHaveTheirHeaders(t *testing.T) {
	t.Parallel()
	d := document(t)
	eachOperation(d, func(id string, op object, parameters []any) {
		if at(op, "responses")["429"] == nil {
			return // a webhook, which its receiver answers
		}
		replays := false
		for _, p := range parameters {
			replays = replays || resolved(d, p.(object))["name"] == "Idempotency-Key"
		}
		for status, r := range at(op, "responses") {
			headers, _ := resolved(d, r.(object))["headers"].(object)
			for _, name := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"} {
				require.Equal(t, status < "4" || status == "429", headers[name] != nil, "%s %s %s", id, status, name)
			}
			if status == "429" || status == "503" || status == "409" {
				require.Contains(t, headers, "Retry-After", "%s %s", id, status)
			}
			require.Equal(t, replays && status < "3", headers["Idempotent-Replayed"] != nil, "%s %s", id, status)
		}
	})
}

// TestTablesAreDescribed: each list by cursor has CSV as its second content, and the
// parameter that asks for it.
func TestTablesAreDescribed(t *testing.T) {
	t.Parallel()
	d := document(t)
	tables := 0
	eachOperation(d, func(id string, op object, parameters []any) {
		names := map[string]bool{}
		for _, p := range parameters {
			names[resolved(d, p.(object))["name"].(string)] = true
		}
		ok, _ := at(op, "responses")["200"].(object)
		content, _ := ok["content"].(object)
		csv := content["text/csv"] != nil
		require.True(t, csv || !names["starting_after"], id)
		if csv {
			require.True(t, names["format"], id)
			tables++
		}
	})
	require.Greater(t, tables, 30)
}

// unreachable are the codes that no described operation answers with.
var unreachable = map[string]string{
	"route_not_found":     "the path is not described",
	"method_not_allowed":  "the method is not described",
	"rail_not_configured": "kept for payment rails",
}

// TestOperationsNameTheirCodes: each error code is named, by an example of its
// own, where it can come, with its status; that no other comes is checked with
// every answer (server/harness/contract).
func TestOperationsNameTheirCodes(t *testing.T) {
	t.Parallel()
	d := document(t)
	named := map[string]bool{}
	eachOperation(d, func(id string, op object, _ []any) {
		for status, r := range at(op, "responses") {
			if status < "4" {
				continue
			}
			examples := at(resolved(d, r.(object)), "content", "application/json", "examples")
			require.NotEmpty(t, examples, "%s %s", id, status)
			for _, e := range examples {
				code := at(resolved(d, e.(object)), "value", "error")["code"].(string)
				require.Contains(t, examples, code, "%s %s", id, status)
				named[code] = true
			}
		}
	})
	for _, code := range schema(d, "ErrorCode")["enum"].([]any) {
		require.NotEqual(t, named[code.(string)], unreachable[code.(string)] != "", code)
	}
}

// TestOptionalParametersAreLeftOut: the docs page sends every parameter with an example.
func TestOptionalParametersAreLeftOut(t *testing.T) {
	t.Parallel()
	d := document(t)
	eachOperation(d, func(id string, _ object, parameters []any) {
		for _, p := range parameters {
			if p := resolved(d, p.(object)); p["required"] != true {
				require.NotContains(t, p, "example", "%s: %s", id, p["name"])
				require.NotContains(t, p, "examples", "%s: %s", id, p["name"])
			}
		}
	})
}

// TestDefaultsAreThoseOfNewObjects: a client that fills in defaults must not
// change what an update leaves out, and beside a reference some generators
// send them.
func TestDefaultsAreThoseOfNewObjects(t *testing.T) {
	t.Parallel()
	d := document(t)
	eachOperation(d, func(id string, op object, _ []any) {
		body, _ := op["requestBody"].(object)
		if body == nil {
			return
		}
		s := resolved(d, at(body, "content", "application/json", "schema"))
		properties, _ := s["properties"].(object)
		for name, p := range properties {
			require.False(t, strings.HasPrefix(id, "update") && p.(object)["default"] != nil, "%s: %s", id, name)
		}
	})
	eachReference(d, func(ref object) { require.NotContains(t, ref, "default", ref["$ref"]) })
}

// eachReference calls f for every reference of the document.
func eachReference(in any, f func(ref object)) {
	switch v := in.(type) {
	case []any:
		for _, e := range v {
			eachReference(e, f)
		}
	case object:
		if v["$ref"] != nil {
			f(v)
		}
		for _, e := range v {
			eachReference(e, f)
		}
	}
}

// freeText are the query parameters that take any text.
var freeText = []string{
	"starting_after", "ending_before", "after", "search", "email", "handle", "code", "value", "external_id", "external_charge_id",
	"external_customer_id", "identifier", "external_refund_id", "external_event_id", "type", "reason_code", "product_id", "action", "target_id",
	"source", "medium", "campaign", "referrer", "device",
}

// TestParametersAreAsStrictAsTheServer checks that parameters with few values, days or times declare them.
func TestParametersAreAsStrictAsTheServer(t *testing.T) {
	t.Parallel()
	d := document(t)
	eachOperation(d, func(id string, _ object, parameters []any) {
		for _, p := range parameters {
			p := resolved(d, p.(object))
			s := resolved(d, at(p, "schema"))
			plain := s["type"] == "string" && s["enum"] == nil && s["format"] == nil && s["pattern"] == nil
			if p["in"] == "query" && plain {
				require.Contains(t, freeText, p["name"], id)
			}
		}
	})
}

// TestTagsHaveDocuments checks that each part of the API is available as text.
func TestTagsHaveDocuments(t *testing.T) {
	t.Parallel()
	d := document(t)
	var tags []any
	for _, tag := range d["tags"].([]any) {
		tags = append(tags, tag.(object)["name"])
	}
	require.Equal(t, tags, schema(d, "DocumentTag")["enum"])
}

// TestDescriptionIsValid checks that server and tools accept the description as
// valid OpenAPI, and that each example follows its schema.
func TestDescriptionIsValid(t *testing.T) {
	t.Parallel()
	spec, err := openapi3.NewLoader().LoadFromData(openapi.Bundle)
	require.NoError(t, err)
	require.NoError(t, spec.Validate(t.Context(), openapi3.EnableExamplesValidation()))
}

// TestRequestsAreBounded: each integer of a request has a minimum and a maximum, and a list of values of an enum can hold
// each value. The figures of a confirmation are only compared, and the released contract has no maximum for them.
func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	d := document(t)
	seen := map[string]bool{}
	integers, lists := 0, 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				walk(path, one)
			}
		case object:
			if ref, ok := v["$ref"].(string); ok {
				if !seen[ref] {
					seen[ref] = true
					walk(ref, resolved(d, v))
				}
				return
			}
			kinds, _ := v["type"].([]any)
			if v["type"] == "integer" || slices.Contains(kinds, any("integer")) {
				integers++
				require.Contains(t, v, "minimum", path)
				if !strings.Contains(path, "/confirm_") {
					require.Contains(t, v, "maximum", path)
				}
			}
			items, _ := v["items"].(object)
			if values, isEnum := resolved(d, items)["enum"].([]any); isEnum {
				lists++
				require.GreaterOrEqual(t, v["maxItems"], float64(len(values)), path)
			}
			for name, one := range v {
				walk(path+"/"+name, one)
			}
		}
	}
	for path, item := range at(d, "paths") {
		for _, op := range item.(object) {
			op, _ := op.(object) // parameters of the path are a list
			if body, ok := op["requestBody"].(object); ok {
				for _, kind := range at(resolved(d, body), "content") {
					walk(path, kind.(object)["schema"])
				}
			}
		}
	}
	require.Positive(t, integers)
	require.Positive(t, lists)
}
