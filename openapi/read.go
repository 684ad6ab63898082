package openapi

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// Read parses a description, such as Bundle, for validation and look-ups. Each caller gets a separate copy that it
// may change. (Package llms needs the order of members, which Read loses, and parses it itself.)
func Read(bundle []byte) (*openapi3.T, error) {
	spec, err := openapi3.NewLoader().LoadFromData(bundle)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	// A 3.1 document would be compiled anew for every value; the classic
	// validator knows all that the document uses, at a fiftieth of the cost.
	spec.OpenAPI = "3.0.3"
	return spec, nil
}

// Operation is one operation of a description, with its path and method.
type Operation struct {
	*routers.Route
	ID     string
	Public bool // needs no key
	// Browser is whether pages call it, with a publishable key.
	Browser bool
	Scopes  []string              // alternatives; none means any key
	Query   []*openapi3.Parameter // of the path, then its own
	Body    *openapi3.Schema      // nil for none
}

// Operations returns the operations of a description in the order of their ids, without the hooks of payment
// processors, which have their own signatures and their own path through the server. It fails if an operation
// declares neither a scope nor that it is public.
func Operations(spec *openapi3.T) ([]Operation, error) {
	var out []Operation
	for path, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			if isHook(op) {
				continue
			}
			o, err := newOperation(&routers.Route{Spec: spec, Path: path, PathItem: item, Method: method, Operation: op})
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b Operation) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

// isHook reports whether a payment processor or PayPal calls an operation.
func isHook(op *openapi3.Operation) bool { return slices.Contains(op.Tags, "Hooks") }

func newOperation(r *routers.Route) (Operation, error) {
	o := Operation{Route: r, ID: r.Operation.OperationID}
	if r.Operation.Security == nil {
		return o, fmt.Errorf("openapi: %s declares no security", o.ID)
	}
	o.Public = len(*r.Operation.Security) == 0
	for _, alternative := range *r.Operation.Security {
		_, publishable := alternative["publishable"]
		o.Browser = o.Browser || publishable
		for _, scopes := range alternative {
			o.Scopes = append(o.Scopes, scopes...)
		}
	}
	for _, p := range slices.Concat(r.PathItem.Parameters, r.Operation.Parameters) {
		if p.Value.In == openapi3.ParameterInQuery {
			o.Query = append(o.Query, p.Value)
		}
	}
	if body := r.Operation.RequestBody; body != nil {
		if content := body.Value.Content["application/json"]; content != nil {
			o.Body = content.Schema.Value
		}
	}
	return o, nil
}
