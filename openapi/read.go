package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

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

// ReadRequests parses the part of Bundle that a server needs to validate requests: without webhooks, without answers
// but those of tables and PDFs, and with the schemas that the rest names. It takes a third of the time and memory of
// Read.
func ReadRequests() (*openapi3.T, error) {
	var root map[string]json.RawMessage
	if err := json.Unmarshal(Bundle, &root); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	delete(root, "webhooks")
	var err error
	if root["paths"], err = withoutAnswers(root["paths"]); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	if root["components"], err = reached(root["components"], root["paths"]); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	bundle, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return Read(bundle)
}

// withoutAnswers returns paths without the responses of the operations that have neither a table nor a PDF.
func withoutAnswers(raw json.RawMessage) (json.RawMessage, error) {
	var paths map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &paths); err != nil {
		return nil, err
	}
	for _, item := range paths {
		for member, value := range item {
			if value[0] != '{' || bytes.Contains(value, []byte("text/csv")) || bytes.Contains(value, []byte("application/pdf")) {
				continue
			}
			var operation map[string]json.RawMessage
			if err := json.Unmarshal(value, &operation); err != nil {
				return nil, err
			}
			operation["responses"] = json.RawMessage("{}")
			var err error
			if item[member], err = json.Marshal(operation); err != nil {
				return nil, err
			}
		}
	}
	return json.Marshal(paths)
}

// reference matches the kind and the name of a component in a reference.
var reference = regexp.MustCompile(`"#/components/(\w+)/([\w.-]+)"`)

// reached returns the components that a text names, directly or through others, with the security schemes and all
// ids, which refusals of other ids name.
func reached(raw, from json.RawMessage) (json.RawMessage, error) {
	var all map[string]map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	components := map[string]map[string]json.RawMessage{"securitySchemes": all["securitySchemes"], "schemas": {}}
	texts := []json.RawMessage{from}
	for name, schema := range all["schemas"] {
		if strings.HasSuffix(name, "Id") {
			components["schemas"][name] = schema
			texts = append(texts, schema)
		}
	}
	for ; len(texts) > 0; texts = texts[1:] {
		for _, match := range reference.FindAllSubmatch(texts[0], -1) {
			kind, name := string(match[1]), string(match[2])
			if components[kind] == nil {
				components[kind] = map[string]json.RawMessage{}
			}
			if components[kind][name] == nil {
				components[kind][name] = all[kind][name]
				texts = append(texts, all[kind][name])
			}
		}
	}
	return json.Marshal(components)
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
	for pattern, item := range spec.Paths.Map() {
		for method, op := range item.Operations() {
			if isHook(op) {
				continue
			}
			o, err := newOperation(&routers.Route{Spec: spec, Path: pattern, PathItem: item, Method: method, Operation: op})
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

// BodyName returns the name of the body's schema in the components, or "" for none.
func (o Operation) BodyName() string {
	if o.Body == nil {
		return ""
	}
	return path.Base(o.Operation.RequestBody.Value.Content["application/json"].Schema.Ref)
}

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
