package middleware

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"rail/server/problem"
)

// maxDepth bounds the nesting of a body.
const maxDepth = 32

// freeform names the members whose numbers are the client's own text or are
// judged, with a path, by the conditions' own parser.
var freeform = map[string]bool{"metadata": true, "answers": true, "payout_details": true, "conditions": true}

// CheckJSON judges the raw bytes of a body before anything decodes them, for
// what decoders pass over in silence: bytes that are not UTF-8, NUL, lone
// surrogates, member names given twice (also when they differ only by case),
// trailing data, depth, and numbers such as 10.0 or 1e2 where an integer is
// meant (decisions, 190).
func CheckJSON(body []byte) *problem.Error {
	if !utf8.Valid(body) {
		return problem.New(problem.InvalidJSON, "The body is not valid UTF-8.")
	}
	d := &door{in: body}
	d.space()
	d.value(0)
	d.space()
	if d.err == nil && d.at < len(d.in) {
		d.fail("data after the end of the value")
	}
	return d.err
}

// door is a recursive descent over one JSON text.
type door struct {
	in   []byte
	at   int
	path []string
	err  *problem.Error
}

func (d *door) fail(format string, args ...any) {
	if d.err == nil {
		d.err = problem.New(problem.InvalidJSON, "The body is not valid JSON: %s at byte %d.", fmt.Sprintf(format, args...), d.at)
	}
}

func (d *door) space() {
	for d.at < len(d.in) && strings.IndexByte(" \t\r\n", d.in[d.at]) >= 0 {
		d.at++
	}
}

func (d *door) peek() byte {
	if d.err != nil || d.at >= len(d.in) {
		return 0
	}
	return d.in[d.at]
}

func (d *door) value(depth int) {
	if depth > maxDepth {
		d.fail("more than %d levels", maxDepth)
		return
	}
	switch c := d.peek(); {
	case c == '{':
		d.object(depth)
	case c == '[':
		d.array(depth)
	case c == '"':
		d.text()
	case c == '-' || c >= '0' && c <= '9':
		d.number()
	case c == 't':
		d.literal("true")
	case c == 'f':
		d.literal("false")
	case c == 'n':
		d.literal("null")
	default:
		d.fail("a value is missing")
	}
}

func (d *door) literal(word string) {
	if !strings.HasPrefix(string(d.in[d.at:min(len(d.in), d.at+len(word))]), word) {
		d.fail("unknown word")
		return
	}
	d.at += len(word)
}

func (d *door) object(depth int) {
	d.at++
	var names []string
	seen := map[string]bool(nil)
	for first := true; ; first = false {
		d.space()
		if d.peek() == '}' {
			if !first {
				d.fail("a member is missing")
			}
			d.at++
			return
		}
		name := d.member(&names, &seen)
		if d.err != nil {
			return
		}
		d.path = append(d.path, name)
		d.value(depth + 1)
		d.path = d.path[:len(d.path)-1]
		if !d.more('}') {
			return
		}
	}
}

// member reads a name and its colon, and refuses a name that was there before.
func (d *door) member(names *[]string, seen *map[string]bool) string {
	if d.peek() != '"' {
		d.fail("a member name is missing")
		return ""
	}
	name := d.text()
	d.space()
	if d.peek() != ':' {
		d.fail("a colon is missing")
		return ""
	}
	d.at++
	d.space()
	folded := strings.ToLower(name)
	if *seen == nil && len(*names) >= 16 {
		*seen = map[string]bool{}
		for _, n := range *names {
			(*seen)[n] = true
		}
	}
	if (*seen)[folded] || *seen == nil && slices.Contains(*names, folded) {
		d.fail("the member %q is given twice", name)
		return ""
	}
	if *seen != nil {
		(*seen)[folded] = true
	}
	*names = append(*names, folded)
	return name
}

func (d *door) array(depth int) {
	d.at++
	for i := 0; ; i++ {
		d.space()
		if d.peek() == ']' {
			if i > 0 {
				d.fail("an element is missing")
			}
			d.at++
			return
		}
		d.path = append(d.path, fmt.Sprintf("[%d]", i))
		d.value(depth + 1)
		d.path = d.path[:len(d.path)-1]
		if !d.more(']') {
			return
		}
	}
}

// more steps over a comma, or over the end of the container.
func (d *door) more(end byte) bool {
	d.space()
	switch d.peek() {
	case ',':
		d.at++
		return true
	case end:
		d.at++
		return false
	default:
		d.fail("a comma or %q is missing", end)
		return false
	}
}

// number reads a number of the JSON grammar; outside of free-form members it
// must be written as an integer.
func (d *door) number() {
	start := d.at
	if d.peek() == '-' {
		d.at++
	}
	switch c := d.peek(); {
	case c == '0':
		d.at++
	case c >= '1' && c <= '9':
		d.digits()
	default:
		d.fail("a digit is missing")
		return
	}
	whole := d.fraction()
	if !whole && d.err == nil && !slices.ContainsFunc(d.path, func(p string) bool { return freeform[p] }) {
		d.err = problem.Invalid(d.param(), "%s must be an integer without a point or exponent, not %s.", d.param(), d.in[start:d.at])
	}
}

func (d *door) digits() {
	for c := d.peek(); c >= '0' && c <= '9'; c = d.peek() {
		d.at++
	}
}

// fraction reads what may follow the integer part and tells whether nothing did.
func (d *door) fraction() (whole bool) {
	whole = true
	if d.peek() == '.' {
		whole = false
		d.at++
		d.someDigits()
	}
	if c := d.peek(); c == 'e' || c == 'E' {
		whole = false
		d.at++
		if c := d.peek(); c == '+' || c == '-' {
			d.at++
		}
		d.someDigits()
	}
	return whole
}

func (d *door) someDigits() {
	if c := d.peek(); c < '0' || c > '9' {
		d.fail("a digit is missing")
		return
	}
	d.digits()
}

// param is the path of the value at hand, as in error.param.
func (d *door) param() string {
	var b strings.Builder
	for _, p := range d.path {
		if b.Len() > 0 && !strings.HasPrefix(p, "[") {
			b.WriteByte('.')
		}
		b.WriteString(p)
	}
	return b.String()
}
