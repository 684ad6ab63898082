package reference

import (
	"strings"

	"rail/server/http/docs/description"
	"rail/server/http/docs/layout"
)

// overview returns the page of the rules that all operations share.
func (r *reference) overview() Page {
	c := contents{Title: "API reference", Text: r.text(r.Info.Description)}
	for _, name := range r.Components.Parameters.Names {
		if p := r.Components.Parameters.Values[name]; p.Shared() {
			c.Shared = append(c.Shared, r.parameter(overview, p))
		}
	}
	for _, name := range r.Components.Responses.Names {
		c.Errors = append(c.Errors, failure{Name: name, Text: r.text(r.Components.Responses.Values[name].Description)})
	}
	return r.page(overview, "Authentication, money, lists, errors, and everything else that all operations share.",
		r.Info.Description, c)
}

// tag returns the page of a tag.
func (r *reference) tag(name, text string) Page {
	c := contents{Title: name, Text: r.text(text)}
	var found []layout.Section
	r.Each(name, func(method, path string, op description.Operation) {
		c.Operations = append(c.Operations, r.call(file(name), method, path, op))
		found = append(found, r.entry(method+" "+path+".", op.Summary, op.ID, op))
	})
	about, _, _ := strings.Cut(text, "\n\n")
	return r.page(file(name), about, text, c, found...)
}

// events returns the page of all events.
func (r *reference) events() Page {
	const about = "The events that webhook endpoints receive."
	c := contents{Title: "Events", Text: r.text(about)}
	var found []layout.Section
	for _, name := range r.Webhooks.Names {
		op := *r.Webhooks.Values[name].Post
		c.Operations = append(c.Operations, r.event(name))
		found = append(found, r.entry(op.Summary+".", name, name, op))
	}
	return r.page(events, about, about, c, found...)
}

// page renders a page, with the schemas that belong to it. text is its text above the first heading, found are the
// sections of its operations.
func (r *reference) page(name, about, text string, c contents, found ...layout.Section) Page {
	c.Objects = r.objects(name)
	body, err := layout.Part(templates.Lookup("page.html"), c)
	r.note(err)
	p := Page{Name: name, Title: c.Title, About: strings.ReplaceAll(about, "`", ""), Body: body}
	p.Sections = append([]layout.Section{{Prose: r.prose(text)}}, found...)
	for _, o := range c.Objects {
		s := r.Components.Schemas.Values[o.Name]
		p.Sections = append(p.Sections, layout.Section{
			Heading: o.Name, Anchor: o.Name, Prose: r.prose(s.Description), Code: words(s),
		})
	}
	return p
}

// entry returns the section of an operation or an event for searches. start precedes its description.
func (r *reference) entry(start, heading, anchor string, op description.Operation) layout.Section {
	var code []string
	for _, p := range op.Parameters {
		if p = r.Follow(p); !p.Shared() {
			code = append(code, p.Name)
		}
	}
	if op.RequestBody != nil {
		s := op.RequestBody.Content.All()[0].Schema
		if s.Ref != "" {
			code = append(code, description.Name(s.Ref))
			s = r.Components.Schemas.Values[description.Name(s.Ref)]
		}
		code = append(code, words(s))
	}
	return layout.Section{
		Heading: heading, Anchor: anchor, Prose: r.prose(start + " " + op.Description), Code: strings.Join(code, " "),
	}
}

// words returns the names of a schema's fields and the values of an enumeration.
func words(s description.Schema) string {
	if len(s.Properties.Names) == 0 {
		return s.Shape()
	}
	return strings.Join(s.Properties.Names, " ")
}

// prose returns a description without its markup.
func (r *reference) prose(markdown string) string {
	return r.markdown.Sections([]byte(markdown))[0].Prose
}
