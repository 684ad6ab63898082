package description

// Reachable returns the names of the schemas that the operations of a tag refer to,
// directly or through other schemas.
func (d *Document) Reachable(tag string) map[string]bool {
	seen := map[string]bool{}
	d.Each(tag, func(_, _ string, op Operation) {
		for _, name := range d.Used(op) {
			d.reach(name, seen)
		}
	})
	return seen
}

// Used returns the names of the schemas in the parameters, the body and the responses of an operation.
func (d *Document) Used(op Operation) []string {
	var out []string
	add := func(m Media) {
		for _, c := range m.All() {
			out = append(out, c.Schema.Members()...)
		}
	}
	for _, p := range op.Parameters {
		out = append(out, d.Follow(p).Schema.Members()...)
	}
	if op.RequestBody != nil {
		add(op.RequestBody.Content)
	}
	for _, status := range op.Responses.Names {
		add(op.Responses.Values[status].Content)
	}
	return out
}

// Members returns the names of the schemas that a schema refers to, also in its properties.
func (s Schema) Members() []string {
	out := s.Refs()
	for _, name := range s.Properties.Names {
		out = append(out, s.Properties.Values[name].Members()...)
	}
	if s.Items != nil {
		for _, name := range s.Items.Properties.Names {
			out = append(out, s.Items.Properties.Values[name].Members()...)
		}
	}
	return out
}

// reach adds a schema and its references. It skips the names in seen, because
// schemas can be recursive.
func (d *Document) reach(name string, seen map[string]bool) {
	if seen[name] {
		return
	}
	seen[name] = true
	for _, next := range d.Components.Schemas.Values[name].Members() {
		d.reach(next, seen)
	}
}
