package middleware

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/server/problem"
)

// Judge judges a body that did not come as a request of the API, such as a form
// of the portal, by the schema of the request's body. What it refuses is what
// the API would.
func (d *Document) Judge(schema string, body any) error {
	s := d.spec.Components.Schemas[schema]
	if s == nil {
		return fmt.Errorf("the description has no schema %s", schema)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if p := CheckJSON(raw); p != nil {
		return p
	}
	return d.judge(s.Value, raw)
}

// judge judges JSON that is well formed by a schema.
func (d *Document) judge(schema *openapi3.Schema, raw []byte) error {
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	var se *openapi3.SchemaError
	err := schema.VisitJSON(plain, openapi3.VisitAsRequest())
	if errors.As(err, &se) {
		return d.schemaRefusal(deepest(se), "")
	}
	return err
}

// Problem is what a client is told of any error.
func Problem(err error) *problem.Error { return toProblem(err) }
