package guides

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A block of the language api declares calls of the API, from which the code of each
// language is written. A call begins at the start of a line; its body may go on in
// lines that are indented:
//
//	partner = POST partners {"program_id":"$program","email":"ada@example.com"}
//	POST partners Idempotency-Key:$program-ada {"program_id":"$program"}
//	GET partners?program_id=$program
//	since = 1 hour ago
//
// $name is the id that an earlier call has given this name.

// call is one statement of such a block.
type call struct {
	name          string // of its id, or ""
	method, path  string
	header, value string // of the request, or ""
	body          any    // members, a list, a string, a json.Number, a bool or nil
}

// members is a JSON object in the order in which it is written.
type members []member

type member struct {
	name  string
	value any
}

// an hour is the method of a statement that names the time an hour ago.
const hour = "1 hour ago"

var (
	starts    = regexp.MustCompile(`(?m)^\w`)
	statement = regexp.MustCompile(`(?s)^(?:(\w+) = )?` +
		`(?:(` + hour + `)|(GET|POST) (\S+)(?: ([\w-]+):(\S+))?(?:\s+(\{.*))?)\s*$`)
)

// calls reads a block. The guides are the binary's own, so that an error in one panics,
// as in regexp.MustCompile.
func calls(block string) []call {
	var out []call
	at := starts.FindAllStringIndex(block, -1)
	for i, from := range at {
		end := len(block)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		m := statement.FindStringSubmatch(block[from[0]:end])
		if m == nil {
			panic("not a call: " + block[from[0]:end])
		}
		c := call{name: m[1], method: m[2] + m[3], path: m[4], header: m[5], value: m[6]}
		if m[7] != "" {
			c.body = ordered(json.NewDecoder(strings.NewReader(m[7])))
		}
		out = append(out, c)
	}
	return out
}

// ordered reads a JSON value.
func ordered(d *json.Decoder) any {
	d.UseNumber()
	switch t := token(d); t {
	case json.Delim('{'):
		var all members
		for d.More() {
			name, _ := token(d).(string)
			all = append(all, member{name, ordered(d)})
		}
		token(d)
		return all
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, ordered(d))
		}
		token(d)
		return list
	default:
		return t
	}
}

func token(d *json.Decoder) json.Token {
	t, err := d.Token()
	if err != nil {
		panic(err)
	}
	return t
}

// quoted returns a string in double quotes, as JSON, Python and Go write it.
func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

var variable = regexp.MustCompile(`\$(\w+)`)

// substituted writes a string with its variables. whole writes a variable that is all of
// the string, and part one in its middle. Both have %s for the name.
func substituted(s string, quote func(string) string, whole, part, prefix string) string {
	if m := variable.FindStringSubmatch(s); m != nil {
		if m[0] == s {
			return fmt.Sprintf(whole, m[1])
		}
		return prefix + quote(variable.ReplaceAllString(s, fmt.Sprintf(part, "$1")))
	}
	return quote(s)
}
