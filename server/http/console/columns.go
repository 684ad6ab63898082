package console

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/locale/plain"
	"rail/server/opt"
)

// column is a column of a list that can be chosen. Fields are its columns in the file of the page.
type column struct {
	key, name string
	fields    []field
	more      bool // not shown by default
}

// columnList describes the columns of a list, and the columns that its file always has before them. The last column of
// the file is the id.
type columnList struct {
	always  []field
	columns []column
}

var (
	partnerColumns = columnList{
		[]field{
			{"Partner", func(r fileRow) string { return plain.Cell(nameOf(r.partner())) }},
			plainField("Email", "email"),
		},
		[]column{
			{"state", "State", []field{wordField("State", "status")}, false},
			{"group", "Group and tags", []field{groupField, {"Tags", fileRow.tags}}, false},
			{"clicks", "Clicks", []field{
				countField("Clicks", "stats", func(s api.PartnerStats) int64 { return s.Clicks }),
			}, false},
			{"customers", "Customers", []field{
				countField("Customers", "stats", func(s api.PartnerStats) int64 { return s.Customers }),
			}, false},
			{"commissions", "Commissions", []field{{"Commissions", fileRow.commissions}, {"Currency", fileRow.unit}}, false},
			{"handle", "Handle", []field{plainField("Handle", "handle")}, true},
			{"country", "Country", []field{{"Country", fileRow.country}}, true},
			{"method", "Payout method", []field{wordField("Payout method", "payout_method")}, true},
			{"since", "Since", []field{dayField("Since", "created_at")}, true},
		},
	}
	commissionColumns = columnList{
		[]field{timeField("Earned", "created_at")},
		[]column{
			{"partner", "Partner", []field{partnerField}, false},
			{"customer", "Customer", []field{customerField}, false},
			{"kind", "Kind", []field{wordField("Kind", "kind")}, false},
			{"state", "State", []field{wordField("State", "status")}, false},
			{"amount", "Amount", []field{amountField("Amount", "amount_minor"), currencyField}, false},
			{"base", "Revenue", []field{
				amountField("Revenue", "revenue_minor"), {"Revenue currency", currencyField.text},
			}, true},
			{"payable", "Payable from", []field{dayField("Payable from", "mature_at")}, true},
		},
	}
	saleColumns = columnList{
		[]field{timeField("When", "occurred_at")},
		[]column{
			{"customer", "Customer", []field{customerField}, false},
			{"partner", "Partner", []field{partnerField}, false},
			{"product", "Product", []field{
				plainField("Product", "product_name"), plainField("Product ID", "product_id"),
			}, false},
			{"charged", "Charged", []field{amountField("Charged", "charged_minor"), currencyField}, false},
			{"refunded", "Refunded", []field{
				amountField("Refunded", "refunded_minor"), {"Refund currency", currencyField.text},
			}, false},
			{"billing", "Billing", []field{wordField("Billing", "billing_type"), wordField("Interval", "interval")}, true},
			{"processor", "Processor", []field{wordField("Processor", "processor")}, true},
			{"charge", "Charge ID", []field{plainField("Charge ID", "external_charge_id")}, true},
		},
	}
	customerColumns = columnList{
		[]field{
			{"Customer", func(r fileRow) string { return plain.Cell(person(r.customer())) }},
			plainField("Your ID", "external_customer_id"),
		},
		[]column{
			{"partner", "Partner", []field{partnerField}, false},
			{"by", "By", []field{wordField("By", "tracked_by")}, false},
			{"state", "State", []field{wordField("State", "status")}, false},
			{"since", "Since", []field{timeField("Since", "lead_at")}, false},
			{"email", "Email", []field{plainField("Email", "email")}, true},
			{"paid", "First payment", []field{timeField("First payment", "converted_at")}, true},
			{"processor", "Processor", []field{wordField("Processor", "processor")}, true},
		},
	}
	payoutColumns = columnList{
		[]field{partnerField, {"Email", func(r fileRow) string {
			p, _ := member[api.Partner](r, "partner")
			return plain.Cell(p.Email)
		}}},
		[]column{
			{"method", "Method", []field{wordField("Method", "method")}, false},
			{"state", "State", []field{wordField("State", "status"), {"Why", fileRow.why}}, false},
			{"due", "Due", []field{dayField("Due", "due_at")}, false},
			{"commissions", "Commissions", []field{plainField("Commissions", "commission_count")}, false},
			{"amount", "Amount", []field{amountField("Amount", "amount_minor"), currencyField}, false},
			{"month", "Until", []field{dayField("Until", "period_end")}, true},
			{"paid", "Paid", []field{
				dayField("Paid", "paid_at"), plainField("Reference", "external_id"), plainField("Statement", "statement_number"),
			}, true},
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

// fields returns the columns of a list's file: the chosen ones, or all.
func (v *visit) fields(list columnList) []field {
	keys := v.query(columnField)[columnField]
	out := slices.Clone(list.always)
	for _, k := range list.columns {
		if len(keys) == 0 || slices.Contains(keys, k.key) {
			out = append(out, k.fields...)
		}
	}
	return append(out, rowID)
}

// partner returns the partner of a row, with the names that it has.
func (r fileRow) partner() api.Partner {
	return api.Partner{
		DisplayName: r.optional("display_name"), FirstName: r.optional("first_name"), LastName: r.optional("last_name"),
		CompanyName: r.optional("company_name"), Handle: r.cell("handle"),
	}
}

// customer returns the customer of a row, with the names that it has.
func (r fileRow) customer() api.Customer {
	return api.Customer{
		Name: r.optional("name"), Email: r.optional("email"), ExternalCustomerID: r.optional("external_customer_id"),
		Identifier: r.optional("identifier"),
	}
}

// optional returns a cell, nil if it is empty.
func (r fileRow) optional(member string) *string { return opt.OrNil(r.cell(member)) }

// tags are the names of the row's tags.
func (r fileRow) tags() string {
	tags, _ := member[[]api.Tag](r, "tags")
	names := make([]string, len(tags))
	for i, t := range tags {
		names[i] = t.Name
	}
	return plain.Cell(strings.Join(names, ", "))
}

// commissions is the sum of a partner's commissions in the program's currency.
func (r fileRow) commissions() string {
	stats, _ := member[api.PartnerStats](r, "stats")
	return currency.Decimal(stats.CommissionsMinor, r.program.Currency)
}

// unit is the program's currency.
func (r fileRow) unit() string { return r.program.Currency }

// country is the name of the row's country.
func (r fileRow) country() string {
	if r.cell("country_code") == "" {
		return ""
	}
	return r.Locale.Country(r.cell("country_code"))
}

// why is the reason of a payout's state.
func (r fileRow) why() string { return cmp.Or(r.cell("error_message"), r.cell("reason_text")) }
