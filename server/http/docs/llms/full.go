package llms

import (
	"fmt"
	"slices"
	"strings"
)

// reference builds the text of Full or of one part.
type reference struct {
	*description
	strings.Builder
	bodies map[string]bool // the schemas that an operation's body has already described
}

// Full returns the whole reference: every operation with its parameters, body,
// responses and an example, every event, and every object with its fields. It begins
// with the headers and errors that all operations share.
func Full(bundle []byte) (string, error) {
	d, err := parse(bundle)
	if err != nil {
		return "", err
	}
	b := &reference{description: d, bodies: map[string]bool{}}
	d.head(&b.Builder)
	b.common()
	for _, tag := range d.Tags {
		b.tag(tag.Name, tag.Description)
	}
	b.events()
	b.objects(nil)
	b.WriteString(changelog)
	return b.String(), nil
}

// Parts returns a reference for each tag: the operations with the tag, as in Full, and
// the objects that they refer to.
func Parts(bundle []byte) (map[string]string, error) {
	d, err := parse(bundle)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, tag := range d.Tags {
		b := &reference{description: d, bodies: map[string]bool{}}
		fmt.Fprintf(b,
			"# %s: %s\n\nVersion %s. A part of /llms-full.txt, which begins with what all operations have in common.\n\n",
			d.Info.Title, tag.Name, d.Info.Version)
		b.tag(tag.Name, tag.Description)
		b.objects(d.reachable(tag.Name))
		out[tag.Name] = b.String()
	}
	return out, nil
}

// tag writes the operations of a tag.
func (b *reference) tag(name, description string) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", name, description)
	b.each(name, b.operation)
}

// common writes the headers and the error responses that operations share.
func (b *reference) common() {
	b.WriteString("## Request headers\n\n")
	for _, n := range b.Components.Parameters.names {
		if p := b.Components.Parameters.values[n]; shared(p) {
			b.parameter(p)
		}
	}
	b.WriteString("\n## Refusals\n\nAll answer an ErrorEnvelope.\n\n")
	for _, n := range b.Components.Responses.names {
		fmt.Fprintf(b, "- %s: %s\n", n, oneLine(b.Components.Responses.values[n].Description))
	}
	b.WriteByte('\n')
}

// shared reports whether a parameter is a header that nearly every operation
// takes.
func shared(p parameter) bool {
	switch p.Name {
	case "X-Rail-Version", "Rail-Signature", "Rail-Position", "Idempotency-Key":
		return p.In == "header" && !p.Required
	}
	return false
}

// operation writes one operation. Responses that are references are error responses:
// operation only lists their names, because common describes them.
func (b *reference) operation(method, path string, op operation) {
	fmt.Fprintf(b, "### %s %s\n\n%s%s. %s\n\n", method, path, op.Summary, notes(op), oneLine(op.Description))
	for _, p := range op.Parameters {
		if p = b.follow(p); !shared(p) {
			b.parameter(p)
		}
	}
	b.body(op.RequestBody)
	b.WriteByte('\n')
	var refusals []string
	for _, status := range op.Responses.names {
		r := op.Responses.values[status]
		if r.Ref != "" {
			refusals = append(refusals, status+" "+name(r.Ref))
			continue
		}
		b.answer(status, r)
	}
	if len(refusals) > 0 {
		fmt.Fprintf(b, "Refusals: %s.\n", strings.Join(refusals, ", "))
	}
	b.example(method, path, op)
	b.WriteByte('\n')
}

// parameter writes a parameter on one line.
func (b *reference) parameter(p parameter) {
	fmt.Fprintf(b, "- `%s` (%s, %s%s): %s\n", p.Name, p.In, p.Schema.shape(), mark(p.Required, ", required"),
		oneLine(p.Description))
}

// body writes the fields of a request body.
func (b *reference) body(rb *body) {
	if rb == nil {
		return
	}
	for _, content := range rb.Content {
		s := content.Schema
		if s.Ref != "" {
			b.bodies[name(s.Ref)] = true
			s = b.Components.Schemas.values[name(s.Ref)]
		}
		fmt.Fprintf(b, "\nBody%s: %s\n", mark(!rb.Required, " (optional)"), oneLine(s.Description))
		b.fields(s)
	}
}

// answer writes a response on one line.
func (b *reference) answer(status string, r response) {
	shape := ""
	for _, content := range r.Content {
		shape = " " + content.Schema.shape() + "."
	}
	fmt.Fprintf(b, "%s: %s%s\n", status, oneLine(r.Description), shape)
}

// events writes every event with the fields of its body.
func (b *reference) events() {
	b.WriteString("## Events\n\n")
	for _, event := range b.Webhooks.names {
		op := b.Webhooks.values[event].Post
		fmt.Fprintf(b, "### %s\n\n%s. %s\n", event, op.Summary, oneLine(op.Description))
		b.body(op.RequestBody)
		b.WriteByte('\n')
	}
}

// objects writes the schemas named in only, or all schemas if only is nil. It skips the
// schemas that a body has already described.
func (b *reference) objects(only map[string]bool) {
	b.WriteString("## Objects\n\n")
	for _, n := range b.Components.Schemas.names {
		if b.bodies[n] || only != nil && !only[n] {
			continue
		}
		s := b.Components.Schemas.values[n]
		fmt.Fprintf(b, "### %s\n\n%s\n", n, oneLine(s.Description))
		if len(s.Properties.names) == 0 {
			fmt.Fprintf(b, "%s\n", s.shape())
		}
		b.fields(s)
		b.WriteByte('\n')
	}
}

// fields writes one line for each field. A field without a description uses the
// description of the schema that it refers to.
func (b *reference) fields(s schema) {
	for _, n := range s.Properties.names {
		p := s.Properties.values[n]
		text := p.Description
		if text == "" && p.Ref != "" {
			text = b.Components.Schemas.values[name(p.Ref)].Description
		}
		fmt.Fprintf(b, "- `%s` (%s%s%s): %s\n", n, p.shape(), mark(slices.Contains(s.Required, n), ", required"),
			mark(p.Additive, ", addition"), oneLine(text))
	}
}

// mark returns text if when is true, or "".
func mark(when bool, text string) string {
	if when {
		return text
	}
	return ""
}

// oneLine joins the lines of a description.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
