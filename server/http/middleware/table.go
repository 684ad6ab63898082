package middleware

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/openapi"
	"rail/server/locale/plain"
	"rail/server/problem"
)

const (
	// tablePage is the number of rows of a table that count as one request: the largest page of a caller.
	tablePage = 100
	// offsetPage is the number of rows of a page that follows by offset: each such page reads the rows before it again.
	offsetPage = 1000
	// maxTableRows and maxTableBytes bound a table. The whole table is made before it is sent, so
	// that an error can be answered.
	maxTableRows  = 10_000
	maxTableBytes = 16 << 20
	// maxTables is the number of tables that a server makes at once; others wait for up to a
	// request's timeout. The charge for a table comes too late to delay the key's next ones.
	maxTables = 8
)

// table describes an operation's answer as a table.
type table struct {
	rows    string   // the member of the answer with the rows
	columns []string // the members of every row, in the description's order
	pages   bool     // the operation has pages
	offset  bool     // pages follow by offset, not by the last id
}

// newTable returns the table of an operation, or nil if its answer is not one.
func newTable(o openapi.Operation) *table {
	ok := o.Operation.Responses.Status(http.StatusOK)
	if ok == nil || ok.Value.Content["text/csv"] == nil {
		return nil
	}
	t := &table{rows: "data"}
	answer := ok.Value.Content[echo.MIMEApplicationJSON].Schema.Value
	if answer.Properties["has_more"] == nil {
		t.rows = "rows"
	}
	t.columns = answer.Properties[t.rows].Value.Items.Value.Required
	has := map[string]bool{}
	for _, p := range o.Query {
		has[p.Name] = true
	}
	t.pages = has["limit"]
	t.offset = t.pages && !has["starting_after"]
	return t
}

// hasPDF reports whether an operation answers with a PDF too.
func hasPDF(o openapi.Operation) bool {
	ok := o.Operation.Responses.Status(http.StatusOK)
	return ok != nil && ok.Value.Content["application/pdf"] != nil
}

// tables answers with a table if the caller asks for one (step 13). A caller that accepts a PDF of an operation that
// has one gets its parameter format. Its rows come from the
// operation's JSON, page by page.
func (f *Front) tables(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if s.route.pdf {
			c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
			if accepts(c, "application/pdf") && !values(c).Has("format") {
				values(c).Set("format", "pdf")
			}
		}
		if s.route.table == nil {
			return next(c)
		}
		c.Response().Header().Add(echo.HeaderVary, echo.HeaderAccept)
		wanted, err := wantsTable(c)
		switch {
		case err != nil:
			return err
		case !wanted:
			return next(c)
		}
		s.tabular = true
		t := newSheet(s.route.table)
		if err := f.fill(c, t, next); err != nil {
			return err
		}
		return t.send(c)
	}
}

// fill makes a table as soon as fewer than maxTables are in progress, and charges the key for its
// rows, also if a page fails.
func (f *Front) fill(c echo.Context, t *sheet, next echo.HandlerFunc) error {
	ctx, s := c.Request().Context(), stateOf(c)
	select {
	case f.sheets <- struct{}{}:
		defer func() { <-f.sheets }()
	case <-ctx.Done():
		return problem.Away(ctx.Err())
	}
	err := t.walk(c, next)
	f.owe(ctx, s, t.requests()-1)
	return err
}

// wantsTable reports whether the caller prefers a table to JSON.
func wantsTable(c echo.Context) (bool, error) {
	if q := values(c); q.Has("format") {
		format := q.Get("format")
		if format != "csv" && format != "json" {
			return false, problem.Invalid("format", "format must be csv or json.")
		}
		return format == "csv", nil
	}
	return accepts(c, "text/csv"), nil
}

// accepts reports whether the caller prefers a type of content.
func accepts(c echo.Context, kind string) bool {
	first, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderAccept), ",")
	preferred, _, _ := strings.Cut(first, ";")
	return strings.EqualFold(strings.TrimSpace(preferred), kind)
}

// sheet is a table in progress.
type sheet struct {
	*table
	out     bytes.Buffer
	csv     *csv.Writer
	header  []string
	written int
	last    string // the id of the last row
}

func newSheet(t *table) *sheet {
	s := &sheet{table: t}
	s.csv = csv.NewWriter(&s.out)
	s.csv.UseCRLF = true
	return s
}

// walk reads the pages of a list until it ends or the table is full. With a limit or backwards it reads one page.
func (t *sheet) walk(c echo.Context, next echo.HandlerFunc) error {
	q := values(c)
	whole := t.pages && !q.Has("limit") && !q.Has("ending_before")
	if whole && t.offset {
		q.Set("limit", strconv.Itoa(offsetPage))
	} else if whole {
		q.Set("limit", strconv.Itoa(tablePage))
	}
	begin, _ := strconv.Atoi(q.Get("offset"))
	for {
		answer, err := buffer(c, next)
		if err != nil {
			return err
		}
		more, err := t.add(answer.body.Bytes())
		if err != nil || !whole || !more {
			return err
		}
		if t.offset {
			q.Set("offset", strconv.Itoa(begin+t.written))
		} else {
			q.Del("offset")
			q.Set("starting_after", t.last)
		}
		if t.written >= maxTableRows || t.out.Len() >= maxTableBytes {
			q.Del("limit")
			q.Set("format", "csv")
			c.Response().Header().Set("Link", "<"+c.Request().URL.Path+"?"+q.Encode()+`>; rel="next"`)
			return nil
		}
	}
}

// requests returns how many requests the rows so far count as.
func (t *sheet) requests() int {
	if !t.pages {
		return 1
	}
	return max(1, (t.written+tablePage-1)/tablePage)
}

// add writes the rows of an answer, and reports whether there are more.
func (t *sheet) add(answer []byte) (more bool, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(answer, &members); err != nil {
		return false, err
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(members[t.rows], &rows); err != nil {
		return false, err
	}
	if t.header == nil {
		t.begin(rows)
	}
	for _, row := range rows {
		cells := make([]string, len(t.header))
		for i, name := range t.header {
			cells[i] = Cell(row[name])
		}
		_ = t.csv.Write(cells) // a buffer never fails
		t.last = Cell(row["id"])
	}
	t.csv.Flush()
	t.written += len(rows)
	return string(members["has_more"]) == "true", nil
}

// begin writes the header: the members of every row, and those requested by include.
func (t *sheet) begin(rows []map[string]json.RawMessage) {
	more := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			more[name] = !slices.Contains(t.columns, name)
		}
	}
	maps.DeleteFunc(more, func(_ string, extra bool) bool { return !extra })
	t.header = slices.Concat(t.columns, slices.Sorted(maps.Keys(more)))
	_ = t.csv.Write(t.header) // a buffer never fails
}

// Columns returns the columns of the lists' tables, by the ids of their operations.
func Columns() (map[string][]string, error) {
	spec, err := openapi.Read(openapi.Bundle)
	if err != nil {
		return nil, err
	}
	all, err := openapi.Operations(spec)
	if err != nil {
		return nil, err
	}
	columns := map[string][]string{}
	for _, o := range all {
		if t := newTable(o); t != nil {
			columns[o.ID] = t.columns
		}
	}
	return columns, nil
}

// Cell returns the text of a value in a table. It escapes a text that a spreadsheet would evaluate
// as a formula.
func Cell(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value) // a number, a boolean, an object or a list
	}
	return plain.Cell(text)
}

// send sends the table.
func (t *sheet) send(c echo.Context) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, `attachment; filename="`+path.Base(c.Request().URL.Path)+`.csv"`)
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", t.out.Bytes())
}
