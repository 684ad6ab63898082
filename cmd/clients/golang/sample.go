package golang

import (
	"encoding/json"
	"fmt"
	"go/format"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"time"

	"rail/cmd/clients/model"
)

// Sample returns a complete call of a method with a client rail.
func Sample(m *model.Model, method model.Method) string {
	w := newWriter(m)
	call := fmt.Sprintf("rail.%s.%s(%s)", model.Pascal(method.Resource), model.Pascal(method.Name), w.values(method))
	shape, before, after := method.Answer.Shape, "%s, err := %s\n", ""
	if method.Page != nil {
		shape, before, after = method.Page.Item, "for %s, err := range %s {\n", "\n}"
	}
	name := variable(w.plain(shape))
	source := fmt.Sprintf(before+"if err != nil {\nreturn err\n}\nfmt.Println(%s)%s", name, call, w.shown(name, shape), after)
	formatted, err := format.Source([]byte(source))
	if err != nil {
		panic(fmt.Sprintf("%s: %v in %s", method.OperationID, err, source)) // a mistake of this package
	}
	return string(formatted)
}

// variable returns a name for a value of a type: partner for Partner, sale for RecordedSale, and answer if the name
// means something else.
func variable(typ string) string {
	words := model.Words(typ)
	name := words[len(words)-1]
	if token.IsKeyword(name) || types.Universe.Lookup(name) != nil || name == "rail" {
		return "answer"
	}
	return name
}

// shown returns what an example prints: the id of an object that has one.
func (w writer) shown(name string, s model.Shape) string {
	for _, member := range w.model.Follow(s).Members {
		if member.Name == "id" {
			return name + ".ID"
		}
	}
	return name
}

// values returns the arguments of an example's call.
func (w writer) values(m model.Method) string {
	out := []string{"ctx"}
	for _, p := range m.PathParams {
		out = append(out, w.value(p.Shape, m.Example.Path[p.Name], ""))
	}
	if m.Body != nil {
		out = append(out, w.value(m.Body.Shape, m.Example.Body, ""))
	}
	if required(m.Query) {
		var members strings.Builder
		for _, p := range m.Query {
			if v, ok := m.Example.Query[p.Name]; ok {
				fmt.Fprintf(&members, "\t%s: %s,\n", model.Pascal(p.Ident), w.value(p.Shape, v, "\t"))
			}
		}
		out = append(out, fmt.Sprintf("client.%s{\n%s}", paramsName(m), members.String()))
	} else if len(m.Query) > 0 {
		out = append(out, "nil")
	}
	return strings.Join(out, ", ")
}

// value writes a JSON value as Go, for a shape and with the indent of its line.
func (w writer) value(s model.Shape, v model.Value, indent string) string {
	of := w.model.Follow(s)
	switch v := v.(type) {
	case nil:
		return "nil"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case string:
		return w.text(s, v)
	case []model.Value:
		return w.listOf(of, v, indent)
	case model.Members:
		if of.Kind == model.Object && !of.Open {
			return w.structOf(s, of, v, indent)
		}
		return w.mapOf(of, v, indent)
	}
	return "nil"
}

// text writes a string: a constant of an enumeration, a time, or a literal.
func (w writer) text(s model.Shape, v string) string {
	of := w.model.Follow(s)
	switch {
	case of.Kind == model.Enum && s.Kind == model.Named && w.plain(s) == s.Name:
		return "client." + s.Name + model.Pascal(v)
	case of.Kind == model.String && of.Format == "date-time":
		at, err := time.Parse(time.RFC3339, v)
		if err == nil {
			return fmt.Sprintf("time.Date(%d, %d, %d, %d, %d, %d, %d, time.UTC)",
				at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond())
		}
	}
	return strconv.Quote(v)
}

// listOf writes a list.
func (w writer) listOf(of model.Shape, v []model.Value, indent string) string {
	item := model.Shape{Kind: model.Any}
	if of.Item != nil {
		item = *of.Item
	}
	var b strings.Builder
	b.WriteString("[]" + w.qualified(item) + "{")
	for i, one := range v {
		if i > 0 {
			b.WriteString(", ")
		}
		value := w.value(item, one, indent)
		if w.named(w.model.Follow(item)) && strings.HasSuffix(value, "}") {
			value = strings.TrimPrefix(value, w.qualified(item)) // the list has the type
		}
		b.WriteString(value)
	}
	return b.String() + "}"
}

// structOf writes a struct, one member per line.
func (w writer) structOf(s, of model.Shape, v model.Members, indent string) string {
	t := *w.model.Type(s.Name)
	var b strings.Builder
	b.WriteString("client." + s.Name + "{")
	for _, member := range of.Members {
		one, ok := find(v, member.Name)
		if !ok {
			continue
		}
		fmt.Fprintf(&b, "\n%s\t%s: %s,", indent, model.Pascal(member.Name), w.memberValue(t, member, one, indent+"\t"))
	}
	if b.Len() > len("client."+s.Name+"{") {
		b.WriteString("\n" + indent)
	}
	return b.String() + "}"
}

// find returns a member of an object, which may be null, and whether it is there.
func find(v model.Members, name string) (model.Value, bool) {
	for _, one := range v {
		if one.Name == name {
			return one.Value, true
		}
	}
	return nil, false
}

// memberValue writes the value of a struct's member in the member's type.
func (w writer) memberValue(t model.Type, m model.Member, v model.Value, indent string) string {
	typ, value := w.member(t, m), w.value(m.Shape, v, indent)
	plain := w.qualified(m.Shape)
	if strings.HasPrefix(typ, "Optional[") {
		if v == nil {
			return "client.Null[" + plain + "]()"
		}
		if plain == "int64" {
			return "client.Set[int64](" + value + ")"
		}
		return "client.Set(" + value + ")"
	}
	if strings.HasPrefix(typ, "*") && v != nil {
		return "new(" + value + ")"
	}
	return value
}

// qualified returns the Go type of a shape as a program names it that imports the client.
func (w writer) qualified(s model.Shape) string {
	for s.Kind == model.List {
		return "[]" + w.qualified(*s.Item)
	}
	if plain := w.plain(s); s.Kind == model.Named && plain == s.Name {
		return "client." + plain
	}
	return w.plain(s)
}

// mapOf writes a map, one member per line.
func (w writer) mapOf(of model.Shape, v model.Members, indent string) string {
	item := model.Shape{Kind: model.Any}
	if of.Item != nil {
		item = *of.Item
	}
	var b strings.Builder
	b.WriteString("map[string]" + w.qualified(item) + "{")
	for _, one := range v {
		fmt.Fprintf(&b, "\n%s\t%q: %s,", indent, one.Name, w.value(item, one.Value, indent+"\t"))
	}
	return b.String() + "\n" + indent + "}"
}
