package description

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Target returns the path with an example id and the required query parameters.
func (d *Document) Target(path string, op Operation) string {
	query := url.Values{}
	for _, p := range op.Parameters {
		if p = d.Follow(p); p.Required && p.In == "query" {
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
func (d *Document) shownAt(path string) string {
	var shown struct{ ID string }
	if get := d.Paths.Values[path].Get; get != nil {
		if raw := get.Responses.Values["200"].Content.Example(); raw != nil {
			_ = json.Unmarshal(raw, &shown) // an example without an id leaves the ID empty
		}
	}
	return shown.ID
}

// Success returns the status of the operation's first successful response, and the response.
func (op Operation) Success() (status string, r Response) {
	for _, status := range op.Responses.Names {
		// Statuses have three digits, so a status below "3" is a success.
		if status < "3" {
			return status, op.Responses.Values[status]
		}
	}
	return "", Response{}
}

// Example returns the first example of a body, with one object of a list, or nil if there is none.
func (m Media) Example() json.RawMessage {
	for _, c := range m.All() {
		for _, name := range c.Examples.Names {
			return shortened(c.Examples.Values[name].Value)
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
