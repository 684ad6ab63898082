package middleware

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"rail/server/problem"
)

// maxDepth bounds the nesting of a body: decoders are recursive.
const maxDepth = 32

// freeform lists the members in which numbers may have any form: the client's own data, and
// conditions, whose parser names the path.
var freeform = map[string]bool{"metadata": true, "answers": true, "payout_details": true, "conditions": true}

// CheckJSON checks the raw bytes of a body for errors that decoders ignore: invalid UTF-8, NUL,
// lone surrogates, duplicate member names (even if they differ by case), trailing data, depth, and
// numbers such as 10.0 or 1e2 for integers (decisions, 190).
func CheckJSON(body []byte) *problem.Error {
	if !utf8.Valid(body) {
		return problem.New(problem.InvalidJSON, "The body is not valid UTF-8.")
	}
	// text finds duplicate names itself, including names that differ only by case.
	d := jsonReader{Decoder: jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))}
	for {
		if err := d.next(); err != nil {
			return err
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return d.fail("data after the end of the value")
	}
	return nil
}

// jsonReader reads one JSON text, token by token. names holds the lower-case names of each open
// object, the innermost last.
type jsonReader struct {
	*jsontext.Decoder
	names []map[string]bool
}

// fail returns a refusal that names the byte offset.
func (d *jsonReader) fail(format string, args ...any) *problem.Error {
	return problem.New(problem.InvalidJSON, "The body is not valid JSON: %s at byte %d.", fmt.Sprintf(format, args...),
		d.InputOffset())
}

// next reads one token and checks it.
func (d *jsonReader) next() *problem.Error {
	depth := d.StackDepth()
	token, err := d.ReadToken()
	if err != nil {
		return d.broken(err)
	}
	switch token.Kind() {
	case '{':
		// The set of names is made with the first of them.
		d.names = append(d.names, nil)
	case '}':
		d.names = d.names[:len(d.names)-1]
		return nil
	case ']':
		return nil
	case '"':
		if err := d.text(token.String()); err != nil {
			return err
		}
	case '0':
		if err := d.number(token.String()); err != nil {
			return err
		}
	}
	if depth > maxDepth {
		return d.fail("more than %d levels", maxDepth)
	}
	return nil
}

// broken returns the refusal of a text that ends too early or is malformed, with the byte offset.
func (d *jsonReader) broken(err error) *problem.Error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return problem.New(problem.InvalidJSON, "The body is not valid JSON: %s at byte %d.", syntax.Err, syntax.ByteOffset)
	}
	return d.fail("it ends too early")
}

// text checks a string: PostgreSQL cannot store NUL, and a name must be unique in its object,
// because parsers differ in which duplicate they use.
func (d *jsonReader) text(s string) *problem.Error {
	if strings.IndexByte(s, 0) >= 0 {
		return d.fail("a NUL character in a string")
	}
	if kind, n := d.StackIndex(d.StackDepth()); kind != '{' || n%2 == 0 {
		return nil // a value
	}
	in, folded := &d.names[len(d.names)-1], strings.ToLower(s)
	if (*in)[folded] {
		return d.fail("the member %q is given twice", s)
	}
	if *in == nil {
		*in = map[string]bool{}
	}
	(*in)[folded] = true
	return nil
}

// number refuses a number that is not written as an integer, except in free-form members. Amounts
// are in minor units, so a decimal point is a mistake.
func (d *jsonReader) number(text string) *problem.Error {
	if !strings.ContainsAny(text, ".eE") {
		return nil
	}
	path := d.path()
	if slices.ContainsFunc(path, func(name string) bool { return freeform[name] }) {
		return nil
	}
	param := strings.TrimLeft(strings.ReplaceAll(strings.Join(path, "."), ".[", "["), ".")
	return problem.Invalid(param, "%s must be an integer without a point or exponent, not %s.", param, text)
}

// path returns the path of the current value in the form of error.param: member names, and indexes
// in brackets.
func (d *jsonReader) path() []string {
	path := slices.Collect(d.StackPointer().Tokens())
	for i := range path {
		if kind, _ := d.StackIndex(i + 1); kind == '[' {
			path[i] = "[" + path[i] + "]"
		}
	}
	return path
}
