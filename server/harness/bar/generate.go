package bar

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// generator makes values for schemas, valid and invalid ones. Its source of random numbers
// is of one worker, so that a seed repeats what it makes.
type generator struct {
	sys *system
	rnd *rand.Rand
	own objects
}

// oneIn is true once in n times.
func (g *generator) oneIn(n int) bool { return g.rnd.IntN(n) == 0 }

// pick returns one element of a list.
func pick[T any](rnd *rand.Rand, list []T) T { return list[rnd.IntN(len(list))] }

// value returns a value that the schema allows. An id is one of own where there is one:
// random ids would all be refused in the same line of code.
func (g *generator) value(s *openapi3.Schema, name string, depth int) any {
	if p := idPrefix(s); p != "" && g.own[p] != "" {
		return g.own[p]
	}
	if len(s.OneOf) > 0 {
		return g.value(pick(g.rnd, s.OneOf).Value, name, depth)
	}
	if len(s.Enum) > 0 {
		return pick(g.rnd, s.Enum)
	}
	if s.Type.Includes("null") && g.oneIn(5) {
		return nil
	}
	switch {
	case s.Type.Includes("string"):
		return g.text(s, name)
	case s.Type.Includes("integer"):
		return g.integer(s)
	case s.Type.Includes("boolean"):
		return g.oneIn(2)
	case s.Type.Includes("array"):
		return g.list(s, depth)
	case s.Type.Includes("object"):
		return g.object(s, depth)
	}
	return nil
}

// object returns an object with all required members and some of the others. Below four
// levels only the required ones are there, or flows would grow without end. A schema
// without members takes any, as metadata does.
func (g *generator) object(s *openapi3.Schema, depth int) M {
	out := M{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) || depth < 4 && g.oneIn(3) {
			out[name] = g.value(s.Properties[name].Value, name, depth+1)
		}
	}
	if len(s.Properties) == 0 {
		for range g.rnd.IntN(4) {
			out[g.sys.unique("k")] = pick(g.rnd, niceTexts)
		}
	}
	return out
}

// list returns a few different elements, as many as the schema requires and allows.
func (g *generator) list(s *openapi3.Schema, depth int) []any {
	n := int(s.MinItems) + g.rnd.IntN(3)
	if s.MaxItems != nil {
		n = min(n, int(*s.MaxItems))
	}
	out := []any{}
	for range n {
		v := g.value(s.Items.Value, "", depth+1)
		if !slices.ContainsFunc(out, func(o any) bool { return text(o) == text(v) }) {
			out = append(out, v)
		}
	}
	return out
}

// integer returns a value between the schema's bounds. The bounds themselves come often,
// since mistakes are there, and so do small values, which rules about sums accept.
func (g *generator) integer(s *openapi3.Schema) any {
	low, high := int64(0), int64(1_000_000)
	if s.Min != nil {
		low = int64(*s.Min)
	}
	if s.Max != nil {
		high = int64(*s.Max)
	}
	switch g.rnd.IntN(6) {
	case 0:
		return low
	case 1:
		return high
	case 2:
		return low + g.rnd.Int64N(high-low+1)
	}
	return low + g.rnd.Int64N(min(high-low, 5000)+1)
}

// niceTexts are texts that some schemas allow: plain ones, codes, and what databases, shells
// and HTML would read as something else.
var niceTexts = []string{
	"plain", "US", "DE", "USD", "EUR", "JPY", "#0a1b2c", "a-b", "ref", "2026-08-31", "zoë", "日本語", "😀 ok", "O'Brien; --",
	"a%b_c\\", "x y", "\u202e right", "e\u0301", "<b>&amp;", "{}",
}

// text returns a text that the schema allows. If the member's name indicates a unique value, unique values are tried
// first, because a body with a taken value is refused.
func (g *generator) text(s *openapi3.Schema, name string) string {
	switch s.Format {
	case "date-time":
		return time.Now().UTC().Add(time.Duration(g.rnd.IntN(7200)-7000) * time.Second).Format(time.RFC3339Nano)
	case "date":
		return time.Now().UTC().AddDate(0, 0, -g.rnd.IntN(60)).Format(time.DateOnly)
	case "email":
		return g.sys.unique("fuzz") + "@example.com"
	case "uri", "page-uri":
		return "https://shop.example/" + g.sys.unique("page")
	}
	candidates := append([]string{g.sys.unique("fuzz")}, pick(g.rnd, niceTexts), pick(g.rnd, niceTexts))
	if !distinct[name] {
		g.rnd.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	}
	for _, c := range append(candidates, niceTexts...) {
		long := uint64(len([]rune(c)))
		if (s.Pattern == "" || pattern(s.Pattern).MatchString(c)) && long >= s.MinLength &&
			(s.MaxLength == nil || long <= *s.MaxLength) {
			return c
		}
	}
	if s.MaxLength != nil && s.Pattern == "" {
		return strings.Repeat("é", int(*s.MaxLength))
	}
	return g.sys.unique("fuzz")
}

// spoil returns the body with one violation of its schema, and what that is. Both
// are "" where the chosen violation does not apply. There is one violation and not
// several, so that a check that is missing cannot hide behind another one.
func (g *generator) spoil(s *openapi3.Schema, body M) (raw, how string) {
	name := pick(g.rnd, slices.Sorted(maps.Keys(s.Properties)))
	switch g.rnd.IntN(9) {
	case 0:
		if len(s.Required) == 0 {
			return "", ""
		}
		delete(body, pick(g.rnd, s.Required))
		return text(body), "without a required member"
	case 1:
		body[g.sys.unique("member")] = 1
		return text(body), "an unknown member"
	case 2:
		return g.noObject(text(body)), "no object"
	}
	value, how := g.invalidValue(s.Properties[name].Value)
	if how == "" {
		return "", ""
	}
	body[name] = value
	return text(body), name + " " + how
}

// noObject returns a text that is not one JSON object: other JSON, more or less than an
// object, or what parsers disagree on.
func (g *generator) noObject(body string) string {
	return pick(g.rnd, []string{
		"null", "[]", `"x"`, "1", body + " {}", body[1:], "{", "\ufeff{}", `{"a":1,"a":2}`, `{"a":"\ud800"}`,
		"{\"a\":\"\xff\"}", `{"a":"\u0000"}`, strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60),
	})
}

// invalidValue returns a value that violates the schema, and the reason. The reason is "" if the chosen fault does
// not apply to such a member.
func (g *generator) invalidValue(s *openapi3.Schema) (value any, how string) {
	choice := len(s.OneOf) > 0
	switch n := g.rnd.IntN(6); {
	case n == 0 && !s.Type.Includes("object") && !choice:
		return M{"a": 1}, "of another type"
	case n == 1 && s.MaxLength != nil && *s.MaxLength <= 3000:
		return strings.Repeat("x", int(*s.MaxLength)+1), "too long"
	case n == 2 && len(s.Enum) > 0:
		return "no such value", "of no such value"
	case n == 3 && s.Type.Includes("integer"):
		return json.RawMessage(pick(g.rnd, []string{
			"1.5", "1e3", "10.0", `"10"`, "true", "9223372036854775808", "-9223372036854775809", "1e400", "[]",
		})), "is no integer"
	case n == 4 && (s.Pattern != "" || idPrefix(s) != "") && !choice:
		return "~ no match ~", "off its pattern"
	case n == 5 && s.Type.Includes("string") && !choice:
		return "a\x00b", "with a NUL"
	}
	return nil, ""
}

// oddTexts are texts that no schema expects: empty ones, other encodings, numbers out of
// range, dates that are none, addresses inside, and ids that look like ours.
var oddTexts = []string{
	"", " ", "'", "\"", "\\", "%", "_", "$1", "--", "';DROP TABLE sales;--", "../../etc/passwd", "\u0000", "\uffff",
	"\ufeff", "\u2028", "\u202e", "null", "true", "-1", "1e309", "NaN",
	"9223372036854775808", "prg_", "prg_x", "sample_prg_1", "evt_test_1", "2026-02-30", "0000-01-01",
	"9999-12-31T23:59:59-23:59", "10000-01-01T00:00:00Z", "infinity", "now",
	"2026-01-01T24:00:00Z", "javascript:alert(1)", "http://127.0.0.1/", "http://[::1]/", "https://u:p@example.com", "a@b",
	"@", "x@y..z", "${jndi:ldap://x}", "<script>", "\r\nX: y", "%00", "%ff", "..%2f",
}

// anyValue returns a value of any type, whatever the schema. Lists and objects stop at six
// levels: deeper ones are refused before the schema is looked at, and noObject has one.
func (g *generator) anyValue(depth int) any {
	switch g.rnd.IntN(9) {
	case 0:
		return nil
	case 1:
		return g.oneIn(2)
	case 2:
		return pick(g.rnd, []int64{
			0, -1, 1, 1 << 31, 1 << 53, 1<<63 - 1, -1 << 63, 99999999999999, 100000000000000, 999999999999,
		})
	case 3:
		if depth < 6 {
			return []any{g.anyValue(depth + 1), g.anyValue(depth + 1)}
		}
	case 4:
		if depth < 6 {
			return M{pick(g.rnd, oddTexts): g.anyValue(depth + 1)}
		}
	case 5:
		return strings.Repeat(pick(g.rnd, []string{"x", "é", "😀", "a\u0301", "'"}), 1<<g.rnd.IntN(12))
	case 6:
		return g.own[pick(g.rnd, slices.Sorted(maps.Keys(g.own)))]
	}
	return pick(g.rnd, oddTexts)
}
