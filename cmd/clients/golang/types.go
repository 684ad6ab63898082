package golang

import (
	"fmt"
	"strings"

	"rail/cmd/clients/model"
)

// own are types of the description that the runtime or writeEvents declares.
var own = map[string]bool{"Error": true, "ErrorCode": true, "ErrorType": true, "ErrorEnvelope": true, "Event": true}

// writer writes Go for a model.
type writer struct {
	model *model.Model
	// bodies are the types of the bodies of events. They are one type, Event.
	bodies map[string]bool
	// listed is how many methods list each code.
	listed map[string]int
}

func newWriter(m *model.Model) writer {
	w := writer{m, map[string]bool{}, map[string]int{}}
	for _, e := range m.Events {
		w.bodies[e.Type] = true
	}
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			for _, code := range method.Codes {
				w.listed[code]++
			}
		}
	}
	return w
}

// writeTypes returns the structs and enumerations.
func writeTypes(m *model.Model) (string, error) {
	w := newWriter(m)
	var b strings.Builder
	b.WriteString(notice + "package client\n\nimport \"time\"\n")
	for _, t := range m.Types {
		if own[t.Name] || w.bodies[t.Name] || !t.Request && !t.Response {
			continue
		}
		switch {
		case t.Shape.Kind == model.Object && !t.Shape.Open:
			if err := w.object(&b, t); err != nil {
				return "", err
			}
		case t.Shape.Kind == model.Enum && t.Shape.Format == "":
			w.enum(&b, t)
		case t.Shape.Kind == model.Union:
			return "", fmt.Errorf("%s: a union has no form in Go", t.Name)
		}
	}
	return b.String(), nil
}

// object writes a struct.
func (w writer) object(b *strings.Builder, t model.Type) error {
	fmt.Fprintf(b, "\n%stype %s struct {\n", comment("", t.Description), t.Name)
	names := map[string]string{}
	for _, m := range t.Shape.Members {
		name := model.Pascal(m.Name)
		if other, ok := names[name]; ok {
			return fmt.Errorf("%s: %s and %s are both %s", t.Name, other, m.Name, name)
		}
		names[name] = m.Name
		tag := m.Name
		if !m.Required {
			tag += ",omitzero"
		}
		fmt.Fprintf(b, "%s%s %s `json:%q`\n", comment("\t", m.Description), name, w.member(t, m), tag)
	}
	b.WriteString("}\n")
	return nil
}

// enum writes a string type and its values.
func (w writer) enum(b *strings.Builder, t model.Type) {
	fmt.Fprintf(b, "\n%stype %s string\n\n// The values of %s.\nconst (\n", comment("", t.Description), t.Name, t.Name)
	for _, v := range t.Shape.Values {
		fmt.Fprintf(b, "\t%s%s %s = %q\n", t.Name, model.Pascal(v), t.Name, v)
	}
	b.WriteString(")\n")
}

// member returns the Go type of a member. In a request, a member that may be left out is Optional, except lists and
// maps, where nil leaves it out, and members of types that answers also have.
func (w writer) member(t model.Type, m model.Member) string {
	plain := w.plain(m.Shape)
	shape := w.model.Follow(m.Shape)
	absent := w.canBeNil(shape)
	switch {
	case !m.Required && !t.Response && (!absent || shape.Nullable):
		return "Optional[" + plain + "]"
	case !m.Required && t.Request && (shape.Kind == model.String || shape.Kind == model.Enum):
		return plain
	case absent || m.Required && !shape.Nullable:
		return plain
	}
	return "*" + plain
}

// canBeNil reports whether nil is a value of a shape's Go type.
func (w writer) canBeNil(s model.Shape) bool {
	return s.Kind == model.List || s.Kind == model.Map || s.Kind == model.Any || s.Open
}

// plain returns the Go type of a shape without regard to null.
func (w writer) plain(s model.Shape) string {
	switch s.Kind {
	case model.Named:
		if t := w.model.Type(s.Name); w.named(t.Shape) && s.Name != "ErrorType" {
			return t.Name
		}
		return w.plain(w.model.Follow(s))
	case model.String:
		if s.Format == "date-time" {
			return "time.Time"
		}
		return "string"
	case model.Enum:
		if s.Format == "boolean" {
			return "bool"
		}
		return "string"
	case model.Integer:
		return "int64"
	case model.Number:
		return "float64"
	case model.Boolean:
		return "bool"
	case model.List:
		return "[]" + w.plain(*s.Item)
	case model.Map:
		return "map[string]" + w.plain(*s.Item)
	case model.Object:
		return "map[string]any"
	}
	return "any"
}

// named reports whether a named type with a shape is a Go type. Ids and free maps are not.
func (w writer) named(s model.Shape) bool {
	return s.Kind == model.Object && !s.Open || s.Kind == model.Enum && s.Format == ""
}

// writeCodes returns the codes of errors.
func writeCodes(m *model.Model) string {
	var b strings.Builder
	b.WriteString(notice + "package client\n\n// The codes of errors. Servers of a later release may answer with others.\nconst (\n")
	for _, c := range m.Codes {
		b.WriteString(comment("\t", c.Message))
		fmt.Fprintf(&b, "\tErrorCode%s ErrorCode = %q\n", model.Pascal(c.Name), c.Name)
	}
	b.WriteString(")\n")
	return b.String()
}
