package python

import (
	"fmt"
	"strings"

	"rail/cmd/clients/model"
)

// Sample returns a complete call of a method with a client rail.
func Sample(m *model.Model, method model.Method) string {
	w := newWriter(m)
	call := fmt.Sprintf("rail.%s.%s(%s)", identifier(method.Resource), identifier(model.Snake(method.Name)), w.sampleArguments(method))
	if method.Page != nil {
		name := variable(method.Page.Item.Name)
		return fmt.Sprintf("for %s in %s:\n    print(%s)", name, call, w.shown(name, method.Page.Item))
	}
	name := variable(method.Answer.Shape.Name)
	return fmt.Sprintf("%s = %s\nprint(%s)", name, call, w.shown(name, method.Answer.Shape))
}

// variable returns a name for a value of a type: partner for Partner, sale for RecordedSale, and answer if the name
// means something else.
func variable(typ string) string {
	words := model.Words(typ)
	name := "answer"
	if len(words) > 0 {
		name = words[len(words)-1]
	}
	if keywords[name] || name == "rail" || name == "type" || name == "print" {
		return "answer"
	}
	return name
}

// shown returns what an example prints: the id of an object that has one.
func (w writer) shown(name string, s model.Shape) string {
	for _, member := range w.model.Follow(s).Members {
		if member.Name == "id" && member.Required {
			return name + `["id"]`
		}
	}
	return name
}

// sampleArguments returns the arguments of an example's call, one per line if there are several.
func (w writer) sampleArguments(m model.Method) string {
	var out []string
	for _, p := range m.PathParams {
		out = append(out, literal(m.Example.Path[p.Name], "", ""))
	}
	if body, ok := m.Example.Body.(model.Members); ok {
		for _, one := range body {
			name := identifier(one.Name) + "="
			out = append(out, name+literal(one.Value, name, "    "))
		}
	}
	for _, p := range m.Query {
		if v, ok := m.Example.Query[p.Name]; ok {
			name := identifier(p.Ident) + "="
			out = append(out, name+literal(v, name, "    "))
		}
	}
	if one := strings.Join(out, ", "); len(out) < 2 || len(one) < 60 && !strings.Contains(one, "\n") {
		return one
	}
	return "\n    " + strings.Join(out, ",\n    ") + ",\n"
}

// literals writes values in Python.
var literals = model.Literals{
	Indent: "    ", Comma: ",", Null: "None", Yes: "True", No: "False", Width: 84, Text: model.Quoted,
	Key: func(name string) string { return model.Quoted(name) + ": " },
}

// literal writes a value as an argument, after its name and in a line with an indent.
func literal(v model.Value, name, indent string) string {
	return literals.Write(v, indent, len(indent)+len(name))
}
