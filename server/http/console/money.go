package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/list"
	"rail/server/problem"
)

// Functions shared by the pages of payouts, commissions, sales and customers.

// pageOf is a page of a list of the API.
func pageOf[R any](rows []R, more bool, total int64) list.Page[R] {
	return list.Page[R]{Rows: rows, HasMore: more, Total: total}
}

// among returns the page of a list that the address asks for, as rows.
func among[R, S any](v *visit, t site.Turn, found list.Page[R], id func(R) string, row func(R) S) site.Listing {
	rows := make([]S, len(found.Rows))
	for i, r := range found.Rows {
		rows[i] = row(r)
	}
	return site.Listed(v.Request().URL, t, found, id, rows)
}

// embedded is a relation that a list was asked to expand; the zero value where there is none.
func embedded[T any](n nullable.Nullable[T]) (t T) {
	if n.IsSpecified() && !n.IsNull() {
		return n.MustGet()
	}
	return t
}

// person is who a customer is to people: a name, an email, or the shop's own id.
func person(c api.Customer) string {
	for _, name := range []*string{c.Name, c.Email, c.ExternalCustomerID, c.Identifier} {
		if name != nil && *name != "" {
			return *name
		}
	}
	return "A customer"
}

// each changes the selected rows one by one, and returns a sentence with the number of changes and the refusals. An
// error that ends it early, such as a timeout, is returned only if no row was changed. one and several are the words
// for changed rows, such as "payout is paid" and "payouts are paid".
func (v *visit) each(one, several string, change func(id string) error) (string, error) {
	ids, err := v.ticked()
	if err != nil {
		return "", err
	}
	var t tally
	for _, id := range ids {
		err := v.Ctx().Err()
		if err == nil {
			err = change(id)
		}
		if t.add(err) {
			continue
		}
		if t.done == 0 {
			return "", err
		}
		v.Err = err // for the log; the page shows the number of changes
		break
	}
	return t.words(len(ids), one, several), nil
}

// tally counts the results of the ticked rows.
type tally struct {
	done, refused int
	why           []string
}

// add counts the result of one row. It reports false if err is not a refusal of that row.
func (t *tally) add(err error) bool {
	p, ok := refused(err)
	switch {
	case err == nil:
		t.done++
		return true
	case !ok || p.Code == problem.InsufficientScope:
		return false
	case !slices.Contains(t.why, p.Message):
		t.why = append(t.why, p.Message)
	}
	t.refused++
	return true
}

// words says it.
func (t *tally) words(of int, one, several string) string {
	notice := fmt.Sprintf("%d %s.", t.done, oneOrMany(t.done, one, several))
	if t.refused > 0 {
		notice += fmt.Sprintf(" %d %s refused: %s", t.refused, oneOrMany(t.refused, "was", "were"),
			strings.Join(t.why[:min(len(t.why), 3)], " "))
	}
	if left := of - t.done - t.refused; left > 0 {
		notice += fmt.Sprintf(" Then it had to stop, and %d %s left: tick %s again.", left, oneOrMany(left, "is", "are"),
			oneOrMany(left, "it", "them"))
	}
	return notice
}

// oneOrMany is the word for so many.
func oneOrMany[N int | int64](n N, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// listed are all values of an enum, to choose from, with one for any.
func listed(values ...string) []site.Option {
	out := []site.Option{{Label: "Any"}}
	for _, v := range values {
		out = append(out, site.Option{Value: v, Label: site.Words(v, vocabulary)})
	}
	return out
}

// filter returns a select of a list's filters with the value in the address.
func (v *visit) filter(name, label string, options []site.Option) site.Input {
	return site.Input{
		Name: name, ID: "filter_" + name, Label: label, Type: "select", Options: options, Filters: true,
		Value: cleaned(v.QueryParam(name)),
	}
}

// search is a text field of a list's filters.
func (v *visit) search(name, label, kind string) site.Input {
	in := site.Input{
		Name: name, ID: "filter_" + name, Label: label, Type: kind, Value: cleaned(v.QueryParam(name)), Most: most["text"],
	}
	if v.fault != nil {
		in.Error = site.FaultsOf(v.fault, name)[name]
	}
	if kind == "lookup" {
		in.Source = v.at("/find/partners")
	}
	return in
}

// filters are the filters of a list, with a chip for each that is set.
func (v *visit) filters(label string, inputs ...site.Input) site.Filters {
	f := site.Filters{Path: v.Request().URL.Path, Label: label, Inputs: inputs, Hidden: v.hiddenColumns()}
	for _, in := range inputs {
		if in.Value == "" {
			continue
		}
		text := in.Value
		for _, o := range in.Options {
			if o.Value == in.Value {
				text = o.Label
			}
		}
		f.Chips = append(f.Chips, site.Chip{
			Text: in.Label + ": " + text, Without: site.Without(v.Request().URL, in.Name),
		})
	}
	if len(f.Chips) > 1 {
		f.Clear = f.Path
		if params := v.query(columnField); len(params) > 0 {
			f.Clear += "?" + params.Encode()
		}
	}
	v.savedFilters(&f)
	return f
}

// enums are the values of a filter that an enum of the API knows; nil for none.
func enums[T ~string](v *visit, name string) []T {
	if text := cleaned(v.QueryParam(name)); text != "" {
		return []T{T(text)}
	}
	return nil
}

// Sheet is the address of the table of the list, with the filters of the page.
func (f frame) Sheet() string {
	u := url.URL{Path: f.Request().URL.Path + ".csv", RawQuery: f.Request().URL.RawQuery}
	return u.String()
}

// rows are the rows of a list and its page; ticks is whether they can be selected.
type rows struct {
	Page    frame
	Rows    any
	Ticks   bool
	Columns columns
}

// List is the rows of a list for one of the tables of parts.html.
func (f frame) List(of any, ticks bool) rows { return rows{Page: f, Rows: of, Ticks: ticks} }

// With sets the columns of the rows.
func (r rows) With(c columns) rows { r.Columns = c; return r }

// PayoutBulk has the actions on ticked payouts.
func (f frame) PayoutBulk() site.Bulk {
	return site.Bulk{What: "payouts", Actions: []site.Action{
		{Label: "Mark as paid"},
		{Label: "Delete", Path: f.at("/payouts/delete"), Danger: true, Confirm: "Delete the selected payouts? Their commissions are due again."},
	}}
}

// CommissionBulk has the actions on ticked commissions.
func (f frame) CommissionBulk() site.Bulk {
	return site.Bulk{What: "commissions", Actions: []site.Action{
		{Label: "Approve"}, {Label: "Reject", Path: f.at("/commissions/reject"), Danger: true},
	}}
}

// ticked are the ids of the rows that were ticked for one change of all, at most maxTicked.
func (v *visit) ticked() ([]string, error) {
	ids := v.values("id")
	switch {
	case len(ids) == 0:
		return nil, problem.New(problem.ParameterMissing, "Select at least one row first.")
	case len(ids) > maxTicked:
		return nil, problem.New(problem.ParameterInvalid, "At most %d rows can be changed at once.", maxTicked)
	}
	return ids, nil
}

// maxTicked is the number of rows that one form changes, each with one request: a page of a list.
const maxTicked = 100
