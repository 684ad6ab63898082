package pgtx

import (
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// merge merges queues of statements and keeps the order of each. Equal texts are grouped if every
// queue's order allows, and become one statement if they only add rows: INSERT … VALUES, or a
// statement whose parameters are all unnested arrays.
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

// next returns the text to send next. It prefers a text that no queue has behind another text, so
// that all statements of that text are grouped. Otherwise it returns the first text.
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

// behind reports whether a queue has the text behind another one.
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

// join merges statements of one text into as few as its shape allows.
func join(equal []statement) []statement {
	if len(equal) == 1 {
		return equal
	}
	switch shape := shapeOf(equal[0].sql); {
	case shape.arrays:
		return []statement{appended(equal)}
	case shape.row != "":
		rows := make([][]any, len(equal))
		for i, s := range equal {
			rows[i] = s.args
		}
		return []statement{{sql: equal[0].sql, rows: rows}}
	}
	return equal
}

// appended returns one statement with the elements of all arrays.
func appended(equal []statement) statement {
	args := make([]any, len(equal[0].args))
	for i := range args {
		all := reflect.ValueOf(equal[0].args[i])
		all = all.Slice3(0, all.Len(), all.Len()) // so that append copies it
		for _, s := range equal[1:] {
			all = reflect.AppendSlice(all, reflect.ValueOf(s.args[i]))
		}
		args[i] = all.Interface()
	}
	return statement{sql: equal[0].sql, args: args}
}

// shape describes a text for merge. arrays is true if every parameter is an unnested array. For
// INSERT … VALUES, row is the text inside the parentheses, head the text before and tail the text
// after them.
type shape struct {
	arrays          bool
	head, row, tail string
}

var (
	shapes    sync.Map // by text; bounded by the number of queries
	parameter = regexp.MustCompile(`\$(\d+)`)
	unnested  = regexp.MustCompile(`unnest\(\$\d+::[a-z]+\[\]\)`)
)

// shapeOf returns the shape of a text.
func shapeOf(sql string) shape {
	if cached, ok := shapes.Load(sql); ok {
		return cached.(shape) //nolint:forcetypeassert // nothing else is stored
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
	if depth > 0 || strings.Contains(head+rest[end:], "$") {
		return shape{}
	}
	return shape{head: head, row: rest[:end-1], tail: rest[end:]}
}
