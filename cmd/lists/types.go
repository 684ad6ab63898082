package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"slices"
	"strings"
	"text/template"

	"rail/queries"
)

//go:embed types.go.tmpl
var source string

// types returns the Go of all lists.
func types(lists []queries.List) ([]byte, error) {
	t, err := template.New("types").Funcs(template.FuncMap{
		"camel": queries.GoName, "local": local, "field": field, "keys": keys, "refs": refs, "params": params,
		"several": several, "impossible": impossible, "some": some,
	}).Parse(source)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, lists); err != nil {
		return nil, err
	}
	// Formatted here, which also shows at once whether the template made valid Go.
	code, err := format.Source(b.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, b.Bytes())
	}
	return code, nil
}

// local returns the name of a Go variable.
func local(name string) string { return strings.ToLower(name[:1]) + queries.GoName(name)[1:] }

// keys returns the columns that order a list; the last is unique.
func keys(l queries.List) []queries.Key {
	k, _ := l.Keys()
	return k
}

// field returns the type of a filter: a pointer where it may be absent.
func field(f queries.Filter) string {
	// The types of SQL that filters have; another one has to be added here.
	is := map[string]string{"text": "string", "timestamptz": "clock.Time", "boolean": "bool"}[f.Type]
	switch {
	case f.Several:
		return "[]" + is
	case f.Required:
		return is
	}
	return "*" + is
}

// refs returns the kinds of objects that filters refer to.
func refs(lists []queries.List) []string {
	var out []string
	for _, l := range lists {
		for _, f := range l.Filters {
			if f.Refers != "" && !slices.Contains(out, f.Refers) {
				out = append(out, f.Refers)
			}
		}
	}
	slices.Sort(out)
	return out
}

// several returns the filters of a statement that take several values.
func several(l queries.List, statement string) []queries.Filter {
	return slices.DeleteFunc(slices.Clone(l.Filters),
		func(f queries.Filter) bool { return !f.Several || !has(f, statement) })
}

// has reports whether a statement has a filter; cursors have only some.
func has(f queries.Filter, statement string) bool {
	return statement != "Cursor" || f.Identity || f.Required
}

// params writes the parameters of a statement, as a literal of the struct that sqlc makes for it.
func params(l queries.List, statement string) string {
	var fields []string
	if !l.OfOrganization {
		fields = append(fields, "ProgramID: in.ProgramID")
	}
	fields = append(fields, "OrgID: in.OrgID")
	switch {
	case statement == "Cursor":
		fields = append(fields, "ID: id")
	case statement == "Page":
		fields = append(fields, "Lim: lim")
	case l.Total != nil:
		fields = append(fields, "Most: most")
	case len(fields) == 1 && len(l.Filters) == 0: // sqlc makes no struct for one
		return "in.OrgID"
	}
	for _, f := range l.Filters {
		switch {
		case !has(f, statement):
		case f.Several:
			fields = append(fields, queries.GoName(f.Name)+": "+local(f.Name), queries.GoName(f.Name)+"In: "+local(f.Name)+"In")
		default:
			fields = append(fields, queries.GoName(f.Name)+": l."+queries.GoName(f.Name))
		}
	}
	return l.Name + statement + "Params{\n" + strings.Join(fields, ",\n") + ",\n}"
}

// impossible is the condition on which a list's total cannot be asked.
func impossible(l queries.List) string {
	var out []string
	for _, f := range l.Filters {
		// The counters have no sums by this filter.
		if !l.Total.Knows(f.Name) {
			out = append(out, setCondition(f))
		}
	}
	// A total is kept by one owner at a time, so two of them cannot be combined.
	for i, a := range l.Total.Owners {
		for _, b := range l.Total.Owners[i+1:] {
			out = append(out, setCondition(*l.Filter(a))+" && "+setCondition(*l.Filter(b)))
		}
	}
	return strings.Join(out, " || ")
}

// some returns the condition that any of some filters is given.
func some(l queries.List, names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, setCondition(*l.Filter(name)))
	}
	return strings.Join(out, " || ")
}

// setCondition returns the condition that a filter is set.
func setCondition(f queries.Filter) string {
	if f.Several {
		return "len(l." + queries.GoName(f.Name) + ") > 0"
	}
	return "l." + queries.GoName(f.Name) + " != nil"
}
