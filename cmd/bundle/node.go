package main

import (
	"iter"

	"go.yaml.in/yaml/v3"
)

// members ranges over the keys and values of a mapping, in their order. A nil mapping has none.
func members(n *yaml.Node) iter.Seq2[string, *yaml.Node] {
	return func(yield func(string, *yaml.Node) bool) {
		for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

// get returns the value of k, or nil.
func get(n *yaml.Node, k string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for key, v := range members(n) {
		if key == k {
			return v
		}
	}
	return nil
}

// set replaces the value of k, or appends it.
func set(n *yaml.Node, k string, v *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == k {
			n.Content[i+1] = v
			return
		}
	}
	n.Content = append(n.Content, text(k), v)
}

// remove removes k, if it is there.
func remove(n *yaml.Node, k string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == k {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}

// clone returns a copy that shares no node but the target of an alias.
func clone(n *yaml.Node) *yaml.Node {
	c := *n
	c.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		c.Content[i] = clone(child)
	}
	return &c
}

// mapping returns a mapping of pairs: a key, which is a string, and its value.
func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		set(n, pairs[i].(string), pairs[i+1].(*yaml.Node)) //nolint:forcetypeassert // as documented
	}
	return n
}

// text returns a node that is a string, whatever it looks like.
func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// texts returns the elements of a list, which may be absent.
func texts(n *yaml.Node) []string {
	if n == nil {
		return nil
	}
	var out []string
	for _, e := range n.Content {
		out = append(out, e.Value)
	}
	return out
}
