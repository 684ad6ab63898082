package console

import (
	"bytes"
	"encoding/csv"
	"io"
	"maps"
	"net/url"
	"slices"

	"rail/server/http/site"
)

// column is a column of a list that can be chosen. Members are those of the API's rows in the CSV of the page.
type column struct {
	key, name string
	members   []string
	more      bool // not shown by default
}

// columnList describes the columns of a list, and the members that its CSV always has.
type columnList struct {
	always  []string
	columns []column
}

var (
	partnerColumns = columnList{
		[]string{"id", "display_name", "first_name", "last_name", "company_name", "email"},
		[]column{
			{"state", "State", []string{"status"}, false},
			{"group", "Group and tags", []string{"group_id", "tags"}, false},
			{"clicks", "Clicks", []string{"stats"}, false},
			{"customers", "Customers", []string{"stats"}, false},
			{"commissions", "Commissions", []string{"stats"}, false},
			{"handle", "Handle", []string{"handle"}, true},
			{"country", "Country", []string{"country_code"}, true},
			{"method", "Payout method", []string{"payout_method"}, true},
			{"since", "Since", []string{"created_at"}, true},
		},
	}
	commissionColumns = columnList{
		[]string{"id", "created_at"},
		[]column{
			{"partner", "Partner", []string{"partner_id"}, false},
			{"customer", "Customer", []string{"customer_id"}, false},
			{"kind", "Kind", []string{"kind"}, false},
			{"state", "State", []string{"status"}, false},
			{"amount", "Amount", []string{"amount_minor", "currency"}, false},
			{"base", "Revenue", []string{"revenue_minor", "currency"}, true},
			{"payable", "Payable from", []string{"mature_at"}, true},
		},
	}
	saleColumns = columnList{
		[]string{"id", "occurred_at"},
		[]column{
			{"customer", "Customer", []string{"customer_id"}, false},
			{"partner", "Partner", []string{"partner_id"}, false},
			{"product", "Product", []string{"product_id", "product_name"}, false},
			{"charged", "Charged", []string{"charged_minor", "currency"}, false},
			{"refunded", "Refunded", []string{"refunded_minor", "currency"}, false},
			{"billing", "Billing", []string{"billing_type", "interval"}, true},
			{"processor", "Processor", []string{"processor"}, true},
			{"charge", "Charge ID", []string{"external_charge_id"}, true},
		},
	}
	customerColumns = columnList{
		[]string{"id", "name", "email", "external_customer_id"},
		[]column{
			{"partner", "Partner", []string{"partner_id"}, false},
			{"by", "By", []string{"tracked_by"}, false},
			{"state", "State", []string{"status"}, false},
			{"since", "Since", []string{"lead_at"}, false},
			{"email", "Email", []string{"email"}, true},
			{"paid", "First payment", []string{"converted_at"}, true},
			{"processor", "Processor", []string{"processor"}, true},
		},
	}
	payoutColumns = columnList{
		[]string{"id", "partner_id"},
		[]column{
			{"method", "Method", []string{"method", "details_changed_at"}, false},
			{"state", "State", []string{"status", "reason", "error_message"}, false},
			{"due", "Due", []string{"due_at"}, false},
			{"commissions", "Commissions", []string{"commission_count"}, false},
			{"amount", "Amount", []string{"amount_minor", "currency"}, false},
			{"month", "Until", []string{"period_end"}, true},
			{"paid", "Paid", []string{"paid_at"}, true},
		},
	}
)

// columnField is the parameter of the chosen columns. The form always sends firstColumn too, for the first column,
// which cannot be left out. Without it, a form with no ticked box would mean the default columns.
const (
	columnField = "columns"
	firstColumn = "first"
)

// columns are the columns of a page, and the form that chooses them. The zero value has the default columns.
type columns struct {
	chosen []string // empty for the default
	Input  site.Input
	Hidden []site.Hidden // the filters of the page
	Path   string
	Reset  string // the address with the default columns, "" for no choice
}

// columns returns the columns of a list in the address.
func (v *visit) columns(list columnList) columns {
	at := v.Request().URL
	c := columns{chosen: v.query(columnField)[columnField], Path: at.Path}
	c.Input = site.Input{Name: columnField, ID: columnField, Label: "Columns", Type: "boxes"}
	for _, k := range list.columns {
		c.Input.Options = append(c.Input.Options, site.Option{
			Value: k.key, Label: k.name, Chosen: c.shows(k.key, !k.more),
		})
	}
	c.Hidden = append(hiddenFilters(v.QueryParams()), site.Hidden{Name: columnField, Value: firstColumn})
	if len(c.chosen) > 0 {
		c.Reset = site.Without(at, columnField)
	}
	return c
}

// hiddenFilters returns the filters of an address as fields of a form, without the columns.
func hiddenFilters(query url.Values) (out []site.Hidden) {
	filters, _ := url.ParseQuery(filterQuery(query))
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		for _, text := range filters[name] {
			if name != columnField {
				out = append(out, site.Hidden{Name: name, Value: text})
			}
		}
	}
	return out
}

// hiddenColumns returns the chosen columns as fields of the form of the filters.
func (v *visit) hiddenColumns() (out []site.Hidden) {
	for _, key := range v.query(columnField)[columnField] {
		out = append(out, site.Hidden{Name: columnField, Value: key})
	}
	return out
}

// shows reports whether a column is shown.
func (c columns) shows(key string, usual bool) bool {
	if len(c.chosen) == 0 {
		return usual
	}
	return slices.Contains(c.chosen, key)
}

// Has reports whether a column of the default ones is shown.
func (c columns) Has(key string) bool { return c.shows(key, true) }

// Also reports whether a further column is shown.
func (c columns) Also(key string) bool { return c.shows(key, false) }

// members returns the members of the CSV with the chosen columns; nil for all.
func (v *visit) members(list columnList) []string {
	chosen := v.query(columnField)[columnField]
	if len(chosen) == 0 {
		return nil
	}
	out := slices.Clone(list.always)
	for _, k := range list.columns {
		if slices.Contains(chosen, k.key) {
			out = append(out, k.members...)
		}
	}
	return out
}

// narrowed returns a CSV with only some of its columns.
func narrowed(table io.Reader, members []string) (io.Reader, error) {
	in := csv.NewReader(table)
	rows, err := in.ReadAll()
	if err != nil || len(rows) == 0 {
		return bytes.NewReader(nil), err
	}
	var at []int
	for i, name := range rows[0] {
		if slices.Contains(members, name) {
			at = append(at, i)
		}
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	for _, row := range rows {
		cells := make([]string, len(at))
		for i, j := range at {
			cells[i] = row[j]
		}
		_ = w.Write(cells) // a buffer never fails
	}
	w.Flush()
	return &out, nil
}
