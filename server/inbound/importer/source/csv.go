package source

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rail/server/clock"
)

const (
	// maxColumns bounds a header.
	maxColumns = 200
	// maxLine bounds a line, in bytes; a longer one is a problem. A line in quotes may have line feeds.
	maxLine = 64 << 10
)

// CSV reads files with a header line, one file a kind: Rail's own export, and files of other products by the meaning
// of their headers. Delimiters are commas, semicolons or tabs; the text is UTF-8, or UTF-16 with its mark. A file is
// read once, in bounded memory.
//
// Such files have no program settings and no ids of the merchant's other objects. Rewardful, Tapfiliate,
// FirstPromoter and PartnerStack give a partner's tracking value in the file of partners, so that its line is a
// partner and a link. Dub's file of partners has no links, and its file of commissions names the partner only if the
// column was chosen. Post Affiliate Pro's one file with sections is refused.
type CSV struct {
	Mapping  map[Kind]map[string]string // by kind: Rail's field -> header of the file; empty: by meaning
	Currency string                     // of amounts without a currency
	Now      clock.Time                 // the creation time of objects without one
	Zone     *time.Location             // of dates without a time; nil is UTC
}

// Rows reads a file of one kind. The error is about the whole file (no header, not UTF-8, a mapped header that is
// missing, a missing column, more than maxColumns); a bad line is a row with a Problem.
func (c CSV) Rows(kind Kind, file io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		t, err := c.open(kind, file)
		if err == nil {
			err = t.complete()
		}
		if err != nil {
			yield(Row{}, err)
			return
		}
		for {
			err := t.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Row{}, fmt.Errorf("line %d: %w", t.line, err))
				return
			}
			for _, row := range t.rows() {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// Headers returns the header line and the mapping that would be used, so that people can correct it.
func (c CSV) Headers(kind Kind, file io.Reader) (headers []string, used map[string]string, err error) {
	t, err := c.open(kind, file)
	if err != nil {
		return nil, nil, err
	}
	used = map[string]string{}
	for field, i := range t.column {
		used[field] = t.headers[i]
	}
	return t.headers, used, nil
}

// Unclear returns the titles of the optional fields that several columns can be, so that people choose one.
func (c CSV) Unclear(kind Kind, file io.Reader) (titles []string) {
	t, err := c.open(kind, file)
	if err != nil {
		return nil
	}
	for _, s := range t.several {
		if !s.field.Required {
			titles = append(titles, s.field.Title)
		}
	}
	return titles
}

// several are columns that can all be one field.
type several struct {
	field   Field
	columns string
}

// table is a file in progress.
type table struct {
	CSV
	kind    Kind
	lines   *lines
	headers []string       // different names
	words   []string       // of the headers, without the numbers of equal ones
	column  map[string]int // by Rail's field
	several []several
	own     bool           // an export of Rail
	equal   map[uint64]int // the lines so far without an id, by their content
	ids     map[uint64]first
	seed    maphash.Seed // of the hashes in ids
	line    int          // the number of the line in cells
	cells   []string
	wrong   string // why the line has no cells
}

// open reads the header of a file.
func (c CSV) open(kind Kind, file io.Reader) (*table, error) {
	if !slices.Contains(Kinds, kind) {
		return nil, fmt.Errorf("there is no kind of file %q", kind)
	}
	in, err := newLines(file)
	if err != nil {
		return nil, err
	}
	t := &table{
		CSV: c, kind: kind, lines: in, column: map[string]int{}, equal: map[uint64]int{}, ids: map[uint64]first{},
		seed: maphash.MakeSeed(),
	}
	switch err := t.next(); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty: its first line must have the names of the columns")
	case err != nil:
		return nil, err
	case t.wrong != "":
		return nil, fmt.Errorf("the header line %s", t.wrong)
	case len(t.cells) > maxColumns:
		return nil, fmt.Errorf("the file has %d columns; at most %d can be read", len(t.cells), maxColumns)
	case strings.HasPrefix(t.cells[0], "[["):
		return nil, errors.New("a file of Post Affiliate Pro with sections cannot be read: export each table as its own file")
	}
	t.name(t.cells)
	t.own = slices.Contains(t.headers, "object") && slices.Contains(t.headers, "id")
	if mapping := c.Mapping[kind]; len(mapping) > 0 {
		return t, t.assign(mapping)
	}
	t.guess()
	return t, nil
}

// assign uses a given mapping, and nothing else.
func (t *table) assign(mapping map[string]string) error {
	for _, field := range slices.Sorted(maps.Keys(mapping)) {
		if !slices.ContainsFunc(fields[t.kind], func(f Field) bool { return f.Name == field }) {
			return fmt.Errorf("%s have no field %q", t.kind, field)
		}
		columns := t.columns(mapping[field])
		if at := slices.Index(t.headers, mapping[field]); at >= 0 {
			columns = []int{at}
		}
		switch len(columns) {
		case 0:
			return fmt.Errorf("the file has no column %q, which is mapped to %s", mapping[field], field)
		case 1:
			t.column[field] = columns[0]
		default:
			return fmt.Errorf("%q is mapped to %s, but the file has the columns %s: map one of them", mapping[field], field,
				t.named(columns))
		}
	}
	return nil
}

// name sets the headers of the file. Equal ones get numbers, such as Amount (1) and Amount (2), so that each can be
// chosen.
func (t *table) name(cells []string) {
	count, seen := map[string]int{}, map[string]int{}
	for _, h := range cells {
		count[strings.TrimSpace(h)]++
	}
	for _, h := range cells {
		h = strings.TrimSpace(h)
		t.words = append(t.words, wordOf(h))
		if seen[h]++; count[h] > 1 && h != "" {
			h = fmt.Sprintf("%s (%d)", h, seen[h])
		}
		t.headers = append(t.headers, h)
	}
}

// columns returns the columns whose header is one of some words.
func (t *table) columns(words ...string) (all []int) {
	for i, word := range t.words {
		if slices.ContainsFunc(words, func(other string) bool { return word == wordOf(other) }) {
			all = append(all, i)
		}
	}
	return all
}

// named returns the headers of columns.
func (t *table) named(columns []int) string {
	var all []string
	for _, i := range columns {
		all = append(all, strconv.Quote(t.headers[i]))
	}
	return strings.Join(all, " and ")
}

// guess finds the column of each field by the meaning of the headers. A column has one field, a field's best word
// comes first, and fields come in their order. It does not decide between several columns with the best word.
func (t *table) guess() {
	taken := map[int]bool{}
	for _, f := range fields[t.kind] {
		for _, word := range append([]string{f.Name}, f.words...) {
			columns := slices.DeleteFunc(t.columns(strings.Fields(word)...), func(i int) bool { return taken[i] })
			if len(columns) == 0 {
				continue
			}
			if len(columns) == 1 {
				t.column[f.Name] = columns[0]
			} else {
				t.several = append(t.several, several{f, t.named(columns)})
			}
			for _, i := range columns {
				taken[i] = true
			}
			break
		}
	}
}

// complete refuses a file without a column that every line needs, and one whose columns are not clear.
func (t *table) complete() error {
	if len(t.several) > 0 {
		s := t.several[0]
		return fmt.Errorf("it is not clear which column to use for %q, %s: map one of them", s.field.Title, s.columns)
	}
	for _, f := range fields[t.kind] {
		if f.Need == "" || t.has(f.Need) {
			continue
		}
		return fmt.Errorf("the file has no column for %s; its columns are %s", f.Need, strings.Join(t.headers, ", "))
	}
	return nil
}

// has reports whether one of the fields with a need has a column.
func (t *table) has(need string) bool {
	return slices.ContainsFunc(fields[t.kind], func(f Field) bool {
		_, found := t.column[f.Name]
		return found && f.Need == need
	})
}

// wordOf returns a header without case, spaces and signs.
func wordOf(header string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, header)
}

// next reads the cells of the next line that is not empty, or the reason why it has none. The error is io.EOF or
// about the whole file.
func (t *table) next() error {
	for {
		text, number, err := t.lines.next()
		if err != nil {
			return err
		}
		t.line, t.cells, t.wrong = number, nil, ""
		switch {
		case len(text) > maxLine:
			t.wrong = fmt.Sprintf("is longer than %d bytes, or a quote in it is not closed", maxLine)
			return nil
		case !utf8.ValidString(text):
			return errors.New("the file is not UTF-8: save it as CSV UTF-8")
		case strings.TrimSpace(text) == "":
			continue
		}
		t.split(text)
		return nil
	}
}

// split reads the cells of a line.
func (t *table) split(text string) {
	var err error
	if t.cells, err = t.lines.cells(text); err != nil {
		t.wrong = "is not CSV: " + err.Error()
	} else if n := len(t.headers); n > 0 && len(t.cells) != n {
		t.wrong = fmt.Sprintf("has %d cells, and the header has %d", len(t.cells), n)
	}
}
