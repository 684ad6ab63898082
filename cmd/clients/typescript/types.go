package typescript

import (
	"bytes"
	"fmt"
	"strings"

	"rail/cmd/clients/model"
)

// types returns the declarations of the named types.
func types(m *model.Model) []byte {
	w := bytes.NewBufferString(notice)
	for _, t := range m.Types {
		if !t.Request && !t.Response {
			continue
		}
		fmt.Fprintf(w, "\n%s", doc("", t.Description))
		if t.Shape.Kind == model.Object && !t.Shape.Nullable {
			fmt.Fprintf(w, "export interface %s %s\n", t.Name, object(t.Shape, t.Request))
			continue
		}
		fmt.Fprintf(w, "export type %s = %s\n", t.Name, written(t.Shape, t.Request))
	}
	return w.Bytes()
}

// object writes the members of an object. Those of requests may also be undefined, which JSON leaves out.
func object(s model.Shape, request bool) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, m := range s.Members {
		b.WriteString(doc("  ", m.Description))
		fmt.Fprintf(&b, "  %s\n", member(m.Name, m.Shape, m.Required, request))
	}
	if s.Open {
		b.WriteString("  [member: string]: unknown\n")
	}
	b.WriteString("}")
	return b.String()
}

// member writes a member of an object.
func member(name string, s model.Shape, required, request bool) string {
	mark, of := "", written(s, request)
	if !required {
		mark = "?"
		if request {
			of += " | undefined"
		}
	}
	return name + mark + ": " + of
}

// written writes a shape.
func written(s model.Shape, request bool) string {
	of := ""
	switch s.Kind {
	case model.Any:
		return "unknown" // which includes null
	case model.String:
		of = "string"
	case model.Integer, model.Number:
		of = "number"
	case model.Boolean:
		of = "boolean"
	case model.Enum:
		of = alternatives(s)
	case model.List:
		if of = written(*s.Item, request); strings.Contains(of, " | ") {
			of = "(" + of + ")"
		}
		of += "[]"
	case model.Map:
		of = "Record<string, " + written(*s.Item, request) + ">"
	case model.Object:
		of = object(s, request)
	case model.Union:
		var all []string
		for _, v := range s.Variants {
			all = append(all, written(v, request))
		}
		of = strings.Join(all, " | ")
	case model.Named:
		of = s.Name
	}
	if s.Nullable {
		of += " | null"
	}
	return of
}

// alternatives writes the values of an enumeration.
func alternatives(s model.Shape) string {
	var all []string
	for _, v := range s.Values {
		if s.Format != "boolean" {
			v = "'" + v + "'"
		}
		all = append(all, v)
	}
	return strings.Join(all, " | ")
}

// doc writes a comment, or nothing without a text.
func doc(indent, text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "*/", "*\u200b/")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return indent + "/** " + text + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}
