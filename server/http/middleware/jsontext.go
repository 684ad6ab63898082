package middleware

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and returns it decoded. NUL and surrogates that do not
// pair are refused: PostgreSQL cannot keep the one, and Go would turn the
// other into another text in silence.
func (d *door) text() string {
	d.at++
	start := d.at
	for d.at < len(d.in) {
		switch c := d.in[d.at]; {
		case c == '"':
			out := string(d.in[start:d.at])
			d.at++
			return out
		case c == '\\':
			return d.escaped(d.in[start:d.at])
		case c < 0x20:
			d.fail("a control character in a string")
			return ""
		default:
			d.at++
		}
	}
	d.fail("a string does not end")
	return ""
}

// escaped goes on with a string that has an escape.
func (d *door) escaped(head []byte) string {
	out := append([]byte(nil), head...)
	for d.at < len(d.in) {
		c := d.in[d.at]
		d.at++
		switch {
		case c == '"':
			return string(out)
		case c < 0x20:
			d.fail("a control character in a string")
			return ""
		case c != '\\':
			out = append(out, c)
		default:
			out = d.escape(out)
			if d.err != nil {
				return ""
			}
		}
	}
	d.fail("a string does not end")
	return ""
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads what follows a backslash.
func (d *door) escape(out []byte) []byte {
	c := d.peek()
	d.at++
	if plain, ok := escapes[c]; ok {
		return append(out, plain)
	}
	if c != 'u' {
		d.fail("an unknown escape in a string")
		return nil
	}
	r := d.hex4()
	if utf16.IsSurrogate(r) {
		r = d.pair(r)
	}
	if r == 0 {
		d.fail("a NUL character in a string")
	}
	return utf8.AppendRune(out, r)
}

// pair reads the second half of a surrogate pair.
func (d *door) pair(high rune) rune {
	if d.at+2 > len(d.in) || d.in[d.at] != '\\' || d.in[d.at+1] != 'u' {
		d.fail("half of a surrogate pair in a string")
		return 0
	}
	d.at += 2
	r := utf16.DecodeRune(high, d.hex4())
	if r == utf8.RuneError {
		d.fail("half of a surrogate pair in a string")
	}
	return r
}

func (d *door) hex4() rune {
	if d.at+4 > len(d.in) {
		d.fail("a short escape in a string")
		return 0
	}
	n, err := strconv.ParseUint(string(d.in[d.at:d.at+4]), 16, 16)
	if err != nil {
		d.fail("a wrong escape in a string")
		return 0
	}
	d.at += 4
	return rune(n)
}
