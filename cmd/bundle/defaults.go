package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// applyDefaults lays x-defaults of the root over every operation and removes
// it. Its keys are conditions; an operation gets the responses and parameters
// of each condition that it meets, unless it declares its own; a webhook gets
// those of "webhook".
func (b *bundler) applyDefaults(root *yaml.Node, file string) error {
	d := get(root, "x-defaults")
	if d == nil {
		return nil
	}
	// The defaults are applied and are not part of the contract.
	remove(root, "x-defaults")
	c, err := b.readCodes(d, file)
	if err != nil {
		return err
	}
	for path, item := range members(get(root, "paths")) {
		for _, method := range []string{"get", "post", "delete"} {
			op := get(item, method)
			if op == nil {
				continue
			}
			if get(op, "responses") == nil {
				return fmt.Errorf("%s %s: no responses", method, path)
			}
			if err := b.addTable(d, file, method, op); err != nil {
				return err
			}
			if err := defaultOperation(d, c, path, method, op); err != nil {
				return err
			}
		}
	}
	if err := b.addSharedHeaders(d, file); err != nil {
		return err
	}
	defaultWebhooks(get(d, "webhook"), get(root, "webhooks"))
	return nil
}

// defaultOperation adds the responses and parameters of all conditions met. Where two conditions have the same
// status, the first in this order gives the response.
func defaultOperation(d *yaml.Node, c *catalogue, path, method string, op *yaml.Node) error {
	security := get(op, "security")
	// An empty list of requirements is what OpenAPI has for an operation without authentication.
	public := security != nil && len(security.Content) == 0
	// A processor's signature replaces a key.
	hook := !public && security != nil && get(security.Content[0], "standardWebhooks") != nil
	// Pages have neither signatures nor replays.
	browser := !public && security != nil && get(security.Content[0], "publishable") != nil
	conditions := []struct {
		name string
		met  bool
	}{
		{"every", true},
		{"body", get(op, "requestBody") != nil && !hook},
		{"paged", paged(op)},
		{"browser", browser},
		{"authenticated", !public && !hook && !browser},
		{"scoped", !public && !hook && !unscoped(security)},
		{"byId", strings.Contains(path, "{")},
		{"post", method == "post" && !hook && !browser},
	}
	// First what is usual for such an operation, then its own codes and responses over it.
	usual := mapping()
	for _, condition := range conditions {
		if !condition.met {
			continue
		}
		rule := get(d, condition.name)
		addResponses(get(rule, "responses"), usual)
		addParameters(get(rule, "parameters"), op)
	}
	if err := c.place(op, usual, get(d, "coded")); err != nil {
		return err
	}
	sortResponses(get(op, "responses"))
	addBadge(op)
	addHeaders(d, op, method == "post" && !hook && !browser, method != "get" && !public && !hook && !browser)
	return nil
}

// addBadge gives an operation with x-audience a badge with the name of the audience, which the reference shows.
func addBadge(op *yaml.Node) {
	audience := get(op, "x-audience")
	if audience == nil {
		return
	}
	badge := mapping()
	set(badge, "name", clone(audience))
	set(op, "x-badges", &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{badge}})
}

// defaultWebhooks adds the parameters and responses common to all webhooks.
func defaultWebhooks(rule, hooks *yaml.Node) {
	if hooks == nil {
		return
	}
	for i := 1; i < len(hooks.Content); i += 2 {
		op := get(hooks.Content[i], "post")
		addParameters(get(rule, "parameters"), op)
		// A webhook's response is the receiver's; all receivers answer alike.
		set(op, "responses", clone(get(rule, "responses")))
	}
}

// paged reports whether the operation is a list with cursors.
func paged(op *yaml.Node) bool {
	list := get(op, "parameters")
	return list != nil && slices.ContainsFunc(list.Content, func(p *yaml.Node) bool {
		ref := get(p, "$ref")
		// Every list by cursor has this parameter, and nothing else does.
		return ref != nil && strings.HasSuffix(ref.Value, "StartingAfter")
	})
}

// unscoped reports whether a key of any scopes is admitted: a security requirement without scopes.
func unscoped(security *yaml.Node) bool {
	for _, alternative := range security.Content {
		for i := 1; i < len(alternative.Content); i += 2 {
			if len(alternative.Content[i].Content) == 0 {
				return true
			}
		}
	}
	return false
}

// addResponses adds copies of those responses whose status to does not have.
func addResponses(from, to *yaml.Node) {
	if from == nil {
		return
	}
	for i := 0; i+1 < len(from.Content); i += 2 {
		if get(to, from.Content[i].Value) == nil {
			set(to, from.Content[i].Value, clone(from.Content[i+1]))
		}
	}
}

// addParameters appends copies of parameters to those of an operation.
func addParameters(from, op *yaml.Node) {
	if from == nil {
		return
	}
	list := get(op, "parameters")
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		set(op, "parameters", list)
	}
	// Copies, since references in them are rewritten later, for each operation in its place.
	for _, p := range from.Content {
		list.Content = append(list.Content, clone(p))
	}
}

// sortResponses orders an operation's responses by status.
func sortResponses(n *yaml.Node) {
	type pair struct{ k, v *yaml.Node }
	pairs := make([]pair, 0, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		// The statuses are strings in the contract, where YAML would have numbers.
		n.Content[i].Tag, n.Content[i].Style = "!!str", yaml.SingleQuotedStyle
		pairs = append(pairs, pair{n.Content[i], n.Content[i+1]})
	}
	sort.SliceStable(pairs, func(i, j int) bool { return pairs[i].k.Value < pairs[j].k.Value })
	n.Content = n.Content[:0]
	for _, p := range pairs {
		n.Content = append(n.Content, p.k, p.v)
	}
}
