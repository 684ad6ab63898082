package middleware

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/server/problem"
)

// ValidateBody validates a body from elsewhere, such as a form of the portal, against the schema of
// an API request's body. It refuses exactly the bodies that the API refuses.
func (d *Document) ValidateBody(schema string, body any) error {
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
	return d.validateBody(s.Value, raw)
}

// validateBody validates well-formed JSON against a schema.
func (d *Document) validateBody(schema *openapi3.Schema, raw []byte) error {
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	err := schema.VisitJSON(plain, openapi3.VisitAsRequest())
	if se, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		return d.schemaRefusal(deepest(se), "")
	}
	return err
}

// Problem returns the client's error for err, for callers that show it in their own form. It
// truncates the texts, because member names in them may be as long as a body.
func Problem(err error) *problem.Error {
	p := *toProblem(err)
	p.Message, p.Param = brief(p.Message, maxMessage), brief(p.Param, maxParam)
	return &p
}
