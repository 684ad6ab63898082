package description

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Shape returns a short description of the values of a schema. For a reference it
// returns only the name: a reference describes each schema once, under Objects.
func (s Schema) Shape() string {
	switch {
	case s.Ref != "":
		return Name(s.Ref)
	case len(s.OneOf) > 0:
		return alternatives(s.OneOf)
	case len(s.Enum) > 0:
		return values(s.Enum)
	case s.Const != nil:
		return values([]any{s.Const})
	}
	parts := []string{s.kind()}
	if s.Format != "" {
		parts = append(parts, s.Format)
	}
	parts = append(parts, s.bounds()...)
	if s.Pattern != "" {
		parts = append(parts, "matches "+s.Pattern)
	}
	if s.Default != nil {
		parts = append(parts, "default "+string(s.Default))
	}
	return strings.Join(parts, ", ")
}

// Refs returns the names of the schemas that are in Shape.
func (s Schema) Refs() []string {
	var out []string
	if s.Ref != "" {
		out = append(out, Name(s.Ref))
	}
	if s.Items != nil {
		out = append(out, s.Items.Refs()...)
	}
	for _, choice := range s.OneOf {
		out = append(out, choice.Refs()...)
	}
	return out
}

// kind returns the JSON types of a value, or "any value" if the schema has no type.
func (s Schema) kind() string {
	kind := strings.Join(s.Type, " or ")
	if s.Items != nil {
		kind = strings.Replace(kind, "array", "array of "+s.Items.Shape(), 1)
	}
	if kind == "" {
		return "any value"
	}
	return kind
}

// bounds returns the limits of a number, of a string's length, and of an array's length.
func (s Schema) bounds() []string {
	var out []string
	out = append(out, span(number(s.Minimum), number(s.Maximum), "")...)
	out = append(out, span(length(s.MinLength), length(s.MaxLength), " characters")...)
	return append(out, span(length(s.MinItems), length(s.MaxItems), " items")...)
}

// span returns the text of a range. Either limit may be "".
func span(low, high, unit string) []string {
	switch {
	case low != "" && high != "":
		return []string{low + " to " + high + unit}
	case low != "":
		return []string{"at least " + low + unit}
	case high != "":
		return []string{"at most " + high + unit}
	}
	return nil
}

// number returns a limit as the OpenAPI document writes it, or "".
func number(n *json.Number) string {
	if n == nil {
		return ""
	}
	return n.String()
}

// length returns a limit in characters or items, or "".
func length(n *int) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}

// alternatives returns the shapes of a oneOf, joined with "or".
func alternatives(of []Schema) string {
	shapes := make([]string, len(of))
	for i, s := range of {
		shapes[i] = s.Shape()
	}
	return strings.Join(shapes, " or ")
}

// values returns the members of an enum, joined with "|".
func values(enum []any) string {
	texts := make([]string, len(enum))
	for i, v := range enum {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, " | ")
}
