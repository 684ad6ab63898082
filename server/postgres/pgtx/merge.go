package pgtx

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// sizes is how many texts there are of one INSERT: of 1, 2, 4 … 64 rows, so that
// few are prepared.
const sizes = 7

// merge joins the statements of several riders, each in its own order. Equal
// texts come together where every rider's order allows, and become one statement
// where they are rows: of INSERT … VALUES, or of arrays that are all unnested.
func merge(queues [][]statement) []statement {
	var out []statement
	for {
		sql, ok := next(queues)
		if !ok {
			return out
		}
		var equal []statement
		for i, q := range queues {
			n := leading(q, sql)
			equal = append(equal, q[:n]...)
			queues[i] = q[n:]
		}
		out = append(out, join(equal)...)
	}
}

// next returns the text to send next: one that no rider has behind another text,
// so that all of its kind go together; the first one if every text has that.
func next(queues [][]statement) (sql string, ok bool) {
	for _, q := range queues {
		if len(q) == 0 {
			continue
		}
		if !ok {
			sql, ok = q[0].sql, true
		}
		if !behind(queues, q[0].sql) {
			return q[0].sql, true
		}
	}
	return sql, ok
}

// behind reports whether a rider has the text behind another one.
func behind(queues [][]statement, sql string) bool {
	for _, q := range queues {
		for _, s := range q[leading(q, sql):] {
			if s.sql == sql {
				return true
			}
		}
	}
	return false
}

// leading returns how many statements of the text q begins with.
func leading(q []statement, sql string) int {
	n := 0
	for n < len(q) && q[n].sql == sql {
		n++
	}
	return n
}

// join makes statements of one text into as few as its shape allows.
func join(equal []statement) []statement {
	if len(equal) == 1 {
		return equal
	}
	switch shape := shapeOf(equal[0].sql); {
	case shape.arrays:
		return []statement{appended(equal)}
	case shape.inserts != nil:
		return shape.rows(equal)
	}
	return equal
}

// appended is one statement with the elements of all arrays.
func appended(equal []statement) statement {
	args := make([]any, len(equal[0].args))
	for i := range args {
		all := reflect.ValueOf(equal[0].args[i])
		all = all.Slice3(0, all.Len(), all.Len()) // the rider's own stays as it is
		for _, s := range equal[1:] {
			all = reflect.AppendSlice(all, reflect.ValueOf(s.args[i]))
		}
		args[i] = all.Interface()
	}
	return statement{equal[0].sql, args}
}

// shape is what merge knows of a text. Arrays reports whether every parameter is
// an array that is unnested, wherever it stands; inserts are the texts of one
// INSERT … VALUES with 1, 2, 4 … rows, nil of other texts.
type shape struct {
	arrays  bool
	inserts []string
}

var (
	shapes    sync.Map // by text: there are as many as the program has
	parameter = regexp.MustCompile(`\$(\d+)`)
	unnested  = regexp.MustCompile(`unnest\(\$\d+::[a-z]+\[\]\)`)
)

// shapeOf returns what is known of a text.
func shapeOf(sql string) shape {
	if known, ok := shapes.Load(sql); ok {
		return known.(shape) //nolint:forcetypeassert // nothing else is stored
	}
	s := parse(sql)
	shapes.Store(sql, s)
	return s
}

func parse(sql string) shape {
	if n := len(parameter.FindAllString(sql, -1)); n > 0 && n == len(unnested.FindAllString(sql, -1)) {
		return shape{arrays: true}
	}
	head, rest, ok := strings.Cut(sql, "VALUES (")
	if !ok || !strings.Contains(head, "INSERT INTO ") {
		return shape{}
	}
	end, depth := 0, 1
	for ; end < len(rest) && depth > 0; end++ {
		switch rest[end] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	if depth > 0 || strings.Contains(rest[end:], "$") {
		return shape{}
	}
	return shape{inserts: inserts(head+"VALUES ", "("+rest[:end], rest[end:])}
}

// inserts returns the texts of an INSERT by its size.
func inserts(head, row, tail string) []string {
	width := 0 // a parameter may stand twice
	for _, p := range parameter.FindAllString(row, -1) {
		n, _ := strconv.Atoi(p[1:]) // parameter matches digits
		width = max(width, n)
	}
	texts := make([]string, sizes)
	for i := range texts {
		var rows []string
		for r := range 1 << i {
			rows = append(rows, parameter.ReplaceAllStringFunc(row, func(p string) string {
				n, _ := strconv.Atoi(p[1:])
				return "$" + strconv.Itoa(r*width+n)
			}))
		}
		texts[i] = head + strings.Join(rows, ", ") + tail
	}
	return texts
}

// rows returns INSERTs of as many rows as there are statements.
func (s shape) rows(equal []statement) []statement {
	var out []statement
	for size := sizes - 1; len(equal) > 0; size-- {
		for n := 1 << size; len(equal) >= n; equal = equal[n:] {
			var args []any
			for _, one := range equal[:n] {
				args = append(args, one.args...)
			}
			out = append(out, statement{s.inserts[size], args})
		}
	}
	return out
}
