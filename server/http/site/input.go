package site

import (
	"net/url"
	"slices"
)

// Form is a form's values and faults, as it is shown.
type Form struct {
	Values map[string]string
	Errors Faults
}

// Input is one line of a form as it is shown, by the template "input". Type is a type
// of HTML's <input>, or one of
//
//	textarea  several lines
//	select    one of Options
//	radios    one of Options, each with its Hint
//	boxes     any of Options
//	check     one box, ticked where Value is not empty
//	money     an amount as a decimal number, in Currency
//	file      a file; the form needs enctype="multipart/form-data"
//	lookup    what is found at Source while it is typed
type Input struct {
	Name, ID, Label, Hint, Value, Error, Type, Auto string
	// Most is the largest number of characters; 0 for no limit.
	Most     int
	Optional bool

	Options  []Option
	Currency string
	Source   string // an address that answers ?q= with a list of Found as JSON
	Accept   string // the kinds of files
	Filters  bool   // sends its form when another option is chosen
}

// Option is a choice of an input.
type Option struct {
	Value, Label, Hint string
	Chosen             bool
}

// Found is a suggestion of an input of type lookup: Value is put into the field, and Label is shown beside it.
type Found struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// Hidden is a hidden value of a form.
type Hidden struct{ Name, Value string }

// NewInput returns an input with the typed value and its fault. auto is the value of autocomplete.
func NewInput(f Form, name, label, hint, kind, auto string, most int) Input {
	return Input{
		Name: name, ID: name, Label: label, Hint: hint, Value: f.Values[name], Error: f.Errors[name], Type: kind,
		Auto: auto, Most: most,
	}
}

// Of gives the input what it offers.
func (i Input) Of(options []Option) Input { i.Options = options; return i }

// In gives an amount its currency.
func (i Input) In(currency string) Input { i.Currency = currency; return i }

// From gives a lookup its source.
func (i Input) From(source string) Input { i.Source = source; return i }

// As sets the input's id, for a name that is twice on a page.
func (i Input) As(id string) Input { i.ID = id; return i }

// Says sets the input's hint.
func (i Input) Says(hint string) Input { i.Hint = hint; return i }

// Up sets the maximum length.
func (i Input) Up(most int) Input { i.Most = most; return i }

// Maybe marks the input as optional.
func (i Input) Maybe() Input { i.Optional = true; return i }

// Fills sets autocomplete.
func (i Input) Fills(auto string) Input { i.Auto = auto; return i }

// Group reports whether the input has several elements of one name.
func (i Input) Group() bool { return i.Type == "radios" || i.Type == "boxes" }

// Described reports whether the input has a text below it.
func (i Input) Described() bool { return i.Error != "" || i.Hint != "" }

// Choose returns the options with those chosen that are named.
func Choose(options []Option, values ...string) []Option {
	out := slices.Clone(options)
	for i := range out {
		out[i].Chosen = slices.Contains(values, out[i].Value)
	}
	return out
}

// Filters is the form above a list that filters it, by the template "filters".
type Filters struct {
	Path   string // of the list
	Label  string // names the list, such as Partners
	Inputs []Input
	Hidden []Hidden // what of the address stays, such as the order
	Chips  []Chip   // what is set
	Clear  string   // the address without any
	Saved  []Saved
	Save   *Save // nil if filters cannot be saved here, or none is set
}

// Saved is saved filters: the address of the list with them, and the form that deletes them.
type Saved struct {
	Name, Path string
	Current    bool
	Drop       string   // the action of the form
	Hidden     []Hidden // of the form
}

// Save is the form that saves the filters that are set.
type Save struct {
	Action string
	Hidden []Hidden
}

// Chip is a filter that is set, with the address of the list without it.
type Chip struct{ Text, Without string }

// Without is an address without some of its parameters; it begins with the first page.
func Without(at *url.URL, names ...string) string {
	query := at.Query()
	for _, name := range append([]string{"after", "before", "done"}, names...) {
		query.Del(name)
	}
	if len(query) == 0 {
		return at.Path
	}
	return at.Path + "?" + query.Encode()
}
