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
	"rail/server/problem"
)

const (
	// tablePage is how many rows of a table count as one request: a page's most.
	tablePage = 100
	// maxTableRows and maxTableBytes bound a table, which is made before it is sent: an
	// error in the midst of it is answered as one.
	maxTableRows  = 10_000
	maxTableBytes = 16 << 20
	// maxTables is how many a server makes at the same time; others wait, as long as a
	// request may take. What a key owes for one is known too late to hold its next ones back.
	maxTables = 8
)

// table is how an operation's answer becomes one.
type table struct {
	rows    string   // the member of the answer that has them
	columns []string // the members of every row, in the order of the description
	pages   bool     // there may be more than one
	offset  bool     // pages follow by their offset, not by the last id
}

// newTable returns nil for an operation whose answer the description has not as a
// table.
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
	for _, p := range o.Query {
		t.pages = t.pages || p.Name == "limit"
		t.offset = t.offset || p.Name == "offset"
	}
	return t
}

// tables answers with a table where one is asked for (step 13). Its rows are those
// of the JSON that the operation answers, page by page.
func (f *Front) tables(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
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
		t := newSheet(s.route.table)
		if err := f.fill(c, t, next); err != nil {
			return err
		}
		return t.send(c)
	}
}

// fill makes a table when there is room for one, and charges the key for its pages, also
// for those before one that failed.
func (f *Front) fill(c echo.Context, t *sheet, next echo.HandlerFunc) error {
	ctx, s := c.Request().Context(), stateOf(c)
	select {
	case f.sheets <- struct{}{}:
		defer func() { <-f.sheets }()
	case <-ctx.Done():
		return problem.Away(ctx.Err())
	}
	pages, err := t.walk(c, next)
	f.owe(ctx, s, pages-1)
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
	first, _, _ := strings.Cut(c.Request().Header.Get(echo.HeaderAccept), ",")
	kind, _, _ := strings.Cut(first, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/csv"), nil
}

// sheet is a table while it is made.
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

// walk takes the pages of a list until it ends or the table is full, and returns
// how many. A caller who gives a limit, or walks backwards, has one page.
func (t *sheet) walk(c echo.Context, next echo.HandlerFunc) (pages int, err error) {
	q := values(c)
	whole := t.pages && !q.Has("limit") && !q.Has("ending_before")
	if whole {
		q.Set("limit", strconv.Itoa(tablePage))
	}
	begin, _ := strconv.Atoi(q.Get("offset"))
	for pages = 1; ; pages++ {
		answer, err := buffer(c, next)
		if err != nil {
			return pages, err
		}
		more, err := t.add(answer.body.Bytes())
		if err != nil || !whole || !more {
			return pages, err
		}
		if t.offset {
			q.Set("offset", strconv.Itoa(begin+t.written))
		} else {
			q.Set("starting_after", t.last)
		}
		if t.written >= maxTableRows || t.out.Len() >= maxTableBytes {
			q.Del("limit")
			q.Set("format", "csv")
			c.Response().Header().Set("Link", "<"+c.Request().URL.Path+"?"+q.Encode()+`>; rel="next"`)
			return pages, nil
		}
	}
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
			cells[i] = cell(row[name])
		}
		_ = t.csv.Write(cells) // to a buffer
		t.last = cell(row["id"])
	}
	t.csv.Flush()
	t.written += len(rows)
	return string(members["has_more"]) == "true", nil
}

// begin writes the names of the members: those of every row, and those that these
// rows were asked to include.
func (t *sheet) begin(rows []map[string]json.RawMessage) {
	more := map[string]bool{}
	for _, row := range rows {
		for name := range row {
			more[name] = !slices.Contains(t.columns, name)
		}
	}
	maps.DeleteFunc(more, func(_ string, extra bool) bool { return !extra })
	t.header = slices.Concat(t.columns, slices.Sorted(maps.Keys(more)))
	_ = t.csv.Write(t.header) // to a buffer
}

// cell returns a value as it stands in a table. A text that a spreadsheet would take
// for a formula is made one that it shows.
func cell(value json.RawMessage) string {
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value) // a number, a truth, an object or a list
	}
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// send answers with the table.
func (t *sheet) send(c echo.Context) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, `attachment; filename="`+path.Base(c.Request().URL.Path)+`.csv"`)
	return c.Blob(http.StatusOK, "text/csv; charset=utf-8", t.out.Bytes())
}
