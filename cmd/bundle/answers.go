package main

import (
	"go.yaml.in/yaml/v3"
)

// addHeaders adds the headers of x-defaults to an operation's own responses, by status and,
// for a success, by kind of operation.
func addHeaders(d, op *yaml.Node, post, write bool) {
	rules := get(d, "headers")
	for status, r := range members(get(op, "responses")) {
		if get(r, "$ref") != nil {
			continue
		}
		sets := []*yaml.Node{get(rules, status)}
		if status < "4" {
			sets = append(sets, get(rules, "success"))
		}
		if status < "3" && post {
			sets = append(sets, get(rules, "replayed"))
		}
		if status < "3" && write {
			sets = append(sets, get(rules, "written"))
		}
		lay(r, sets)
	}
}

// addSharedHeaders adds the headers of its status to each response that operations
// share. Where x-defaults uses one tells its status.
func (b *bundler) addSharedHeaders(d *yaml.Node, file string) error {
	rules := get(d, "headers")
	if rules == nil {
		return nil
	}
	for name, rule := range members(d) {
		uses := get(rule, "responses")
		if name == "coded" {
			uses = rule
		}
		if name == "webhook" {
			continue // whose answers are the receiver's
		}
		for status, r := range members(uses) {
			ref := get(r, "$ref")
			if ref == nil {
				continue
			}
			target, shared := b.split(ref.Value, file)
			response, err := b.lookup(target, shared, file, ref)
			if err != nil {
				return err
			}
			lay(response, []*yaml.Node{get(rules, status)})
		}
	}
	return nil
}

// lay appends copies of headers to a response.
func lay(r *yaml.Node, sets []*yaml.Node) {
	headers := get(r, "headers")
	if headers == nil {
		headers = mapping()
	}
	for _, from := range sets {
		for name, h := range members(from) {
			if get(headers, name) == nil {
				set(headers, name, clone(h))
			}
		}
	}
	if len(headers.Content) > 0 {
		set(r, "headers", headers)
	}
}

// addTable adds to a list or a report that it is a table too: the parameter and the
// second content of its success.
func (b *bundler) addTable(d *yaml.Node, file, method string, op *yaml.Node) error {
	rule, ok := get(d, "table"), get(get(op, "responses"), "200")
	schema := get(get(get(ok, "content"), "application/json"), "schema")
	if rule == nil || method != "get" || schema == nil {
		return nil
	}
	if ref := get(schema, "$ref"); ref != nil {
		target, name := b.split(ref.Value, file)
		var err error
		if schema, err = b.lookup(target, name, file, ref); err != nil {
			return err
		}
	}
	rows := "rows"
	if get(get(schema, "properties"), "has_more") != nil {
		rows = "data"
	}
	if get(get(get(schema, "properties"), rows), "items") == nil {
		return nil
	}
	addParameters(get(rule, "parameters"), op)
	for kind, content := range members(get(rule, "content")) {
		set(get(ok, "content"), kind, clone(content))
	}
	return nil
}
