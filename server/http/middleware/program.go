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

// Every operation tolerates program_id, in the query and in the body
// (decisions, 10). The document does not repeat it in every body, so the schemas
// that requests are validated against get it here.

// programBody returns the schema of an operation's body with program_id in it.
// Where the document describes no body, program_id is all that it may have.
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

// spare checks the body of a request whose operation takes none: it may be an
// empty object or name the program.
func (d *Document) spare(s *state) error {
	none := problem.New(problem.ParameterUnknown, "This operation takes no body.")
	if s.unread != nil || CheckJSON(s.body) != nil {
		return none
	}
	err := d.validateBody(s.route.body, s.body)
	var p *problem.Error
	if errors.As(err, &p) && p.Param == "" { // no object at all
		return none
	}
	return err
}

// programs returns the programs that a request names, in its query and in its
// body, for handlers to compare with the program of the object. The schemas have
// validated them.
func programs(c echo.Context, body []byte) []string {
	return slices.DeleteFunc([]string{c.QueryParam("program_id"), programOf(body)}, func(id string) bool { return id == "" })
}

// programOf returns the program_id of a body, "" where there is none. It reads no further than that.
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
			id, _ := jsontext.AppendUnquote(nil, value) // it was read as a string
			return string(id)
		}
		if err != nil {
			break
		}
	}
	return ""
}
