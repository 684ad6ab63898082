package middleware

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"rail/server/clock"
)

// Document is the description of the API, ready to be asked about a route.
type Document struct {
	spec    *openapi3.T
	lenient bool // unknown members of bodies are passed over
	routes  map[routeKey]*route
	ids     []idKind
}

type routeKey struct{ method, path string }

// route is what the request path knows about one operation.
type route struct {
	*routers.Route
	id     string
	public bool
	scopes []string // alternatives; empty means any key
	query  map[string]queryParam
	body   *openapi3.Schema
}

type queryParam struct {
	integer    bool
	repeatable bool // a list of repetitions, such as expand[]
	commas     bool // a list of one text, such as status=due,paid
}

// LoadDocument reads the bundled description. It fails when an operation
// declares neither a scope nor that it is public, or names a scope that does
// not exist: a server must not start with a door that nobody closed.
func LoadDocument(bundle []byte, knownScopes []string, ignoreUnknown bool) (*Document, error) {
	registerFormats.Do(defineFormats)
	spec, err := openapi3.NewLoader().LoadFromData(bundle)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if err := spec.Validate(context.Background(), openapi3.DisableExamplesValidation()); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	// A 3.1 document would be compiled anew for every value; the classic
	// validator knows all that the document uses, at a fiftieth of the cost.
	spec.OpenAPI = "3.0.3"
	leaveConditions(spec)
	if ignoreUnknown {
		openRequestBodies(spec)
	}
	d := &Document{spec: spec, lenient: ignoreUnknown, routes: map[routeKey]*route{}, ids: idKinds(spec)}
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			r, err := newRoute(spec, path, method, item, op, knownScopes)
			if err != nil {
				return nil, err
			}
			d.routes[routeKey{method, echoPath(path)}] = r
		}
	}
	return d, nil
}

// route returns the operation of a method and a path as the router writes it;
// nil where there is none. HEAD is as GET.
func (d *Document) route(method, path string) *route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	return d.routes[routeKey{method, path}]
}

// Operations returns every operationId with its method and path.
func (d *Document) Operations() map[string][2]string {
	out := make(map[string][2]string, len(d.routes))
	for k, r := range d.routes {
		out[r.id] = [2]string{k.method, r.Path}
	}
	return out
}

func echoPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

func newRoute(spec *openapi3.T, path, method string, item *openapi3.PathItem, op *openapi3.Operation, known []string) (*route, error) {
	r := &route{
		Route: &routers.Route{Spec: spec, Path: path, PathItem: item, Method: method, Operation: op},
		id:    op.OperationID,
		query: map[string]queryParam{},
	}
	if op.Security == nil {
		return nil, fmt.Errorf("openapi: %s declares no security", op.OperationID)
	}
	r.public = len(*op.Security) == 0
	for _, alternative := range *op.Security {
		for _, scopes := range alternative {
			r.scopes = append(r.scopes, scopes...)
		}
	}
	for _, s := range r.scopes {
		if !slices.Contains(known, s) {
			return nil, fmt.Errorf("openapi: %s names the unknown scope %q", op.OperationID, s)
		}
	}
	for _, list := range []openapi3.Parameters{item.Parameters, op.Parameters} {
		for _, p := range list {
			if p.Value.In == openapi3.ParameterInQuery {
				t := p.Value.Schema.Value.Type
				explode := p.Value.Explode == nil || *p.Value.Explode
				r.query[p.Value.Name] = queryParam{integer: t.Is("integer"), repeatable: t.Is("array") && explode, commas: t.Is("array") && !explode}
			}
		}
	}
	r.body = programBody(spec, op)
	return r, nil
}

// leaveConditions leaves the conditions of branches to their own parser, whose
// refusals name the code and the path (decisions, 3.1).
func leaveConditions(spec *openapi3.T) {
	if branch := spec.Components.Schemas["FlowBranchInput"]; branch != nil {
		branch.Value.Properties["conditions"] = openapi3.NewSchemaRef("", openapi3.NewSchema())
	}
}

// openRequestBodies lets request bodies carry members that the document does
// not know (decisions, 10).
func openRequestBodies(spec *openapi3.T) {
	for _, s := range spec.Components.Schemas {
		if has := s.Value.AdditionalProperties.Has; has != nil && !*has {
			s.Value.AdditionalProperties = openapi3.BoolSchema{}
		}
	}
}

// registerFormats guards the library's global table of formats.
var registerFormats sync.Once

func defineFormats() {
	// Minimum and maximum judge integers; these would refuse what is beyond
	// both in words that name no bound.
	delete(openapi3.SchemaIntegerFormats, "int32")
	delete(openapi3.SchemaIntegerFormats, "int64")
	openapi3.DefineStringFormatValidator("email", openapi3.NewCallbackValidator(checkEmail))
	openapi3.DefineStringFormatValidator("uri", openapi3.NewCallbackValidator(checkURL))
	openapi3.DefineStringFormatValidator("date", openapi3.NewCallbackValidator(checkDay))
	openapi3.DefineStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(v string) error {
		_, err := clock.Parse(v)
		return err
	}))
}

var errEmail = errors.New("must be an e-mail address such as ada@example.com")

// checkEmail asks for one @ between a local part and a domain with a dot or a
// bracket, and for no space or control character. What else an address may
// hold is for the mail servers to say.
func checkEmail(v string) error {
	at := strings.LastIndexByte(v, '@')
	if at < 1 || at > 64 || at == len(v)-1 || strings.ContainsAny(v, " <>,;\"()\\") {
		return errEmail
	}
	local, domain := v[:at], v[at+1:]
	if strings.Contains(local, "@") || !strings.Contains(domain, ".") || strings.HasPrefix(domain, ".") || strings.HasSuffix(domain, ".") {
		return errEmail
	}
	for _, r := range v {
		if r < 0x21 || r == 0x7f || r == utf8.RuneError {
			return errEmail
		}
	}
	return nil
}

var errDay = errors.New("must be a date such as 2026-08-31")

// checkDay asks for an ISO date, of any year.
func checkDay(v string) error {
	if _, err := time.Parse(time.DateOnly, v); err != nil {
		return errDay
	}
	return nil
}

var errURL = errors.New("must be an absolute http or https URL")

// checkURL takes absolute http(s) addresses. They are stored and shown, never
// fetched; what is fetched has a guard of its own.
func checkURL(v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return errURL
	}
	for _, r := range v {
		if r <= 0x20 || r == 0x7f {
			return errURL
		}
	}
	return nil
}
