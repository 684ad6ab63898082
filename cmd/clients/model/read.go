package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// hooks is the tag of the operations that payment processors call. They are no methods of a client.
const hooks = "Hooks"

// Read returns the model of a bundled description. It fails for a description that it would misread.
func Read(bundle []byte) (*Model, error) {
	r := reader{model: &Model{types: map[string]*Type{}, methods: map[string]*Method{}}}
	if err := json.Unmarshal(bundle, &r.document); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	r.model.Version = r.document.Info.Version
	for _, step := range []func() error{r.types, r.resources, r.events, r.codes, r.uses} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("model: %w", err)
		}
	}
	return r.model, nil
}

// reader turns a document into a model.
type reader struct {
	document document
	model    *Model
}

// call is an operation with its path and method.
type call struct {
	operation
	path, http string
	shared     []parameter // of the path
}

// calls returns the operations in the order of the description.
func (r *reader) calls() ([]call, error) {
	var out []call
	for _, path := range r.document.Paths {
		var shared []parameter
		if raw, ok := path.Value.get("parameters"); ok {
			if err := json.Unmarshal(raw, &shared); err != nil {
				return nil, fmt.Errorf("%s: %w", path.Name, err)
			}
		}
		for _, item := range path.Value {
			if !slices.Contains([]string{"get", "post", "delete"}, item.Name) {
				continue
			}
			c := call{path: path.Name, http: strings.ToUpper(item.Name), shared: shared}
			if err := json.Unmarshal(item.Value, &c.operation); err != nil {
				return nil, fmt.Errorf("%s %s: %w", item.Name, path.Name, err)
			}
			out = append(out, c)
		}
	}
	return out, nil
}

// resources reads the operations into methods and groups these. Two methods of one name in a resource are an error.
func (r *reader) resources() error {
	calls, err := r.calls()
	if err != nil {
		return err
	}
	byName := map[string]*Resource{}
	var order []string
	for _, c := range calls {
		if slices.Contains(c.Tags, hooks) {
			continue
		}
		m, err := r.method(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.ID, err)
		}
		if byName[m.Resource] == nil {
			byName[m.Resource] = &Resource{Name: m.Resource, Description: r.tag(c.Tags[0])}
			order = append(order, m.Resource)
		}
		resource := byName[m.Resource]
		for _, other := range resource.Methods {
			if other.Name == m.Name {
				return fmt.Errorf("%s and %s are both %s.%s", other.OperationID, m.OperationID, m.Resource, m.Name)
			}
		}
		resource.Methods = append(resource.Methods, m)
	}
	for _, name := range order {
		r.model.Resources = append(r.model.Resources, *byName[name])
	}
	for i := range r.model.Resources {
		for j := range r.model.Resources[i].Methods {
			m := &r.model.Resources[i].Methods[j]
			r.model.methods[m.OperationID] = m
		}
	}
	return nil
}

// tag returns the description of a tag.
func (r *reader) tag(name string) string {
	for _, t := range r.document.Tags {
		if t.Name == name {
			return t.Description
		}
	}
	return ""
}

// resource returns the name of the resource that an operation belongs to: the first part of a path of objects, and
// otherwise the tag.
func resource(c call) string {
	name, ok := strings.CutPrefix(c.path, "/v1/")
	name, _, _ = strings.Cut(name, "/")
	if !ok || strings.Contains(name, ".") {
		return Snake(c.Tags[0])
	}
	return name
}

// method reads an operation.
func (r *reader) method(c call) (Method, error) {
	m := Method{
		OperationID: c.ID, Resource: resource(c), Summary: c.Summary, Description: c.Description,
		HTTP: c.http, Path: c.path, Console: c.Audience == "console", Security: security(c.Security),
	}
	var err error
	if m.Name, err = methodName(m.Resource, c.ID); err != nil {
		return m, err
	}
	for _, step := range []func(*Method, call) error{r.parameters, r.body, r.answer, r.page, r.refusals, r.example} {
		if err := step(&m, c); err != nil {
			return m, err
		}
	}
	return m, nil
}

// security returns the key that an operation needs.
func security(alternatives []map[string][]string) Security {
	if len(alternatives) == 0 {
		return Public
	}
	for _, a := range alternatives {
		if _, ok := a["publishable"]; ok {
			return Publishable
		}
	}
	return Secret
}

// skips reports whether clients leave out a parameter of a query: format asks for a table in place of objects, and
// others repeat what the path or the body says.
func (c call) skips(p Param) bool {
	repeats := c.RequestBody != nil || p.Name == "program_id" && strings.Contains(c.path, "{")
	return p.Name == "format" || repeats && !p.Required
}

// parameters reads the parameters of the path, in its order, and of the query. Those of the header are the runtime's.
func (r *reader) parameters(m *Method, c call) error {
	for _, p := range slices.Concat(c.shared, c.Parameters) {
		p = r.document.parameter(p)
		shape, err := r.shape(p.Schema)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		one := Param{
			Name: p.Name, Ident: Snake(p.Name), Description: p.Description, Shape: shape, Required: p.Required,
			Explode: p.Explode == nil || *p.Explode,
		}
		switch {
		case p.In == "path":
			m.PathParams = append(m.PathParams, one)
		case p.In == "query" && !c.skips(one):
			m.Query = append(m.Query, one)
		case p.Name == "Idempotency-Key":
			m.Idempotent = true
		}
	}
	at := func(p Param) int { return strings.Index(c.path, "{"+p.Name+"}") }
	slices.SortFunc(m.PathParams, func(a, b Param) int { return at(a) - at(b) })
	if strings.Count(c.path, "{") != len(m.PathParams) {
		return fmt.Errorf("the path has other parameters than it describes")
	}
	if c.RequestBody != nil && len(m.Query) > 0 {
		return fmt.Errorf("the operation has a body, and requires %s in its query", m.Query[0].Name)
	}
	return nil
}

// body reads the body of a request.
func (r *reader) body(m *Method, c call) error {
	if c.RequestBody == nil {
		return nil
	}
	body, ok := c.RequestBody.Content["application/json"]
	if !ok || len(c.RequestBody.Content) > 1 || body.Schema.Ref == "" {
		return fmt.Errorf("the body is not one named JSON type")
	}
	m.Body = &Body{Shape: Shape{Kind: Named, Name: last(body.Schema.Ref)}, Required: c.RequestBody.Required}
	return nil
}

// answer reads the bodies of successes, which must be of one type.
func (r *reader) answer(m *Method, c call) error {
	for _, one := range r.successes(c) {
		body, ok := one.Content["application/json"]
		if text, has := one.Content["text/plain"]; has {
			body, ok, m.Answer.Text = text, true, true
		}
		if !ok {
			m.Answer.Optional = true
			continue
		}
		shape, err := r.shape(body.Schema)
		if err != nil {
			return err
		}
		if m.Answer.Shape.Name != "" && m.Answer.Shape.Name != shape.Name || shape.Kind != Named {
			return fmt.Errorf("the successes are not one named type")
		}
		m.Answer.Shape = shape
	}
	if m.Answer.Shape.Name == "" {
		return fmt.Errorf("no success has a body")
	}
	return nil
}

// successes returns the responses of a call that are no errors.
func (r *reader) successes(c call) []response {
	var out []response
	for _, one := range c.Responses {
		if strings.HasPrefix(one.Name, "2") {
			out = append(out, r.document.response(one.Value))
		}
	}
	return out
}

// page recognizes a page of a list by its members and by the parameter that continues it.
func (r *reader) page(m *Method, _ call) error {
	answer := r.model.Follow(m.Answer.Shape)
	data, ok := answer.member("data")
	takes := func(name string) bool {
		return slices.ContainsFunc(m.Query, func(p Param) bool { return p.Name == name })
	}
	if !ok || data.Shape.Kind != List {
		return nil
	}
	item := *data.Shape.Item
	switch {
	case takes("starting_after"):
		m.Page = &Page{Item: item, Param: "starting_after", Cursor: "id", More: "has_more"}
		// The catalogue of events has names and no ids.
		if _, ok := r.model.Follow(item).member("id"); !ok {
			m.Page.Cursor = "type"
		}
		if _, ok := r.model.Follow(item).member(m.Page.Cursor); !ok {
			return fmt.Errorf("an item of the list has no %s", m.Page.Cursor)
		}
	case takes("after"):
		m.Page = &Page{Item: item, Param: "after", Cursor: "cursor", OfPage: true, More: "caught_up"}
	default:
		return nil
	}
	if _, ok := answer.member(m.Page.More); !ok {
		return fmt.Errorf("the page has no %s", m.Page.More)
	}
	return nil
}

// member returns the member of an object with a name.
func (s Shape) member(name string) (Member, bool) {
	for _, m := range s.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// refusals reads the codes that an operation lists itself.
func (r *reader) refusals(m *Method, c call) error {
	for _, one := range c.Responses {
		if one.Name < "400" || one.Value.Ref != "" {
			continue
		}
		for _, e := range one.Value.Content["application/json"].Examples {
			if !slices.Contains(m.Codes, e.Name) {
				m.Codes = append(m.Codes, e.Name)
			}
		}
	}
	return nil
}
