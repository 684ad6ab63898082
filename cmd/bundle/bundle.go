package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kinds lists the component kinds in the order in which they are written.
var kinds = []string{"parameters", "headers", "responses", "requestBodies", "examples", "schemas"}

// bundler collects the targets of the references of a description. It keeps nodes, because Go types would lose the
// order of the keys, which people and generators see.
type bundler struct {
	files map[string]*yaml.Node // by cleaned path
	comps map[string]*yaml.Node // component kind to its mapping node
	from  map[string]string     // kind/name to the file that defines it
}

// bundle returns the root node of the joined description. The order of the steps matters: paths and
// webhooks bring operations in, the defaults are laid over all of them, and the references of all
// that are followed last.
func bundle(file string) (*yaml.Node, error) {
	b := &bundler{files: map[string]*yaml.Node{}, comps: map[string]*yaml.Node{}, from: map[string]string{}}
	root, err := b.load(file)
	if err != nil {
		return nil, err
	}
	comps := get(root, "components")
	if comps == nil {
		return nil, fmt.Errorf("%s: no components", file)
	}
	if err := b.placePaths(get(root, "paths"), file); err != nil {
		return nil, err
	}
	if err := b.placeWebhooks(root, file); err != nil {
		return nil, err
	}
	if err := b.applyDefaults(root, file); err != nil {
		return nil, err
	}
	if err := b.walk(root, file); err != nil {
		return nil, err
	}
	b.leaveUnusedExamples(root)
	// Kinds that the root has itself, such as security schemes, stay as they are.
	for _, k := range kinds {
		if n := b.comps[k]; n != nil {
			set(comps, k, n)
		}
	}
	return root, nil
}

// leaveUnusedExamples drops the examples that nothing refers to: those of codes for which
// every operation has its own, and of codes that no operation answers with.
func (b *bundler) leaveUnusedExamples(root *yaml.Node) {
	examples, used := b.comps["examples"], map[string]bool{}
	if examples == nil {
		return
	}
	var find func(n *yaml.Node)
	find = func(n *yaml.Node) {
		if ref := get(n, "$ref"); ref != nil {
			used[strings.TrimPrefix(ref.Value, "#/components/examples/")] = true
		}
		for _, c := range n.Content {
			find(c)
		}
	}
	find(root)
	for _, kind := range b.comps {
		find(kind)
	}
	for name := range members(clone(examples)) {
		if !used[name] {
			remove(examples, name)
		}
	}
}

// placePaths replaces each reference to a path item by a copy of the item
// whose own references are made relative to the root file.
func (b *bundler) placePaths(paths *yaml.Node, file string) error {
	for i := 0; i+1 < len(paths.Content); i += 2 {
		ref := get(paths.Content[i+1], "$ref")
		if ref == nil {
			continue
		}
		target, name := b.split(ref.Value, file)
		item, err := b.lookup(target, name, file, ref)
		if err != nil {
			return err
		}
		// The item moves into the root file, so its references must lead there from another folder.
		rebase(item, filepath.Dir(target), filepath.Dir(file))
		paths.Content[i+1] = item
	}
	return nil
}

// rebase rewrites the relative references under n from one folder to another.
func rebase(n *yaml.Node, from, to string) {
	if n.Kind == yaml.MappingNode {
		if r := get(n, "$ref"); r != nil && !strings.HasPrefix(r.Value, "#/components/") {
			f, frag, _ := strings.Cut(r.Value, "#/")
			if f != "" {
				if rel, err := filepath.Rel(to, filepath.Join(from, f)); err == nil {
					r.Value = rel + "#/" + frag
				}
			}
			return
		}
	}
	for _, c := range n.Content {
		rebase(c, from, to)
	}
}

// load returns the root node of a file; a file is read once, and its node shared.
func (b *bundler) load(f string) (*yaml.Node, error) {
	f = filepath.Clean(f)
	if n := b.files[f]; n != nil {
		return n, nil
	}
	raw, err := os.ReadFile(f)
	if err != nil {
		return nil, err
	}
	var d yaml.Node
	if err := yaml.Unmarshal(raw, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", f, err)
	}
	if len(d.Content) == 0 {
		return nil, fmt.Errorf("%s is empty", f)
	}
	// At once, so that nothing after this meets a merge key.
	merge(d.Content[0])
	b.files[f] = d.Content[0]
	return d.Content[0], nil
}

// merge inserts the members of a merge key (<<) before a mapping's own members. An own member of the same name takes
// precedence, at the other's position.
func merge(n *yaml.Node) {
	for _, c := range n.Content {
		merge(c)
	}
	from := get(n, "<<")
	if from == nil || from.Alias == nil {
		return
	}
	remove(n, "<<")
	own := n.Content
	n.Content = nil
	for i := 0; i+1 < len(from.Alias.Content); i += 2 {
		set(n, from.Alias.Content[i].Value, &yaml.Node{Kind: yaml.AliasNode, Alias: from.Alias.Content[i+1]})
	}
	for i := 0; i+1 < len(own); i += 2 {
		set(n, own[i].Value, own[i+1])
	}
}

// split returns the file and the component name of a reference. In a name, ~1 means a slash and ~0 a tilde (RFC
// 6901).
func (b *bundler) split(ref, file string) (target, name string) {
	f, frag, _ := strings.Cut(ref, "#/")
	target = file
	if f != "" {
		target = filepath.Join(filepath.Dir(file), f)
	}
	return filepath.Clean(target), strings.NewReplacer("~1", "/", "~0", "~").Replace(frag)
}

// lookup returns what a reference names. Its errors begin with the file and line of the reference.
func (b *bundler) lookup(target, name, file string, ref *yaml.Node) (*yaml.Node, error) {
	doc, err := b.load(target)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, ref.Line, err)
	}
	src := get(doc, name)
	if src == nil {
		return nil, fmt.Errorf("%s:%d: %s does not exist", file, ref.Line, ref.Value)
	}
	return src, nil
}

// walk turns every reference under n into one to #/components.
func (b *bundler) walk(n *yaml.Node, file string) error {
	if n.Kind == yaml.MappingNode {
		if r := get(n, "$ref"); r != nil && !strings.HasPrefix(r.Value, "#/components/") {
			return b.internalize(r, file)
		}
	}
	for _, c := range n.Content {
		if err := b.walk(c, file); err != nil {
			return err
		}
	}
	return nil
}

// internalize makes a component of what r refers to, and lets r name the component. The target is walked
// once, when it is first met, so that references in a circle end.
func (b *bundler) internalize(r *yaml.Node, file string) error {
	target, name := b.split(r.Value, file)
	src, err := b.lookup(target, name, file, r)
	if err != nil {
		return err
	}
	kind := kindOf(target)
	r.Value = "#/components/" + kind + "/" + name
	key := kind + "/" + name
	prev, seen := b.from[key]
	if seen {
		// Components share one namespace a kind; two of a name would silently become one.
		if prev != target {
			return fmt.Errorf("%s is defined in %s and %s", key, prev, target)
		}
		return nil
	}
	b.from[key] = target
	if b.comps[kind] == nil {
		b.comps[kind] = &yaml.Node{Kind: yaml.MappingNode}
	}
	set(b.comps[kind], name, src)
	return b.walk(src, target)
}

// kindOf returns the component kind that follows from a file's path.
func kindOf(f string) string {
	d := filepath.Base(filepath.Dir(f))
	for _, k := range kinds {
		if d == k {
			return k
		}
	}
	return strings.TrimSuffix(filepath.Base(f), ".yaml")
}
