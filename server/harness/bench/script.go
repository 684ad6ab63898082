package bench

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/secret"
)

// script is a pgbench script with its constants. Constants are variables, not literals: then
// every transaction has the same text, and PostgreSQL prepares each statement once.
type script struct {
	text    string
	defines []string          // name=value, for -D
	vars    map[string]string // names of the numbers that the request was drawn with, by their text
	ids     map[string]string // variables of the ids that the request made
	kinds   map[string]int    // how many ids were made, by prefix
	shift   time.Duration     // from the captured request to now
	hash    []byte            // hash of the visitor of the captured request
	stem    string            // start of fresh ids behind their prefix
}

// freshStride is the most fresh numbers of one transaction: f0 for the request and one for each id
// that the server makes of one kind.
const freshStride = 8

// The parameters of a statement, and ids as package ident makes them: a prefix and 26 characters,
// of which the first ten are the time.
var (
	parameter = regexp.MustCompile(`\$(\d+)`)
	madeID    = regexp.MustCompile(`\b([a-z]+_(?:test_)?)([0-9a-hjkmnp-tv-z]{26})\b`)
)

// newScript returns the server's statements for one request as a transaction of pgbench,
// in the same round trips. The request's own ids become random, ids made by the server
// become fresh ones in the same order of time, and all other values stay.
func newScript(c captured, l load, sz size, clients int) script {
	s := script{
		vars: map[string]string{}, ids: map[string]string{}, kinds: map[string]int{}, shift: time.Since(c.at),
		hash: secret.HashToken(visitor(c.draw)),
	}
	// With the 16 digits of a fresh number, which is a time in microseconds, the ten characters
	// make an id of the usual length. Later transactions get larger ids, as on the server, so
	// that they go to the same end of an index.
	s.stem = strings.TrimPrefix(ident.New(ident.Sale), string(ident.Sale))[:10]
	for name, n := range map[string]int64{
		"program": c.draw.Program, "partner": c.draw.Partner, "customer": c.draw.Customer, "sale": c.draw.Sale,
		"f0": c.draw.Fresh,
	} {
		if n != 0 {
			s.vars[strconv.FormatInt(n, 10)] = name
		}
	}
	var body strings.Builder
	// Statements of one round trip go in a pipeline, as the server sends them.
	for _, trip := range c.trips {
		if len(trip) > 1 {
			body.WriteString("\\startpipeline\n")
		}
		for _, st := range trip {
			body.WriteString(s.rewrite(st) + ";\n")
		}
		if len(trip) > 1 {
			body.WriteString("\\endpipeline\n")
		}
	}
	s.text = l.set(sz) + s.fresh(clients) + body.String()
	s.defines = append(s.defines, "seq=0")
	return s
}

// fresh returns commands that set numbers unique to the transaction, nearly in order of
// time.
func (s *script) fresh(clients int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\\set seq :seq + 1\n\\set f0 %d + (:seq * %d + :client_id) * %d\n", time.Now().UnixMicro(), clients,
		freshStride)
	// One fresh number for each made id of a kind; kinds may share them, since prefixes differ.
	most := 0
	for _, n := range s.kinds {
		most = max(most, n)
	}
	for i := 1; i <= most; i++ {
		fmt.Fprintf(&b, "\\set f%d :f0 + %d\n", i, i)
	}
	return b.String()
}

// rewrite returns a statement with its parameters replaced by expressions.
func (s *script) rewrite(st statement) string {
	return parameter.ReplaceAllStringFunc(st.sql, func(p string) string {
		n, err := strconv.Atoi(p[1:])
		if err != nil || n > len(st.args) {
			return p
		}
		return s.value(st.args[n-1])
	})
}

// value returns the SQL expression of an argument.
func (s *script) value(arg any) string {
	text, null := s.textOf(arg)
	if null {
		return "NULL" // pgbench cannot bind it
	}
	if text == "" {
		return "''" // nor this
	}
	// The hash of the visitor is computed by the database, of the fresh visitor.
	if b, ok := arg.([]byte); ok && string(b) == string(s.hash) {
		return "sha256((" + s.constant(visitorStem) + "::text || :f0::text)::bytea)"
	}
	// A lone constant needs no expression; pgbench binds it as a parameter.
	parts := s.split(text)
	if len(parts) == 1 && strings.HasPrefix(parts[0], ":c") && !strings.HasPrefix(parts[0], ":customer") {
		return parts[0]
	}
	return "(" + strings.Join(parts, "::text || ") + "::text)"
}

// split splits a text into constants and the numbers that change. An argument may have several of
// them, such as the JSON of an event.
func (s *script) split(text string) []string {
	var parts []string
	at := 0
	add := func(end int, name string) {
		if end > at {
			parts = append(parts, s.constant(text[at:end]))
		}
		if name != "" {
			parts = append(parts, ":"+name)
		}
	}
	for at < len(text) {
		from, to, name, prefix := s.next(text, at)
		if name == "" {
			break
		}
		if prefix != "" { // an id made by the server: its time is that of the run
			text = text[:from] + s.stem + text[to:]
			from += len(s.stem)
			to = from
		}
		add(from, name)
		at = to
	}
	if at < len(text) || len(parts) == 0 {
		parts = append(parts, s.constant(text[at:]))
	}
	return parts
}

// next finds the first number of the request, or id made by it, from at on. prefix is that of an id
// that was made, else "". Without either, name is "".
func (s *script) next(text string, at int) (from, to int, name, prefix string) {
	from = len(text)
	// The earliest number wins; the fixed lengths keep one from being a part of another.
	for number, v := range s.vars {
		if i := strings.Index(text[at:], number); i >= 0 && at+i < from {
			from, to, name = at+i, at+i+len(number), v
		}
	}
	// An id that the server made counts where it comes before any number.
	for _, m := range madeID.FindAllStringSubmatchIndex(text[at:], -1) {
		key := text[at+m[4] : at+m[5]]
		if strings.HasPrefix(key, "01000000") { // an id of the data
			continue
		}
		if at+m[4] < from {
			from, to, prefix = at+m[4], at+m[5], text[at+m[2]:at+m[3]]
			name = s.variableOf(prefix, key)
		}
		break
	}
	return from, to, name, prefix
}

// variableOf returns the variable of an id that the request made. The same id, in several
// statements, is the same variable.
func (s *script) variableOf(prefix, key string) string {
	if s.ids[key] == "" {
		s.kinds[prefix]++
		s.ids[key] = "f" + strconv.Itoa(s.kinds[prefix])
	}
	return s.ids[key]
}

// constant defines a constant and returns its variable.
func (s *script) constant(text string) string {
	name := "c" + strconv.Itoa(len(s.defines))
	s.defines = append(s.defines, name+"="+text)
	return ":" + name
}

// textOf returns an argument in PostgreSQL's text form. Times follow the clock: an hour-old request would see new
// rows in the future.
func (s *script) textOf(arg any) (text string, null bool) {
	// Pointers are optional values: nil is NULL.
	v := reflect.ValueOf(arg)
	for v.IsValid() && v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && v.IsNil() {
		return "", true
	}
	switch a := v.Interface().(type) {
	case clock.Time:
		return a.Add(s.shift).Format("2006-01-02T15:04:05.000000Z07:00"), false
	case []byte:
		return bytesText(a), false
	case json.RawMessage:
		return string(a), false
	}
	if v.Kind() == reflect.Slice {
		return s.arrayText(v), false
	}
	return fmt.Sprint(v.Interface()), false
}

// bytesText returns JSON, which the queries have as []byte, as it is, and other bytes in
// hexadecimal.
func bytesText(b []byte) string {
	if json.Valid(b) {
		return string(b)
	}
	return fmt.Sprintf(`\x%x`, b)
}

// arrayText returns an array in PostgreSQL's text form.
func (s *script) arrayText(a reflect.Value) string {
	quoted := make([]string, a.Len())
	for i := range quoted {
		text, null := s.textOf(a.Index(i).Interface())
		if quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`; null {
			quoted[i] = "NULL"
		}
	}
	return "{" + strings.Join(quoted, ",") + "}"
}
