package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// example reads the values of a call: those of its path, of the required parameters of its query, and its first bodies.
func (r *reader) example(m *Method, c call) error {
	m.Example = Example{Path: map[string]Value{}, Query: map[string]Value{}}
	var err error
	if m.Body != nil {
		if m.Example.Body, err = r.first(c.RequestBody.Content["application/json"]); err != nil {
			return err
		}
		if m.Example.Body == nil {
			return fmt.Errorf("the body has no example")
		}
	}
	for _, one := range r.successes(c) {
		if m.Example.Answer == nil {
			if m.Example.Answer, err = r.first(one.Content["application/json"]); err != nil {
				return err
			}
		}
	}
	for _, p := range slices.Concat(c.shared, c.Parameters) {
		p = r.document.parameter(p)
		into := m.Example.Path
		if p.In == "query" && p.Required {
			into = m.Example.Query
		} else if p.In != "path" {
			continue
		}
		if into[p.Name], err = r.exampleOf(p, c); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// exampleOf returns a value of a parameter: its own example, the id of the example of the object at the path, the
// example of its type, or that of a member of the same name in the example of the object.
func (r *reader) exampleOf(p parameter, c call) (Value, error) {
	if len(p.Example) > 0 {
		return readValue(p.Example)
	}
	if len(p.Schema.Examples) > 0 {
		return readValue(p.Schema.Examples[0])
	}
	if p.Schema.Ref != "" {
		named, _ := r.document.Components.Schemas.get(last(p.Schema.Ref))
		if len(named.Examples) > 0 {
			return readValue(named.Examples[0])
		}
	}
	// Actions on an object, such as /v1/sales/{id}/refund, use the id of the sale that is shown.
	collection, _, _ := strings.Cut(c.path, "/{")
	object, err := r.shown(collection + "/{id}")
	if err != nil {
		return nil, err
	}
	if v := object.Get(p.Name); v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("there is no example")
}

// shown returns the object in the example of an answer to GET of a path, or nil.
func (r *reader) shown(path string) (Members, error) {
	item, _ := r.document.Paths.get(path)
	raw, ok := item.get("get")
	if !ok {
		return nil, nil
	}
	var get operation
	if err := json.Unmarshal(raw, &get); err != nil {
		return nil, err
	}
	ok200, _ := get.Responses.get("200")
	v, err := r.first(ok200.Content["application/json"])
	object, _ := v.(Members)
	return object, err
}

// first returns the first example of a content, or nil.
func (r *reader) first(c content) (Value, error) {
	if len(c.Examples) == 0 {
		return nil, nil
	}
	return readValue(r.document.example(c.Examples[0].Value).Value)
}

// events reads the webhooks.
func (r *reader) events() error {
	for _, w := range r.document.Webhooks {
		post := w.Value.Post
		if post.RequestBody == nil {
			return fmt.Errorf("%s has no body", w.Name)
		}
		body := post.RequestBody.Content["application/json"]
		sent, err := r.first(body)
		if err != nil {
			return err
		}
		data, _ := r.model.Follow(Shape{Kind: Named, Name: last(body.Schema.Ref)}).member("data")
		if data.Shape.Kind != Named {
			return fmt.Errorf("the data of %s has no named type", w.Name)
		}
		r.model.Events = append(r.model.Events, Event{
			Name: w.Name, Summary: post.Summary, Description: post.Description,
			Type: last(body.Schema.Ref), Data: data.Shape.Name, Example: sent,
		})
	}
	return nil
}

// codes reads the closed list of codes, with the type, the statuses and a message of each from the examples of errors.
func (r *reader) codes() error {
	list := r.model.Type("ErrorCode")
	if list == nil {
		return fmt.Errorf("there is no ErrorCode")
	}
	found := map[string]*Code{}
	for _, name := range list.Shape.Values {
		r.model.Codes = append(r.model.Codes, Code{Name: name})
	}
	for i := range r.model.Codes {
		found[r.model.Codes[i].Name] = &r.model.Codes[i]
	}
	calls, err := r.calls()
	if err != nil {
		return err
	}
	for _, c := range calls {
		for _, one := range c.Responses {
			if err := r.refusal(one.Name, r.document.response(one.Value), found); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
		}
	}
	return nil
}

// refusal adds the status and the examples of a response to the codes.
func (r *reader) refusal(status string, of response, codes map[string]*Code) error {
	number, err := strconv.Atoi(status)
	if err != nil || number < 400 {
		return err
	}
	for _, e := range of.Content["application/json"].Examples {
		var body struct {
			Error struct{ Type, Code, Message string }
		}
		if err := json.Unmarshal(r.document.example(e.Value).Value, &body); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		code := codes[body.Error.Code]
		if code == nil {
			return fmt.Errorf("the code %q is not in the list", body.Error.Code)
		}
		code.Type, code.Message = body.Error.Type, body.Error.Message
		if !slices.Contains(code.Statuses, number) {
			code.Statuses = append(code.Statuses, number)
			slices.Sort(code.Statuses)
		}
	}
	return nil
}
