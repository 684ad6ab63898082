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

// List is a list of the API, as lists.yaml declares it.
type List struct {
	Name   string // of its statements and its type: Sale makes SalePage and db.SaleList
	Table  string
	Page   string // the view that the page reads, where it is another than Table
	Row    string // the type of a row, where it is another than Name
	Always string // a condition on every row
	// Columns are what the page selects; every column unless given.
	Columns string
	// OfOrganization is a list of an organization, not of a program.
	OfOrganization bool `yaml:"of_organization"`
	// Order is ascending; the newest first, by created_at and id, unless given.
	Order   []Key
	Filters []Filter
	// CountOrder is an order of the rows that are counted up to a bound.
	CountOrder string `yaml:"count_order"`
	Total      *Total
}

// Key is a part of a list's order. No row lacks it.
type Key struct {
	Name     string
	Type     string // of PostgreSQL; text unless given
	SQL      string // the column of that name unless given
	Nullable bool   // by its column, though no row of the list lacks it
}

// Filter is one that a list may be asked with. The document has a parameter of
// its name.
type Filter struct {
	Name string
	Type string // of PostgreSQL; text unless given
	// Where is the condition on row t; @ stands for the value. The column of the
	// filter's name is compared unless given.
	Where string
	// Count is the condition in the count, where it is another.
	Count string
	// Several lets any of several values be asked for.
	Several bool
	// FirstOfEach reads of each of several values the first rows of a page.
	FirstOfEach bool `yaml:"first_of_each"`
	// Identity marks a filter that no row leaves. Only these bind a cursor to
	// the list: a row whose state has left a filter still marks its place, so that a
	// walk goes on while rows change.
	Identity bool
	// Refers is the kind of object whose id the filter takes: it must be of the
	// list's program.
	Refers string
	// Required is given with each request.
	Required bool
}

// Total is what counts a list that has more rows than can be counted one by one:
// the tallies, or a statement that adds what reports have summed. It stands in
// for the count where only filters are given that it knows.
type Total struct {
	Tally        string   // the list's name there
	Owners       []string // filters by what rows belong to; a tally knows one at a time
	Status, Kind string   // filters by what tallies distinguish
	Query        string
	Filters      []string // what Query takes
	// Picky are filters that few of many rows may pass: to look for some would be
	// to pass over all, so Query is asked at once.
	Picky []string
}

// Lists returns what lists.yaml declares.
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

// complete sets what is left out, and checks that filters are named that there are.
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

// newest is the order of a list that declares none, descending.
var newest = []Key{{Name: "created_at", Type: "timestamptz"}, {Name: "id", Type: "text"}}

// Keys returns the list's order, and whether it descends.
func (l *List) Keys() (keys []Key, descends bool) {
	if l.Order == nil {
		return newest, true
	}
	return l.Order, false
}

// Column is what the list is ordered by.
func (k Key) Column() string {
	if k.SQL != "" {
		return k.SQL
	}
	return "t." + k.Name
}

// Place is the name of the key where a page begins: after_at, before_at.
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

// names are the filters that a total knows.
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

// Knows reports whether the total can distinguish what a filter does.
func (t *Total) Knows(filter string) bool { return slices.Contains(t.names(), filter) }
