package queries

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed lists.yaml
var declared []byte

// List is a list of the API from lists.yaml.
type List struct {
	Name   string // of its statements and its type: Sale makes SalePage and db.SaleList
	Table  string
	Page   string // the view that the page reads; the default is Table
	Row    string // the type of a row; the default is Name
	Always string // a condition on every row
	// Columns are the columns of the page; the default is all.
	Columns string
	// OfOrganization is a list of an organization, not of a program.
	OfOrganization bool `yaml:"of_organization"`
	// Order is ascending; the default is newest first, by created_at and id.
	Order   []Key
	Filters []Filter
	// CountOrder is an order of the rows that are counted up to a bound.
	CountOrder string `yaml:"count_order"`
	Total      *Total
}

// Key is a part of a list's order. No row lacks it.
type Key struct {
	Name     string
	Type     string // of PostgreSQL; the default is text
	SQL      string // the default is the column of that name
	Nullable bool   // the column is nullable, but no row of the list is null
}

// Filter is a filter of a list. The document has a parameter of its name.
type Filter struct {
	Name string
	Type string // of PostgreSQL; the default is text
	// Where is the condition on row t, with @ for the value. The default compares the column of the
	// filter's name.
	Where string
	// Count is the condition in the count; the default is Where.
	Count string
	// Several allows several values.
	Several bool
	// FirstOfEach reads the first rows of a page for each value.
	FirstOfEach bool `yaml:"first_of_each"`
	// Identity marks a filter on an immutable value. Only these apply to a cursor: a row that no
	// longer matches another filter is still a valid cursor, so that paging continues while rows
	// change.
	Identity bool
	// Refers is the kind of object whose id is the filter's value; it must belong to the list's
	// program.
	Refers string
	// Required marks a filter that every request has.
	Required bool
}

// Total counts a list that is too long to count row by row: by the tallies, or by a statement that
// adds the sums of reports. It is used if it supports all given filters.
type Total struct {
	Tally        string   // the list's name in the tallies
	Owners       []string // filters by owner; a tally supports one at a time
	Status, Kind string   // filters that tallies support
	Query        string
	Filters      []string // the filters of Query
	// Picky are filters that few of many rows match. Counting some of their rows would scan all, so
	// Query is used at once.
	Picky []string
}

// Lists returns the lists of lists.yaml.
func Lists() ([]List, error) {
	var out []List
	d := yaml.NewDecoder(bytes.NewReader(declared))
	d.KnownFields(true)
	if err := d.Decode(&out); err != nil {
		return nil, err
	}
	for i := range out {
		if err := out[i].complete(); err != nil {
			return nil, fmt.Errorf("lists.yaml: %s: %w", out[i].Name, err)
		}
	}
	return out, nil
}

// complete sets the defaults, and checks the names of filters.
func (l *List) complete() error {
	orElse(&l.Page, l.Table)
	orElse(&l.Row, l.Name)
	orElse(&l.Columns, "t.*")
	for i := range l.Order {
		orElse(&l.Order[i].Type, "text")
	}
	for i := range l.Filters {
		f := &l.Filters[i]
		orElse(&f.Type, "text")
		orElse(&f.Where, "t."+f.Name+" = @")
		orElse(&f.Count, f.Where)
	}
	for _, name := range l.Total.names() {
		if l.Filter(name) == nil {
			return fmt.Errorf("total: there is no filter %s", name)
		}
	}
	return nil
}

func orElse(s *string, other string) {
	if *s == "" {
		*s = other
	}
}

// newest is the default order, descending.
var newest = []Key{{Name: "created_at", Type: "timestamptz"}, {Name: "id", Type: "text"}}

// Keys returns the list's order, and whether it descends.
func (l *List) Keys() (keys []Key, descends bool) {
	if l.Order == nil {
		return newest, true
	}
	return l.Order, false
}

// Column returns the SQL expression of the key.
func (k Key) Column() string {
	if k.SQL != "" {
		return k.SQL
	}
	return "t." + k.Name
}

// Place returns the key's parameter for the begin of a page: after_at, before_at.
func (k Key) Place() string {
	if strings.HasSuffix(k.Name, "_at") {
		return "at"
	}
	return strings.TrimSuffix(k.Name, "_id")
}

// initialisms are those of sqlc.yaml.
var initialisms = []string{"id", "url", "api", "ip", "utm"}

// GoName returns sqlc's name for a column or a parameter.
func GoName(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		if slices.Contains(initialisms, word) {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// Filter returns the filter of a name, or nil.
func (l *List) Filter(name string) *Filter {
	i := slices.IndexFunc(l.Filters, func(f Filter) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Filters[i]
}

// names returns the filters that a total supports.
func (t *Total) names() []string {
	if t == nil {
		return nil
	}
	out := slices.Concat(t.Owners, t.Filters)
	for _, name := range []string{t.Status, t.Kind} {
		if name != "" {
			out = append(out, name)
		}
	}
	return out
}

// Knows reports whether the total supports a filter.
func (t *Total) Knows(filter string) bool { return slices.Contains(t.names(), filter) }
