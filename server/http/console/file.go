package console

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/locale/plain"
	"rail/server/problem"
)

// Files of lists are for people: names in place of ids, amounts in the currency's unit, and times in the program's
// time zone. Their rows are those of the API's CSV, with the id in the last column.

// fileTime is how files write a time, such that spreadsheets recognize it.
const fileTime = "2006-01-02 15:04"

// field is a column of a file.
type field struct {
	name string
	text func(fileRow) string
}

// fileRow is a row of the API's CSV.
type fileRow struct {
	*visit
	columns map[string]int // the index of each column in cells
	cells   []string
}

// cell returns a cell by its column; "" if the table has no such column.
func (r fileRow) cell(column string) string {
	i, ok := r.columns[column]
	if !ok {
		return ""
	}
	return r.cells[i]
}

// rowID is the column by which a row can be found with the API.
var rowID = plainField("ID", "id")

// plainField has a member as it is.
func plainField(name, member string) field {
	return field{name, func(r fileRow) string { return r.cell(member) }}
}

// wordField has a value of an enum in words.
func wordField(name, member string) field {
	return field{name, func(r fileRow) string { return wordsOf(r.cell(member)) }}
}

// wordsOf returns a value in words; "" for none.
func wordsOf(value string) string {
	if value == "" {
		return ""
	}
	return site.Words(value, vocabulary)
}

// timeField has a time in the program's time zone.
func timeField(name, member string) field {
	return field{name, func(r fileRow) string { return r.time(member, fileTime) }}
}

// dayField has the day of a time in the program's time zone.
func dayField(name, member string) field {
	return field{name, func(r fileRow) string { return r.time(member, time.DateOnly) }}
}

// amountField has an amount in the unit of the row's currency.
func amountField(name, member string) field {
	return field{name, func(r fileRow) string { return amountIn(r.cell(member), r.cell("currency")) }}
}

// currencyField has the row's currency.
var currencyField = plainField("Currency", "currency")

// amountIn returns minor units in the currency's unit; "" for none.
func amountIn(minor, code string) string {
	n, err := strconv.ParseInt(minor, 10, 64)
	if err != nil {
		return ""
	}
	return currency.Decimal(n, code)
}

// yesField has a truth value in words.
func yesField(name, member string) field {
	return field{name, func(r fileRow) string {
		if r.cell(member) == "true" {
			return "Yes"
		}
		return "No"
	}}
}

// partnerField has the name of the row's expanded partner.
var partnerField = field{"Partner", func(r fileRow) string {
	p, ok := member[api.Partner](r, "partner")
	if !ok {
		return ""
	}
	return plain.Cell(nameOf(p))
}}

// customerField has the name of the row's expanded customer.
var customerField = field{"Customer", func(r fileRow) string {
	c, ok := member[api.Customer](r, "customer")
	if !ok {
		return ""
	}
	return plain.Cell(person(c))
}}

// groupField has the name of the row's expanded group.
var groupField = field{"Group", func(r fileRow) string {
	g, _ := member[api.Group](r, "group")
	return plain.Cell(g.Name)
}}

// countField has a number of an object in a member of the row.
func countField[T any](name, of string, count func(T) int64) field {
	return field{name, func(r fileRow) string {
		object, ok := member[T](r, of)
		if !ok {
			return ""
		}
		return strconv.FormatInt(count(object), 10)
	}}
}

// member reads a member of a row that is an object or a list, and reports whether the row has it.
func member[T any](r fileRow, name string) (out T, ok bool) {
	text := r.cell(name)
	return out, text != "" && json.Unmarshal([]byte(text), &out) == nil
}

// time formats a time of the row in the program's time zone; "" for none.
func (r fileRow) time(member, form string) string {
	at, err := time.Parse(time.RFC3339, r.cell(member))
	if err != nil {
		return ""
	}
	return at.In(clock.StoredZone(r.program.TimeZone)).Format(form)
}

// fileOf sends the rows of a list to the browser as a file for people. query holds the filters.
func (v *visit) fileOf(operation, name string, query url.Values, fields []field, ids ...string) error {
	rows, err := v.fileRows(operation, query, ids...)
	if err != nil {
		return err
	}
	return v.sendRows(name, fields, rows)
}

// chosenFile sends a list with the chosen columns.
func (v *visit) chosenFile(operation, name string, query url.Values, list columnList) error {
	return v.fileOf(operation, name, query, v.fields(list))
}

// sendRows sends rows to the browser as a file.
func (v *visit) sendRows(name string, fields []field, rows []fileRow) error {
	out := make([][]string, 1, len(rows)+1)
	for _, f := range fields {
		out[0] = append(out[0], f.name)
	}
	for _, r := range rows {
		cells := make([]string, len(fields))
		for i, f := range fields {
			cells[i] = f.text(r)
		}
		out = append(out, cells)
	}
	return site.SendCSV(v, name, out)
}

// maxFileRows bounds a file. Its rows are in memory until it is sent.
const maxFileRows = 100_000

// fileRows reads the rows of an operation's CSV, which the API sends in parts. A larger list than maxFileRows is
// refused, because a file without its end would look complete.
func (v *visit) fileRows(operation string, query url.Values, ids ...string) (rows []fileRow, err error) {
	query.Set("format", "csv")
	r, err := v.get(operation, query, ids...)
	if err != nil {
		return nil, err
	}
	for {
		part, next, err := v.filePart(r)
		if err != nil {
			return nil, err
		}
		rows = append(rows, part...)
		if next == "" {
			return rows, nil
		}
		if len(rows) >= maxFileRows {
			return nil, problem.New(problem.ParameterInvalid,
				"The file would have more than %s rows. Filter the list first.", v.Locale.Count(maxFileRows))
		}
		if r.URL, err = r.URL.Parse(next); err != nil {
			return nil, err
		}
	}
}

// filePart reads one part of a table, and the address of the next one, "" for none.
func (v *visit) filePart(r *http.Request) (rows []fileRow, next string, err error) {
	res, err := v.console.localAPI.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close() //nolint:errcheck // a buffer
	table, err := csv.NewReader(res.Body).ReadAll()
	if err != nil || len(table) == 0 {
		return nil, "", err
	}
	columns := map[string]int{}
	for i, name := range table[0] {
		columns[name] = i
	}
	for _, cells := range table[1:] {
		rows = append(rows, fileRow{visit: v, columns: columns, cells: cells})
	}
	link, _, _ := strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<"), ">")
	return rows, link, nil
}
