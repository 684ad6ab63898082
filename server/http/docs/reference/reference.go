// Package reference writes the API reference as pages: an overview of the rules that all
// operations share, a page for each tag, and one for events.
package reference

import (
	"embed"
	"encoding/json"
	"html/template"
	"slices"
	"strings"

	"rail/server/http/docs/description"
	"rail/server/http/docs/layout"
)

//go:embed *.html
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*.html"))

// The pages that belong to no tag.
const (
	overview = "index"
	events   = "events"
)

// Page is one page of the reference. Its links lead to the files of other pages in the
// same folder, such as sales.html.
type Page struct {
	Name         string // of its file, without the ending
	Title, About string
	Sections     []layout.Section // for searches
	Body         template.HTML
}

// reference is the source of the pages.
type reference struct {
	*description.Document

	samples  map[string][]sample // by the operation's id
	markdown layout.Markdown
	homes    map[string]string // the page of each schema
	bodies   map[string]string // the operation or event that describes a schema as its body
	err      error             // the first one
}

// sample is a call of an operation in one language.
type sample struct{ Label, Source string }

// Pages returns the pages of a description. samples has the calls of each operation, by its id. The
// overview is the first.
func Pages(bundle, samples []byte) ([]Page, error) {
	d, err := description.Parse(bundle)
	if err != nil {
		return nil, err
	}
	r := &reference{Document: d, markdown: layout.NewMarkdown()}
	if err := json.Unmarshal(samples, &r.samples); err != nil {
		return nil, err
	}
	r.settle()
	out := []Page{r.overview()}
	for _, tag := range d.Tags {
		out = append(out, r.tag(tag.Name, tag.Description))
	}
	out = append(out, r.events())
	return out, r.err
}

// note records an error, if it is the first.
func (r *reference) note(err error) {
	if r.err == nil {
		r.err = err
	}
}

// file returns the name of a tag's page.
func file(tag string) string { return strings.ReplaceAll(strings.ToLower(tag), " ", "-") }

// settle chooses the page that describes each schema: the overview for schemas of errors, and otherwise the page
// whose operations lead to the schema in the fewest references.
func (r *reference) settle() {
	r.homes, r.bodies = map[string]string{}, map[string]string{}
	var errors, calls, sent []step
	for _, name := range r.Components.Responses.Names {
		for _, c := range r.Components.Responses.Values[name].Content.All() {
			errors = append(errors, steps(overview, c.Schema.Members())...)
		}
	}
	for _, tag := range r.Tags {
		r.Each(tag.Name, func(_, _ string, op description.Operation) {
			r.describes(op.RequestBody, file(tag.Name), op.ID)
			calls = append(calls, steps(file(tag.Name), r.Used(op))...)
		})
	}
	for _, event := range r.Webhooks.Names {
		op := *r.Webhooks.Values[event].Post
		r.describes(op.RequestBody, events, event)
		sent = append(sent, steps(events, r.Used(op))...)
	}
	seen := map[string]bool{}
	r.spread(errors, seen)
	r.spread(slices.Concat(calls, sent), seen)
}

// describes records that an operation or an event describes the schema of its body.
func (r *reference) describes(body *description.Body, page, by string) {
	if body == nil {
		return
	}
	for _, name := range body.Content.All()[0].Schema.Refs() {
		if r.bodies[name] == "" {
			r.homes[name], r.bodies[name] = page, by
		}
	}
}

// step is a reference from a page to a schema.
type step struct{ page, schema string }

func steps(page string, schemas []string) []step {
	var out []step
	for _, s := range schemas {
		out = append(out, step{page, s})
	}
	return out
}

// spread visits schemas in the fewest references. One without a page gets that of the first reference.
func (r *reference) spread(level []step, seen map[string]bool) {
	for len(level) > 0 {
		var next []step
		for _, at := range level {
			if seen[at.schema] {
				continue
			}
			seen[at.schema] = true
			if r.homes[at.schema] == "" {
				r.homes[at.schema] = at.page
			}
			next = append(next, steps(at.page, r.Components.Schemas.Values[at.schema].Members())...)
		}
		level = next
	}
}
