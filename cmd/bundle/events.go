package main

import (
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// placeWebhooks makes the root's webhooks of the file that they refer to, which has
// of each event what is its own: its summary and description, an example of its
// data and the name of the data's schema. What all have in common is in x-defaults,
// and in the file of their schemas, which gets a body for each, the list of types
// and the list of bodies.
func (b *bundler) placeWebhooks(root *yaml.Node, file string) error {
	ref := get(get(root, "webhooks"), "$ref")
	if ref == nil {
		return nil
	}
	events, err := b.load(filepath.Join(filepath.Dir(file), ref.Value))
	if err != nil {
		return err
	}
	common := get(get(root, "x-defaults"), "webhook")
	schemas, err := b.load(filepath.Join(filepath.Dir(file), get(common, "schemas").Value))
	if err != nil {
		return err
	}
	hooks := mapping()
	for kind, e := range members(events) {
		// The name of the body's schema, which clients get as a type.
		body := camel(kind) + "Event"
		set(hooks, kind, webhook(kind, e, common, body))
		addBody(schemas, kind, e, body)
	}
	remove(schemas, "x-event")
	set(root, "webhooks", hooks)
	fillCatalogue(root, hooks)
	for _, item := range get(root, "paths").Content {
		fillCatalogue(item, hooks)
	}
	return nil
}

// webhook is the operation of an event, whose body has a schema of the name.
func webhook(kind string, e, common *yaml.Node, body string) *yaml.Node {
	op := mapping("operationId", text("on"+camel(kind)))
	// Its extensions go with it: who may receive the event is a part of the contract.
	for name, value := range members(e) {
		if name == "summary" || name == "description" || strings.HasPrefix(name, "x-") {
			set(op, name, value)
		}
	}
	for _, name := range []string{"tags", "security"} {
		set(op, name, clone(get(common, name)))
	}
	content := mapping("schema", mapping("$ref", text(get(common, "schemas").Value+"#/"+body)),
		"examples", mapping("ok", mapping("value", bodyOf(kind, e, get(common, "example")))))
	set(op, "requestBody", mapping("required", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"},
		"content", mapping("application/json", content)))
	return mapping("post", op)
}

// bodyOf is the example of a body: the data of the event within what all have.
func bodyOf(kind string, e, common *yaml.Node) *yaml.Node {
	// An event of a job has a run's id in its example, most have a request's.
	request := get(e, "request")
	if request == nil {
		request = get(common, "request")
	}
	return mapping("id", get(common, "id"), "type", text(kind), "created_at", get(common, "created_at"),
		"data", get(e, "data"), "request", mapping("id", request))
}

// addBody adds the body of an event to the schemas: the template x-event with its
// type and the schema of its data, and a line of each list.
func addBody(schemas *yaml.Node, kind string, e *yaml.Node, body string) {
	data := camel(kind) + "Data"
	if named := get(e, "schema"); named != nil {
		data = named.Value
	}
	schema := clone(get(schemas, "x-event"))
	// The parts in braces differ between events.
	fillIn(schema, strings.NewReplacer("{type}", kind, "{schema}", data))
	set(schemas, body, schema)
	types, bodies := get(get(schemas, "EventName"), "enum"), get(get(schemas, "Event"), "oneOf")
	types.Content = append(types.Content, text(kind))
	bodies.Content = append(bodies.Content, mapping("$ref", text("#/"+body)))
	set(get(get(get(schemas, "Event"), "discriminator"), "mapping"), kind, text("#/components/schemas/"+body))
}

// fillIn replaces the placeholders in every value under n.
func fillIn(n *yaml.Node, by *strings.Replacer) {
	if n.Kind == yaml.ScalarNode {
		n.Value = by.Replace(n.Value)
	}
	for _, c := range n.Content {
		fillIn(c, by)
	}
}

// fillCatalogue puts the catalogue of events, as the API lists it, where a list has the tag !events, and its length
// where a number has it. So the example of that list cannot lack an event.
func fillCatalogue(n, hooks *yaml.Node) {
	if n.Tag == "!events" && n.Kind == yaml.ScalarNode {
		n.Tag, n.Value = "!!int", strconv.Itoa(len(hooks.Content)/2)
	}
	if n.Tag == "!events" && n.Kind == yaml.SequenceNode {
		n.Tag = "!!seq"
		for kind, hook := range members(hooks) {
			n.Content = append(n.Content, catalogued(kind, get(hook, "post")))
		}
		return
	}
	for _, c := range n.Content {
		fillCatalogue(c, hooks)
	}
}

// catalogued is an event as the catalogue of the API has it.
func catalogued(kind string, op *yaml.Node) *yaml.Node {
	visible := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
	if v := get(op, "x-partner-visible"); v != nil {
		visible = v
	}
	content := get(get(get(op, "requestBody"), "content"), "application/json")
	return mapping("object", text("webhook_event_type"), "type", text(kind), "description", get(op, "description"),
		"partner_eligible", visible, "example", get(get(get(content, "examples"), "ok"), "value"))
}

// camel turns sale.created into SaleCreated.
func camel(kind string) string {
	var w strings.Builder
	for _, word := range strings.FieldsFunc(kind, func(r rune) bool { return r == '.' || r == '_' }) {
		w.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return w.String()
}
