// Command bundle joins the split OpenAPI description into one document.
//
//	bundle openapi/openapi.yaml openapi/bundle.json
//
// A reference FILE#/Name becomes #/components/KIND/Name, where KIND is the
// folder (schemas/partners.yaml) or the base name (responses.yaml) of FILE; a
// referenced path item replaces its reference. The headers and refusals common to
// all operations are written once, under x-defaults of the root, and added to the
// operations here, so that none can lack them. Events work alike: webhooks.yaml
// has only what differs between them.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bundle openapi.yaml bundle.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// run bundles the description at in and writes it to out as indented JSON. The same input gives the same bytes:
// the bundle is under version control.
func run(in, out string) error {
	root, err := bundle(in)
	if err != nil {
		return err
	}
	var flat, pretty bytes.Buffer
	if err := writeJSON(&flat, root); err != nil {
		return err
	}
	// Indented by one space: the bundle is large, and read by people in diffs.
	if err := json.Indent(&pretty, flat.Bytes(), "", " "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	return os.WriteFile(out, pretty.Bytes(), 0o644) // it is public
}

// writeJSON writes a YAML node as JSON and keeps the order of its keys.
func writeJSON(w *bytes.Buffer, n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		return writeJSON(w, n.Alias)
	case yaml.MappingNode:
		return writeMapping(w, n)
	case yaml.SequenceNode:
		return writeSequence(w, n)
	default:
		return writeScalar(w, n)
	}
}

// writeMapping writes an object. encoding/json would sort its keys.
func writeMapping(w *bytes.Buffer, n *yaml.Node) error {
	w.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		if i > 0 {
			w.WriteByte(',')
		}
		key, err := json.Marshal(n.Content[i].Value)
		if err != nil {
			return err
		}
		w.Write(key)
		w.WriteByte(':')
		if err := writeJSON(w, n.Content[i+1]); err != nil {
			return err
		}
	}
	w.WriteByte('}')
	return nil
}

// writeSequence writes an array.
func writeSequence(w *bytes.Buffer, n *yaml.Node) error {
	w.WriteByte('[')
	for i, c := range n.Content {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := writeJSON(w, c); err != nil {
			return err
		}
	}
	w.WriteByte(']')
	return nil
}

// writeScalar writes a string, number, boolean or null, as YAML reads it.
func writeScalar(w *bytes.Buffer, n *yaml.Node) error {
	var v any
	if err := n.Decode(&v); err != nil {
		return err
	}
	if n.Tag == "!!timestamp" { // in JSON an example such as 2026-01-01 is a string
		v = n.Value
	}
	// Unescaped, as texts with <, > and & are easier to read; the bundle is never a part of a page.
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
