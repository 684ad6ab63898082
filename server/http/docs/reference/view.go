package reference

import (
	"bytes"
	"encoding/json"
	"html/template"
	"regexp"
	"slices"
	"strings"

	"rail/server/http/docs/description"
	"rail/server/http/docs/layout"
)

// contents has the parts of a page.
type contents struct {
	Title      string
	Text       template.HTML
	Shared     []field // parameters of nearly all operations
	Errors     []failure
	Operations []call
	Objects    []object
}

// call is an operation or an event. Notes are the scopes of an operation. An event has no Path, its name as Summary,
// and its summary as Notes.
type call struct {
	ID, Summary, Method, Path, Notes string

	Text     template.HTML
	Samples  template.HTML
	Fields   []field // parameters
	Body     *object
	Results  []result
	Failures []failure
	Answer   template.HTML
}

// result is a successful response.
type result struct {
	Status string
	Text   template.HTML
	Shape  []part
}

// failure is a response with an error.
type failure struct {
	Status, Name string
	Text         template.HTML
}

// object is a schema. ID is "" if another place of the reference describes it as well.
type object struct {
	ID, Name string
	Optional bool
	Text     template.HTML
	Shape    []part // of a schema without fields
	Fields   []field
}

// field is a parameter, or a member of an object.
type field struct {
	Name, Place string // Place is where a parameter is: path, query or header
	Required    bool
	Shape       []part
	Text        template.HTML
}

// part is a piece of a schema's short description. To leads to the schema that it names.
type part struct{ Text, To string }

// call returns the view of an operation.
func (r *reference) call(page, method, path string, op description.Operation) call {
	c := call{
		ID: op.ID, Summary: op.Summary, Method: method, Path: path, Notes: strings.Trim(op.Notes(), " ()"),
		Text: r.text(op.Description), Samples: tabs(op.ID, r.samples[op.ID]), Body: r.body(page, op.ID, op.RequestBody),
	}
	for _, p := range op.Parameters {
		if p = r.Follow(p); !p.Shared() {
			c.Fields = append(c.Fields, r.parameter(page, p))
		}
	}
	for _, status := range op.Responses.Names {
		response := op.Responses.Values[status]
		if response.Ref != "" {
			c.Failures = append(c.Failures, failure{Status: status, Name: description.Name(response.Ref)})
			continue
		}
		one := result{Status: status, Text: r.text(response.Description)}
		if all := response.Content.All(); len(all) > 0 {
			one.Shape = r.shape(page, all[0].Schema)
		}
		c.Results = append(c.Results, one)
	}
	if status, success := op.Success(); status != "" {
		c.Answer = r.example("Answer", success.Content)
	}
	return c
}

// event returns the view of an event.
func (r *reference) event(name string) call {
	op := r.Webhooks.Values[name].Post
	return call{
		ID: name, Summary: name, Notes: op.Summary, Text: r.text(op.Summary + ". " + op.Description),
		Body: r.body(events, name, op.RequestBody), Answer: r.example("Example", op.RequestBody.Content),
	}
}

// body returns the view of a request's body, or nil if there is none.
func (r *reference) body(page, by string, body *description.Body) *object {
	if body == nil {
		return nil
	}
	s, id := body.Content.All()[0].Schema, ""
	if s.Ref != "" {
		name := description.Name(s.Ref)
		if r.bodies[name] == by {
			id = name
		}
		s = r.Components.Schemas.Values[name]
	}
	o := r.object(page, s)
	o.ID, o.Optional = id, !body.Required
	return &o
}

// object returns the view of a schema.
func (r *reference) object(page string, s description.Schema) object {
	o := object{Text: r.text(s.Description)}
	if len(s.Properties.Names) == 0 {
		o.Shape = r.shape(page, s)
	}
	for _, name := range s.Properties.Names {
		member := s.Properties.Values[name]
		about := member.Description
		if about == "" && member.Ref != "" {
			about = r.Components.Schemas.Values[description.Name(member.Ref)].Description
		}
		o.Fields = append(o.Fields, field{
			Name: name, Required: slices.Contains(s.Required, name), Shape: r.shape(page, member), Text: r.text(about),
		})
	}
	return o
}

// objects returns the schemas that a page describes, without the bodies of its operations, by name.
func (r *reference) objects(page string) []object {
	var out []object
	for _, name := range slices.Sorted(slices.Values(r.Components.Schemas.Names)) {
		if r.homes[name] != page || r.bodies[name] != "" {
			continue
		}
		o := r.object(page, r.Components.Schemas.Values[name])
		o.ID, o.Name = name, name
		out = append(out, o)
	}
	return out
}

// parameter returns the view of a parameter.
func (r *reference) parameter(page string, p description.Parameter) field {
	return field{
		Name: p.Name, Place: p.In, Required: p.Required, Shape: r.shape(page, p.Schema), Text: r.text(p.Description),
	}
}

var word = regexp.MustCompile(`\w+`)

// shape returns the short description of a schema, with links to the schemas that it names.
func (r *reference) shape(page string, s description.Schema) []part {
	shape, refs := s.Shape(), s.Refs()
	var out []part
	rest := 0
	for _, at := range word.FindAllStringIndex(shape, -1) {
		name := shape[at[0]:at[1]]
		if !slices.Contains(refs, name) {
			continue
		}
		to := "#" + name
		if home := r.homes[name]; home != page {
			to = home + ".html" + to
		}
		if at[0] > rest {
			out = append(out, part{Text: shape[rest:at[0]]})
		}
		out = append(out, part{name, to})
		rest = at[1]
	}
	if rest < len(shape) {
		out = append(out, part{Text: shape[rest:]})
	}
	return out
}

// text returns a description as HTML. Its links are of other servers.
func (r *reference) text(markdown string) template.HTML {
	out, err := r.markdown.HTML([]byte(markdown), func(to string) (string, bool) { return to, true })
	r.note(err)
	return out
}

// values are those of the guides' tabs, so that a reader chooses a language once for both.
var values = map[string]string{"curl": "curl", "TypeScript": "node", "Python": "python", "Go": "go"}

// tabs returns the samples of an operation as tabs, or "".
func tabs(id string, all []sample) template.HTML {
	var out []layout.Tab
	for _, s := range all {
		out = append(out, layout.Tab{Value: values[s.Label], Title: s.Label, Code: s.Source})
	}
	if out == nil {
		return ""
	}
	return template.HTML(layout.Tabs("sample-"+id, "Language", out)) // #nosec G203 -- Tabs escapes the code
}

// example returns the first example of a body, or "".
func (r *reference) example(label string, of description.Media) template.HTML {
	raw := of.Example()
	if raw == nil {
		return ""
	}
	var lines bytes.Buffer
	r.note(json.Indent(&lines, raw, "", "  "))
	return template.HTML(layout.Answer(label, lines.String())) // #nosec G203 -- Answer escapes the code
}
