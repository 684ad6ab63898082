package middleware

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/server/problem"
)

// checkNames refuses a member whose name differs from a known one only by case, if unknown members
// are ignored: Go would decode it as the known one without validation.
func checkNames(schema *openapi3.Schema, body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil //nolint:nilerr // the validator reports the error
	}
	return namesOf(schema, v, "")
}

// namesOf checks the members of v, at any depth, against the schema of v.
func namesOf(schema *openapi3.Schema, v any, path string) error {
	switch v := v.(type) {
	case []any:
		if schema.Items == nil {
			return nil
		}
		for _, item := range v {
			if err := namesOf(schema.Items.Value, item, path); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, value := range v {
			if err := nameOf(schema, name, value, join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// nameOf checks one member. It ignores unknown members and their contents.
func nameOf(schema *openapi3.Schema, name string, value any, path string) error {
	if property := schema.Properties[name]; property != nil {
		return namesOf(property.Value, value, path)
	}
	for other := range schema.Properties {
		if strings.EqualFold(other, name) {
			return problem.On(path, problem.ParameterUnknown, "%s is not known here; did you mean %s?", path, other)
		}
	}
	return nil
}
