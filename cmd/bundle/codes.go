package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// catalogue has the error codes with their statuses and examples, and the shared
// responses with their codes.
type catalogue struct {
	status   map[string]string // by code
	examples *yaml.Node        // components.examples
	shared   map[string]refusal
}

// refusal is a response of responses.yaml before its codes are filled in.
type refusal struct {
	description string
	codes       []string
}

// readCodes reads the codes and the responses of x-defaults, and completes the responses with their codes.
// A description without codes, as in tests, gets none.
func (b *bundler) readCodes(d *yaml.Node, file string) (*catalogue, error) {
	c := &catalogue{status: map[string]string{}, examples: mapping(), shared: map[string]refusal{}}
	if get(d, "codes") == nil {
		return c, nil
	}
	groups, err := b.load(filepath.Join(filepath.Dir(file), get(d, "codes").Value))
	if err != nil {
		return nil, err
	}
	for status, group := range members(groups) {
		for code, fields := range members(get(group, "codes")) {
			c.status[code] = status
			set(c.examples, code, example(get(group, "type"), code, fields))
		}
	}
	responses, err := b.load(filepath.Join(filepath.Dir(file), "responses.yaml"))
	if err != nil {
		return nil, err
	}
	for name, r := range members(responses) {
		c.shared[name] = refusal{get(r, "description").Value, texts(get(r, "x-codes"))}
		remove(r, "x-codes")
		c.complete(r, c.shared[name])
	}
	b.comps["examples"] = c.examples
	return c, nil
}

// example returns an example of an answer with a code. fields is its message, or a
// mapping of message and param.
func example(kind *yaml.Node, code string, fields *yaml.Node) *yaml.Node {
	body := mapping("type", kind, "code", text(code))
	if fields.Kind == yaml.ScalarNode {
		set(body, "message", fields)
	} else {
		body.Content = append(body.Content, fields.Content...)
	}
	set(body, "request_id", text("req_01kb2m4q8e7v9t3n5x6c0d1f2g"))
	return mapping("value", mapping("error", body))
}

// place adds the usual responses to the operation, and to each response the operation's x-codes with its status. A
// response by reference that gets further codes becomes a copy, because others share the original.
func (c *catalogue) place(op, usual, coded *yaml.Node) error {
	own := map[string][]string{}
	for _, code := range texts(get(op, "x-codes")) {
		status := c.status[code]
		own[status] = append(own[status], code)
		// The status of a code brings its response, in case no condition has.
		if get(usual, status) != nil {
			continue
		}
		if get(coded, status) == nil {
			return fmt.Errorf("%s: the code %s is not known", get(op, "operationId").Value, code)
		}
		set(usual, status, clone(get(coded, status)))
	}
	// An extension for this command alone; clients would see it.
	remove(op, "x-codes")
	responses := get(op, "responses")
	addResponses(usual, responses)
	for i := 0; i+1 < len(responses.Content); i += 2 {
		status, r := responses.Content[i].Value, responses.Content[i+1]
		ref := get(r, "$ref")
		// No codes to add to the shared response; a success has none.
		if ref != nil && own[status] == nil || status < "4" {
			continue
		}
		// The shared response that this one is a form of, whose codes it gets as well.
		like := get(get(usual, status), "$ref")
		if ref != nil {
			like, r = ref, mapping()
			responses.Content[i+1] = r
		}
		if like == nil && get(r, "content") != nil {
			continue // written out, with its codes
		}
		if like == nil {
			return fmt.Errorf("%s: no response lists the codes of its %s", get(op, "operationId").Value, status)
		}
		_, name, _ := strings.Cut(like.Value, "#/")
		c.complete(r, refusal{c.shared[name].description, slices.Concat(own[status], c.shared[name].codes)})
	}
	return nil
}

// complete adds to a response what follows from its codes: the schema, an example of each code under its name,
// and the codes at the end of the description. Examples that are written there go first, and are not replaced.
func (c *catalogue) complete(r *yaml.Node, as refusal) {
	description := as.description
	if own := get(r, "description"); own != nil {
		description = own.Value
	}
	if len(as.codes) > 0 {
		description += " Codes: `" + strings.Join(as.codes, "`, `") + "`."
	}
	set(r, "description", text(description))
	if get(r, "content") == nil {
		envelope := mapping("$ref", text("./schemas/errors.yaml#/ErrorEnvelope"))
		set(r, "content", mapping("application/json", mapping("schema", envelope)))
	}
	body := get(get(r, "content"), "application/json")
	examples := mapping()
	for _, code := range as.codes {
		if get(get(body, "examples"), code) == nil {
			set(examples, code, mapping("$ref", text("#/components/examples/"+code)))
		}
	}
	if own := get(body, "examples"); own != nil {
		examples.Content = slices.Concat(own.Content, examples.Content)
	}
	set(body, "examples", examples)
}
