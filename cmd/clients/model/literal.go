package model

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Literals writes values as a language does. It writes a value in one line where it fits in Width, and otherwise each
// member of an object and each item of a list in a line.
type Literals struct {
	Indent string
	// Comma follows the last member or item if each has a line.
	Comma string
	// Pad is inside of an object in one line.
	Pad           string
	Null, Yes, No string
	Text          func(string) string
	// Key writes the name of a member, with what separates it from the value.
	Key   func(string) string
	Width int
}

// Write writes a value. indent is that of the line in which it begins, and column where it begins in it.
func (l Literals) Write(v Value, indent string, column int) string {
	if line := l.inline(v); column+len(line) <= l.Width {
		return line
	}
	inner := indent + l.Indent
	var each []string
	begin, end := "{", "}"
	switch v := v.(type) {
	case Members:
		for _, m := range v {
			key := l.Key(m.Name)
			each = append(each, key+l.Write(m.Value, inner, len(inner)+len(key)))
		}
	case []Value:
		begin, end = "[", "]"
		for _, one := range v {
			each = append(each, l.Write(one, inner, len(inner)))
		}
	}
	if len(each) == 0 {
		return l.inline(v)
	}
	return begin + "\n" + inner + strings.Join(each, ",\n"+inner) + l.Comma + "\n" + indent + end
}

// inline writes a value in one line.
func (l Literals) inline(v Value) string {
	switch v := v.(type) {
	case Members:
		var all []string
		for _, m := range v {
			all = append(all, l.Key(m.Name)+l.inline(m.Value))
		}
		if len(all) == 0 {
			return "{}"
		}
		return "{" + l.Pad + strings.Join(all, ", ") + l.Pad + "}"
	case []Value:
		var all []string
		for _, one := range v {
			all = append(all, l.inline(one))
		}
		return "[" + strings.Join(all, ", ") + "]"
	case string:
		return l.Text(v)
	case json.Number:
		return v.String()
	case bool:
		if v {
			return l.Yes
		}
		return l.No
	}
	return l.Null
}

// Quoted writes a string in double quotes, as JSON, Python and Go read it.
func Quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s) // unreachable: every string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// JSON writes values as JSON.
var JSON = Literals{
	Indent: "  ", Null: "null", Yes: "true", No: "false", Text: Quoted, Width: 84,
	Key: func(name string) string { return fmt.Sprintf("%s: ", Quoted(name)) },
}
