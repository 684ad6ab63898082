package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"rail/openapi"
	"rail/server/clock"
	"rail/server/locale/plain"
)

// Document is the API description, indexed by route.
type Document struct {
	spec    *openapi3.T
	lenient bool // unknown members of bodies are ignored
	routes  map[routeKey]*route
	ids     []idKind
}

// routeKey identifies an operation. The path has the router's form, with ":id" for "{id}".
type routeKey struct{ method, path string }

// route describes one operation for the request path.
type route struct {
	openapi.Operation
	query map[string]queryParam
	body  *openapi3.Schema // with program_id, which every body may have
	table *table           // nil if the answer has no table
	pdf   bool             // the answer can be a PDF
	item  *openapi3.Schema // of a batch, or nil; items are checked one by one
}

// queryParam describes the forms of a query parameter for checkQuery.
type queryParam struct {
	integer    bool
	repeatable bool // a list of repetitions, such as expand[]
	commas     bool // a list of one text, such as status=due,paid
}

// waits reports whether an operation waits for an external server, such as a name server, or for
// jobs. No transaction is open meanwhile.
func (r *route) waits() bool {
	return r.pings() || r.movesClock() || r.ID == "createWebhookEndpoint" || r.ID == "updateWebhookEndpoint"
}

// pings reports whether an operation waits for the answer of a webhook's receiver.
func (r *route) pings() bool { return r.ID == "pingWebhookEndpoint" }

// movesClock reports whether an operation moves the test clock.
func (r *route) movesClock() bool { return r.ID == "setTestClock" }

// shares reports whether concurrent requests of an operation may share a transaction: it is
// frequent, reads first and writes last. Clicks are batched in program/tracking instead.
func (r *route) shares() bool { return r.ID == "createSale" }

// atPrimary reports whether a read needs the primary, because it depends on running transactions.
func (r *route) atPrimary() bool { return r.ID == "followEvents" }

// batches reports whether each item of an operation's body is a request.
func (r *route) batches() bool { return r.ID == "createSaleBatch" || r.ID == "createClickBatch" }

// LoadDocument reads the description. It fails if an operation is neither public nor has a scope,
// or names an unknown scope: a server must not start with an operation that is open by mistake.
func LoadDocument(knownScopes []string, ignoreUnknown bool) (*Document, error) {
	registerFormats.Do(defineFormats)
	spec, err := openapi.ReadRequests()
	if err != nil {
		return nil, err
	}
	leaveConditions(spec)
	if ignoreUnknown {
		openRequestBodies(spec)
	}
	operations, err := openapi.Operations(spec)
	if err != nil {
		return nil, err
	}
	d := &Document{spec: spec, lenient: ignoreUnknown, routes: map[routeKey]*route{}, ids: idKinds(spec)}
	for _, o := range operations {
		for _, s := range o.Scopes {
			if !slices.Contains(knownScopes, s) {
				return nil, fmt.Errorf("openapi: %s names the unknown scope %q", o.ID, s)
			}
		}
		d.routes[routeKey{o.Method, echoPath(o.Path)}] = newRoute(spec, o)
	}
	dropAnswers(spec, operations)
	return d, nil
}

// dropAnswers removes the responses of tables, and all component schemas but those of request bodies. Nothing reads
// them after the start, and each garbage collection would mark them.
func dropAnswers(spec *openapi3.T, operations []openapi.Operation) {
	bodies := openapi3.Schemas{}
	for _, o := range operations {
		o.Operation.Responses = nil
		if name := o.BodyName(); name != "" {
			bodies[name] = spec.Components.Schemas[name]
		}
	}
	spec.Paths, spec.Webhooks = nil, nil
	spec.Components = &openapi3.Components{Schemas: bodies, SecuritySchemes: spec.Components.SecuritySchemes}
}

// route returns the operation of a method and a router path, or nil. HEAD is treated as GET.
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
		out[r.ID] = [2]string{k.method, r.Path}
	}
	return out
}

// Bodies returns the schema of every operation's body, by operationId.
func (d *Document) Bodies() map[string]*openapi3.Schema {
	out := make(map[string]*openapi3.Schema, len(d.routes))
	for _, r := range d.routes {
		out[r.ID] = r.body
	}
	return out
}

// echoPath returns the router's form of a path of the description.
func echoPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// newRoute returns the route of an operation, so that no request searches the description.
func newRoute(spec *openapi3.T, o openapi.Operation) *route {
	r := &route{
		Operation: o, query: map[string]queryParam{}, body: programBody(spec, o.Body), table: newTable(o), pdf: hasPDF(o),
	}
	for _, p := range o.Query {
		// In OpenAPI, explode is true by default.
		list, explode := p.Schema.Value.Type.Is("array"), p.Explode == nil || *p.Explode
		r.query[p.Name] = queryParam{
			integer: p.Schema.Value.Type.Is("integer"), repeatable: list && explode, commas: list && !explode,
		}
	}
	if r.batches() {
		r.item = leaveItems(r.body)
	}
	return r
}

// leaveConditions removes the schemas of conditions: their parser's refusals name the code and the
// path (decisions, 3.1).
func leaveConditions(spec *openapi3.T) {
	if branch := spec.Components.Schemas["FlowBranchInput"]; branch != nil {
		branch.Value.Properties["conditions"] = openapi3.NewSchemaRef("", openapi3.NewSchema())
	}
}

// openRequestBodies allows unknown members in request bodies (decisions, 10).
func openRequestBodies(spec *openapi3.T) {
	for _, s := range spec.Components.Schemas {
		if has := s.Value.AdditionalProperties.Has; has != nil && !*has {
			s.Value.AdditionalProperties = openapi3.BoolSchema{}
		}
	}
}

// registerFormats guards the library's global table of formats.
var registerFormats sync.Once

// defineFormats replaces the library's formats with checks whose messages describe the valid form.
// Validation looks them up by name.
func defineFormats() {
	// Minimum and maximum check integers. The library's formats would refuse large values with a
	// message that names no bound.
	delete(openapi3.SchemaIntegerFormats, "int32")
	delete(openapi3.SchemaIntegerFormats, "int64")
	openapi3.DefineStringFormatValidator("email", openapi3.NewCallbackValidator(checkEmail))
	openapi3.DefineStringFormatValidator("uri", openapi3.NewCallbackValidator(checkURL))
	openapi3.DefineStringFormatValidator("page-uri", openapi3.NewCallbackValidator(checkPage))
	openapi3.DefineStringFormatValidator("date", openapi3.NewCallbackValidator(checkDay))
	openapi3.DefineStringFormatValidator("date-time", openapi3.NewCallbackValidator(func(v string) error {
		_, err := clock.Parse(v)
		return err
	}))
}

// errEmail and the errors below complete a sentence that begins with the parameter's name.
var errEmail = errors.New("must be an email address such as ada@example.com")

// checkEmail requires one @ between a local part of at most 64 bytes and a domain with a dot, and
// no space or invisible character. It leaves the rest to mail servers.
func checkEmail(v string) error {
	at := strings.LastIndexByte(v, '@')
	if at < 1 || at > 64 || at == len(v)-1 || strings.ContainsAny(v, " <>,;\"()\\") {
		return errEmail
	}
	local, domain := v[:at], v[at+1:]
	if strings.Contains(local, "@") || !strings.Contains(domain, ".") || strings.HasPrefix(domain, ".") ||
		strings.HasSuffix(domain, ".") {
		return errEmail
	}
	if !plain.Addressed(v) {
		return errEmail
	}
	return nil
}

var errDay = errors.New("must be a date such as 2026-08-31")

// checkDay requires an ISO date, of any year.
func checkDay(v string) error {
	if _, err := time.Parse(time.DateOnly, v); err != nil {
		return errDay
	}
	return nil
}

// checkPage is checkURL for the address of a visited page. Browsers accept a percent sign that
// begins no escape there, as in /50%-off.
func checkPage(v string) error { return checkURL(strings.ReplaceAll(v, "%", "")) }

var errURL = errors.New("must be an absolute http or https URL")

// checkURL requires an absolute http or https address. Rail stores and shows such addresses, and
// never fetches them; package webhook checks the addresses of endpoints.
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
