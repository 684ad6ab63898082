package middleware

import (
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// validation skips authentication, which is a separate step, and does not set defaults: a default
// could not be distinguished from a given value.
var validation = &openapi3filter.Options{
	AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc,
	SkipSettingDefaults: true,
}

// validate checks the request against the description (step 12).
func (f *Front) validate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		in := &openapi3filter.RequestValidationInput{
			Request: c.Request(), PathParams: pathParams(c), QueryParams: c.QueryParams(),
			Route: s.route.Route, Options: validation,
		}
		if err := openapi3filter.ValidateRequest(c.Request().Context(), in); err != nil {
			refused := f.Document.refusal(err)
			if s.via == console { // a page shows the message beside one field
				return refused
			}
			return f.Document.further(c.Request().Context(), *in, refused)
		}
		if f.Document.lenient {
			if err := checkNames(s.route.body, s.body); err != nil {
				return err
			}
		}
		if s.route.item != nil {
			f.checkItems(c, s)
		}
		return next(c)
	}
}

// pathParams returns the path parameters in the validator's form.
func pathParams(c echo.Context) map[string]string {
	names := c.ParamNames()
	out := make(map[string]string, len(names))
	for i, n := range names {
		out[n] = c.ParamValues()[i]
	}
	return out
}

// refusal converts the validator's error into an error that names the parameter.
func (d *Document) refusal(err error) *problem.Error {
	param := ""
	if re, ok := errors.AsType[*openapi3filter.RequestError](err); ok {
		if early := requestRefusal(re); early != nil {
			return early
		}
		if re.Parameter != nil {
			param = re.Parameter.Name
		}
	}
	if se, ok := errors.AsType[*openapi3.SchemaError](err); ok {
		return d.schemaRefusal(deepest(se), param)
	}
	var pe *openapi3filter.ParseError
	if errors.As(err, &pe) && param != "" {
		return problem.Invalid(param, "%s: %s", param, pe.Reason)
	}
	if param != "" {
		return problem.Invalid(param, "%s is not valid.", param)
	}
	return problem.New(problem.InvalidJSON, "The body cannot be read as JSON.")
}

// requestRefusal returns a refusal that does not depend on a schema, or nil.
func requestRefusal(re *openapi3filter.RequestError) *problem.Error {
	missing := errors.Is(re.Err, openapi3filter.ErrInvalidRequired)
	empty := errors.Is(re.Err, openapi3filter.ErrInvalidEmptyValue)
	switch {
	case re.Parameter != nil && missing:
		return problem.Missing(re.Parameter.Name)
	case re.Parameter != nil && empty:
		return problem.Invalid(re.Parameter.Name, "%s must not be empty.", re.Parameter.Name)
	case re.Parameter == nil && missing:
		return problem.New(problem.InvalidJSON, "A JSON body is required.")
	case strings.HasPrefix(re.Reason, "header Content-Type"):
		return problem.New(problem.UnsupportedMediaType, "Content-Type must be application/json.")
	}
	return nil
}

// unsupported extracts an unknown member's name from the validator's message, its only source.
var unsupported = regexp.MustCompile(`^property "(.*)" is unsupported$`)

// schemaRefusal returns the refusal of a body's member, named by its path, or of the parameter
// param.
func (d *Document) schemaRefusal(se *openapi3.SchemaError, param string) *problem.Error {
	if param != "" {
		return d.parameterRefusal(se, param)
	}
	path := pointer(se.JSONPointer())
	if m := unsupported.FindStringSubmatch(se.Reason); m != nil { // the pointer stops at the parent
		name, err := strconv.Unquote(`"` + m[1] + `"`) // the name as sent
		if err != nil {
			name = m[1]
		}
		names := slices.Sorted(maps.Keys(se.Schema.Properties))
		return problem.UnknownName(join(path, name), "is not known here", name, names)
	}
	switch {
	case se.SchemaField == "required":
		return problem.Missing(path)
	case path == "":
		return problem.New(problem.InvalidJSON, "The body must be a JSON object: %s.", se.Reason)
	}
	return d.fault(se, path)
}

// parameterRefusal returns the refusal of a query parameter; expand and include
// have separate codes.
func (d *Document) parameterRefusal(se *openapi3.SchemaError, param string) *problem.Error {
	p := d.fault(se, param)
	switch param {
	case "expand[]":
		p.Code = problem.InvalidExpand
	case "include[]":
		p.Code = problem.InvalidInclude
	}
	return p
}

// deepest unwraps the errors of oneOf to that of the branch that is not "null".
func deepest(se *openapi3.SchemaError) *openapi3.SchemaError {
	for se.Origin != nil {
		var inner *openapi3.SchemaError
		if !errors.As(se.Origin, &inner) {
			break
		}
		se = inner
	}
	return se
}

// pointer converts a JSON pointer to the form of error.param, such as branches[0].rate_value.
func pointer(p []string) string {
	var b strings.Builder
	for _, s := range p {
		if _, err := strconv.Atoi(s); err == nil {
			b.WriteString("[" + s + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s)
	}
	return b.String()
}

// join returns the path of a member of the object at path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// values returns echo's parsed query. The generated binder reads the same map, so changes to it
// reach the handler.
func values(c echo.Context) url.Values { return c.QueryParams() }
