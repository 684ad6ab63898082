package description

// Reachable returns the names of the schemas that the operations of a tag refer to,
// directly or through other schemas.
func (d *Document) Reachable(tag string) map[string]bool {
	seen := map[string]bool{}
	d.Each(tag, func(_, _ string, op Operation) {
		for _, name := range d.used(op) {
			d.reach(name, seen)
		}
	})
	return seen
}

// used returns the names of the schemas in the parameters, the body and the responses of an operation.
func (d *Document) used(op Operation) []string {
	var out []string
	add := func(m Media) {
		for _, c := range m.All() {
			out = append(out, c.Schema.members()...)
		}
	}
	for _, p := range op.Parameters {
		out = append(out, d.Follow(p).Schema.members()...)
	}
	if op.RequestBody != nil {
		add(op.RequestBody.Content)
	}
	for _, status := range op.Responses.Names {
		add(op.Responses.Values[status].Content)
	}
	return out
}

// members returns the names of the schemas that a schema refers to, also in its properties.
func (s Schema) members() []string {
	out := s.Refs()
	for _, name := range s.Properties.Names {
		out = append(out, s.Properties.Values[name].members()...)
	}
	if s.Items != nil {
		for _, name := range s.Items.Properties.Names {
			out = append(out, s.Items.Properties.Values[name].members()...)
		}
	}
	return out
}

// reach adds a schema and those that it refers to. It skips the names in seen, because
// schemas can be recursive.
func (d *Document) reach(name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	for _, next := range d.Components.Schemas.Values[name].members() {
		d.reach(next, seen)
	}
}

// Homes returns the tag of each schema: the one whose operations lead to it in the fewest
// references, and the first of several. A schema that no operation refers to has none.
func (d *Document) Homes() map[string]string {
	homes := map[string]string{}
	type step struct{ name, tag string }
	var level []step
	for _, tag := range d.Tags {
		d.Each(tag.Name, func(_, _ string, op Operation) {
			for _, name := range d.used(op) {
				level = append(level, step{name, tag.Name})
			}
		})
	}
	for len(level) > 0 {
		var next []step
		for _, at := range level {
			if homes[at.name] != "" {
				continue
			}
			homes[at.name] = at.tag
			for _, name := range d.Components.Schemas.Values[at.name].members() {
				next = append(next, step{name, at.tag})
			}
		}
		level = next
	}
	return homes
}
