package openapi_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

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

// identifier is what the generators of most languages make of a name, as far
// as it tells names apart.
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

// TestEventsAreAUnion: the schema Event knows every event and tells them apart
// by their type, and what a webhook sends is one of its branches.
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
