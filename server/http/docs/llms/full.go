// Package llms writes the API reference as plain text, for language models and for
// people who read in a terminal. Short returns an overview with one line for each
// operation. Full returns everything.
package llms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"rail/server/http/docs/description"
)

// reference builds the text of Full or of one part.
type reference struct {
	*description.Document
	strings.Builder
	bodies map[string]bool // the schemas that an operation's body has already described
}

// Full returns the whole reference: every operation with its parameters, body,
// responses and an example, every event, and every object with its fields. It begins
// with the headers and errors that all operations share.
func Full(bundle []byte) (string, error) {
	d, err := description.Parse(bundle)
	if err != nil {
		return "", err
	}
	b := &reference{Document: d, bodies: map[string]bool{}}
	head(&b.Builder, d)
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
	d, err := description.Parse(bundle)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, tag := range d.Tags {
		b := &reference{Document: d, bodies: map[string]bool{}}
		fmt.Fprintf(b,
			"# %s: %s\n\nVersion %s. A part of /llms-full.txt, which begins with what all operations have in common.\n\n",
			d.Info.Title, tag.Name, d.Info.Version)
		b.tag(tag.Name, tag.Description)
		b.objects(d.Reachable(tag.Name))
		out[tag.Name] = b.String()
	}
	return out, nil
}

// tag writes the operations of a tag.
func (b *reference) tag(name, description string) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", name, description)
	b.Each(name, b.operation)
}

// common writes the headers and the error responses that operations share.
func (b *reference) common() {
	b.WriteString("## Request headers\n\n")
	for _, n := range b.Components.Parameters.Names {
		if p := b.Components.Parameters.Values[n]; p.Shared() {
			b.parameter(p)
		}
	}
	b.WriteString("\n## Refusals\n\nAll answer an ErrorEnvelope.\n\n")
	for _, n := range b.Components.Responses.Names {
		fmt.Fprintf(b, "- %s: %s\n", n, oneLine(b.Components.Responses.Values[n].Description))
	}
	b.WriteByte('\n')
}

// operation writes one operation. Responses that are references are error responses:
// operation only lists their names, because common describes them.
func (b *reference) operation(method, path string, op description.Operation) {
	fmt.Fprintf(b, "### %s %s\n\n%s%s. %s\n\n", method, path, op.Summary, op.Notes(), oneLine(op.Description))
	for _, p := range op.Parameters {
		if p = b.Follow(p); !p.Shared() {
			b.parameter(p)
		}
	}
	b.body(op.RequestBody)
	b.WriteByte('\n')
	var refusals []string
	for _, status := range op.Responses.Names {
		r := op.Responses.Values[status]
		if r.Ref != "" {
			refusals = append(refusals, status+" "+description.Name(r.Ref))
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
func (b *reference) parameter(p description.Parameter) {
	fmt.Fprintf(b, "- `%s` (%s, %s%s): %s\n", p.Name, p.In, p.Schema.Shape(), mark(p.Required, ", required"),
		oneLine(p.Description))
}

// body writes the fields of a request body.
func (b *reference) body(rb *description.Body) {
	if rb == nil {
		return
	}
	for _, content := range rb.Content.All() {
		s := content.Schema
		if s.Ref != "" {
			b.bodies[description.Name(s.Ref)] = true
			s = b.Components.Schemas.Values[description.Name(s.Ref)]
		}
		fmt.Fprintf(b, "\nBody%s: %s\n", mark(!rb.Required, " (optional)"), oneLine(s.Description))
		b.fields(s)
	}
}

// answer writes a response on one line.
func (b *reference) answer(status string, r description.Response) {
	shape := ""
	if all := r.Content.All(); len(all) > 0 {
		shape = " " + all[0].Schema.Shape() + "."
	}
	fmt.Fprintf(b, "%s: %s%s\n", status, oneLine(r.Description), shape)
}

// example writes an example request of the operation and its response. One example is enough.
func (b *reference) example(method, path string, op description.Operation) {
	fmt.Fprintf(b, "\nExample:\n\n    %s %s\n", method, b.Target(path, op))
	if op.RequestBody != nil {
		b.sample(op.RequestBody.Content, "")
	}
	if status, r := op.Success(); status != "" {
		b.sample(r.Content, status+" ")
	}
}

// sample writes the first example of a body on one line.
func (b *reference) sample(of description.Media, label string) {
	raw := of.Example()
	if raw == nil {
		return
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err == nil {
		fmt.Fprintf(b, "    %s%s\n", label, line.Bytes())
	}
}

// events writes every event with the fields of its body.
func (b *reference) events() {
	b.WriteString("## Events\n\n")
	for _, event := range b.Webhooks.Names {
		op := b.Webhooks.Values[event].Post
		fmt.Fprintf(b, "### %s\n\n%s. %s\n", event, op.Summary, oneLine(op.Description))
		b.body(op.RequestBody)
		b.WriteByte('\n')
	}
}

// objects writes the schemas named in only, or all schemas if only is nil. It skips the
// schemas that a body has already described.
func (b *reference) objects(only map[string]bool) {
	b.WriteString("## Objects\n\n")
	for _, n := range b.Components.Schemas.Names {
		if b.bodies[n] || only != nil && !only[n] {
			continue
		}
		s := b.Components.Schemas.Values[n]
		fmt.Fprintf(b, "### %s\n\n%s\n", n, oneLine(s.Description))
		if len(s.Properties.Names) == 0 {
			fmt.Fprintf(b, "%s\n", s.Shape())
		}
		b.fields(s)
		b.WriteByte('\n')
	}
}

// fields writes one line for each field. A field without a description uses the
// description of the schema that it refers to.
func (b *reference) fields(s description.Schema) {
	for _, n := range s.Properties.Names {
		p := s.Properties.Values[n]
		text := p.Description
		if text == "" && p.Ref != "" {
			text = b.Components.Schemas.Values[description.Name(p.Ref)].Description
		}
		fmt.Fprintf(b, "- `%s` (%s%s%s): %s\n", n, p.Shape(), mark(slices.Contains(s.Required, n), ", required"),
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
