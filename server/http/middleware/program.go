package middleware

import (
	"bytes"
	"errors"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// Every operation accepts program_id, in the query and in the body (decisions, 10). The document
// does not repeat it in every body, so it is added to the schemas here.

// programBody returns the schema of an operation's body with program_id added. Without a described
// body, program_id is the only member.
func programBody(spec *openapi3.T, body *openapi3.Schema) *openapi3.Schema {
	if body == nil {
		body = openapi3.NewObjectSchema().WithoutAdditionalProperties()
	}
	id := spec.Components.Schemas["ProgramId"]
	if id != nil && body.Properties["program_id"] == nil {
		body.WithPropertyRef("program_id", id)
	}
	return body
}

// checkNoBody checks the body of an operation that takes none: it may be an empty object or have
// program_id only.
func (d *Document) checkNoBody(s *state) error {
	none := problem.New(problem.ParameterUnknown, "This operation takes no body.")
	if s.unread != nil || CheckJSON(s.body) != nil {
		return none
	}
	err := d.validateBody(s.route.body, s.body)
	var p *problem.Error
	if errors.As(err, &p) && p.Param == "" { // not an object
		return none
	}
	return err
}

// programs returns the programs that a request names, in its query and in its body. Handlers
// compare them with the program of the object. The schemas have validated them.
func programs(c echo.Context, body []byte) []string {
	return slices.DeleteFunc([]string{c.QueryParam("program_id"), programOf(body)}, func(id string) bool { return id == "" })
}

// programOf returns the program_id of a body, or "". It reads no further than that.
func programOf(body []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if open, err := d.ReadToken(); err != nil || open.Kind() != '{' {
		return ""
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		found := err == nil && name.String() == "program_id"
		value, err := d.ReadValue()
		if found && value.Kind() == '"' {
			id, _ := jsontext.AppendUnquote(nil, value) // a valid JSON string
			return string(id)
		}
		if err != nil {
			break
		}
	}
	return ""
}
