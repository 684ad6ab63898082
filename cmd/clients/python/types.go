package python

import (
	"fmt"
	"strconv"
	"strings"

	"rail/cmd/clients/model"
)

// keywords are the words that no parameter and no member of a class may have as its name.
var keywords = map[string]bool{
	"and": true, "as": true, "assert": true, "async": true, "await": true, "break": true, "class": true, "continue": true,
	"def": true, "del": true, "elif": true, "else": true, "except": true, "finally": true, "for": true, "from": true,
	"global": true, "if": true, "import": true, "in": true, "is": true, "lambda": true, "nonlocal": true, "not": true,
	"or": true, "pass": true, "raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true,
	"None": true, "True": true, "False": true,
}

// identifier returns a name that Python accepts.
func identifier(name string) string {
	if keywords[name] {
		return name + "_"
	}
	return name
}

// writer writes Python for a model.
type writer struct {
	model *model.Model
	// listed is how many methods list each code.
	listed map[string]int
}

func newWriter(m *model.Model) writer {
	w := writer{m, map[string]int{}}
	for _, r := range m.Resources {
		for _, method := range r.Methods {
			for _, code := range method.Codes {
				w.listed[code]++
			}
		}
	}
	return w
}

// typesHead begins the file of types.
const typesHead = `"""The types of requests and answers. At run time, all objects are dicts as the server sends them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired
`

// typesFile returns the TypedDicts and enumerations.
func (w writer) typesFile() (string, error) {
	var b, unions strings.Builder
	b.WriteString(typesHead)
	for _, t := range w.model.Types {
		if !t.Request && !t.Response {
			continue
		}
		switch {
		case t.Shape.Kind == model.Enum && t.Shape.Format == "":
			values := make([]string, len(t.Shape.Values))
			for i, v := range t.Shape.Values {
				values[i] = fmt.Sprintf("    %q,\n", v)
			}
			fmt.Fprintf(&b, "\n%s = Literal[\n%s]\n%s", t.Name, strings.Join(values, ""), described("", text("", t.Description)))
		case t.Shape.Kind == model.Union:
			variants := make([]string, len(t.Shape.Variants))
			for i, v := range t.Shape.Variants {
				variants[i] = "    " + v.Name + ",\n"
			}
			fmt.Fprintf(&unions, "\n%s = Union[\n%s]\n%s", t.Name, strings.Join(variants, ""), described("", text("", t.Description)))
		case t.Shape.Kind == model.Object && functional(t.Shape):
			w.functional(&b, t)
		case t.Shape.Kind == model.Object && !t.Shape.Open:
			w.class(&b, t)
		}
	}
	// At the end, because Union evaluates its arguments.
	return b.String() + unions.String(), nil
}

// functional reports whether an object has a member whose name is a keyword, which no class can have.
func functional(s model.Shape) bool {
	for _, m := range s.Members {
		if keywords[m.Name] {
			return true
		}
	}
	return false
}

// class writes a TypedDict as a class.
func (w writer) class(b *strings.Builder, t model.Type) {
	fmt.Fprintf(b, "\n\nclass %s(TypedDict):\n%s", t.Name, described("    ", text("    ", t.Description)))
	for _, m := range t.Shape.Members {
		fmt.Fprintf(b, "    %s: %s\n", m.Name, w.member(m, ""))
		if m.Description != "" {
			b.WriteString(described("    ", text("    ", m.Description)))
		}
	}
}

// functional writes a TypedDict as a call.
func (w writer) functional(b *strings.Builder, t model.Type) {
	fmt.Fprintf(b, "\n\n%s = TypedDict(%q, {\n", t.Name, t.Name)
	for _, m := range t.Shape.Members {
		fmt.Fprintf(b, "%s    %q: '%s',\n", wrap("    # ", "    # ", m.Description), m.Name, w.member(m, ""))
	}
	b.WriteString("})\n" + described("", text("", t.Description)))
}

// member returns the annotation of a member.
func (w writer) member(m model.Member, prefix string) string {
	if !m.Required {
		return "NotRequired[" + w.typ(m.Shape, prefix) + "]"
	}
	return w.typ(m.Shape, prefix)
}

// typ returns the annotation of a shape. Named types have a prefix, that of their module.
func (w writer) typ(s model.Shape, prefix string) string {
	of := w.model.Follow(s)
	out := w.plain(s, of, prefix)
	if of.Nullable && out != "Any" {
		return out + " | None"
	}
	return out
}

// plain returns the annotation of a shape without regard to null.
func (w writer) plain(s, of model.Shape, prefix string) string {
	switch {
	case s.Kind == model.Named && named(of):
		return prefix + s.Name
	case of.Kind == model.String:
		return "str"
	case of.Kind == model.Enum:
		values := make([]string, len(of.Values))
		for i, v := range of.Values {
			values[i] = strconv.Quote(v)
			if of.Format == "boolean" {
				values[i] = strings.ToUpper(v[:1]) + v[1:]
			}
		}
		return "Literal[" + strings.Join(values, ", ") + "]"
	case of.Kind == model.Integer:
		return "int"
	case of.Kind == model.Number:
		return "float"
	case of.Kind == model.Boolean:
		return "bool"
	case of.Kind == model.List:
		return "List[" + w.typ(*of.Item, prefix) + "]"
	case of.Kind == model.Map:
		return "Dict[str, " + w.typ(*of.Item, prefix) + "]"
	case of.Kind == model.Object:
		return "Dict[str, Any]"
	}
	return "Any"
}

// named reports whether a named type with a shape is a type in Python.
func named(s model.Shape) bool {
	return s.Kind == model.Object && !s.Open || s.Kind == model.Enum && s.Format == "" || s.Kind == model.Union
}
