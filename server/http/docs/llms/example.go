package llms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// example writes an example request of the operation and its response.
func (b *reference) example(method, path string, op operation) {
	fmt.Fprintf(b, "\nExample:\n\n    %s %s\n", method, b.target(path, op))
	if op.RequestBody != nil {
		b.sample(op.RequestBody.Content, "")
	}
	for _, status := range op.Responses.names {
		// Statuses have three digits, so a status below "3" is a success. One example is enough.
		if status < "3" {
			b.sample(op.Responses.values[status].Content, status+" ")
			return
		}
	}
}

// target returns the path with an example id and the required query parameters.
func (d *description) target(path string, op operation) string {
	query := url.Values{}
	for _, p := range op.Parameters {
		if p = d.follow(p); p.Required && p.In == "query" {
			query.Set(p.Name, fmt.Sprint(p.Example))
		}
	}
	// Actions on an object, such as /v1/sales/{id}/refund, use the same id.
	resource, _, _ := strings.Cut(path, "/{id}")
	if id := d.shownAt(resource + "/{id}"); id != "" {
		path = strings.Replace(path, "{id}", id, 1)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path
}

// shownAt returns the id in the example response of GET path, or "". All examples of a
// resource use this id, so that they show the same object.
func (d *description) shownAt(path string) string {
	var shown struct{ ID string }
	if get := d.Paths.values[path].Get; get != nil {
		if raw := first(get.Responses.values["200"].Content); raw != nil {
			_ = json.Unmarshal(raw, &shown) // an example without an id leaves the ID empty
		}
	}
	return shown.ID
}

// sample writes the first example of a body on one line.
func (b *reference) sample(of map[string]content, label string) {
	raw := first(of)
	if raw == nil {
		return
	}
	var line bytes.Buffer
	if err := json.Compact(&line, shortened(raw)); err == nil {
		fmt.Fprintf(b, "    %s%s\n", label, line.Bytes())
	}
}

// first returns the first example of a body, or nil if there is none.
func first(of map[string]content) json.RawMessage {
	for _, c := range of {
		for _, name := range c.Examples.names {
			return c.Examples.values[name].Value
		}
	}
	return nil
}

// shortened removes all but the first object from a list. One object is enough to show
// the fields, and fifty would fill most of the text.
func shortened(raw json.RawMessage) json.RawMessage {
	var list struct {
		Data       []json.RawMessage `json:"data"`
		HasMore    bool              `json:"has_more"`
		TotalCount int               `json:"total_count"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list.Data) < 2 {
		return raw
	}
	list.Data = list.Data[:1]
	short, err := json.Marshal(list)
	if err != nil {
		return raw
	}
	return short
}

// reachable returns the names of the schemas that the operations of a tag refer to,
// directly or through other schemas.
func (d *description) reachable(tag string) map[string]bool {
	seen := map[string]bool{}
	d.each(tag, func(_, _ string, op operation) {
		for _, p := range op.Parameters {
			d.reach(d.follow(p).Schema, seen)
		}
		if op.RequestBody != nil {
			d.reachContent(op.RequestBody.Content, seen)
		}
		for _, r := range op.Responses.values {
			d.reachContent(r.Content, seen)
		}
	})
	return seen
}

// reachContent adds the schemas that a body refers to.
func (d *description) reachContent(of map[string]content, seen map[string]bool) {
	for _, c := range of {
		d.reach(c.Schema, seen)
	}
}

// reach adds the schemas that s refers to. It skips the names in seen, because schemas
// can be recursive.
func (d *description) reach(s schema, seen map[string]bool) {
	if s.Ref != "" {
		if n := name(s.Ref); !seen[n] {
			seen[n] = true
			d.reach(d.Components.Schemas.values[n], seen)
		}
		return
	}
	if s.Items != nil {
		d.reach(*s.Items, seen)
	}
	for _, choice := range s.OneOf {
		d.reach(choice, seen)
	}
	for _, member := range s.Properties.values {
		d.reach(member, seen)
	}
}
