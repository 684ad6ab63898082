package rules

import (
	"encoding/json"
	"index/suffixarray"
	"strings"
	"sync"
)

// reading evaluates conditions against one event's facts. Many conditions read the same fields, so each is read,
// folded and decoded once: the cost of a condition does not grow with the sale.
type reading struct {
	facts    *Facts
	values   map[string]any
	metadata map[holder]map[string]json.RawMessage
}

// readingOf returns a reading for one event; it is for one goroutine only.
func readingOf(f *Facts) *reading {
	return &reading{facts: f, values: map[string]any{}, metadata: map[holder]map[string]json.RawMessage{}}
}

// value returns the field's value: nil if it is missing, else a bool, string,
// int64, clock.Time, idSet or *scalar.
func (r *reading) value(f *field) any {
	v, cached := r.values[f.name]
	if cached {
		return v
	}
	if f.kind == kindScalar {
		v = scalarOf(r.members(f.holder)[f.key])
	} else {
		v = f.read(r.facts)
	}
	if s, ok := v.(string); ok && f.fold {
		v = fold(s)
	}
	r.values[f.name] = v
	return v
}

// members returns the holder's metadata, decoded once; nil if there is none.
func (r *reading) members(of holder) map[string]json.RawMessage {
	members, ok := r.metadata[of]
	if !ok {
		if json.Unmarshal(of.metadata(r.facts), &members) != nil {
			members = nil
		}
		r.metadata[of] = members
	}
	return members
}

// idSet holds the ids of a field with several values.
type idSet map[string]bool

// scalar is a metadata value: a text, a number, a numeric text, or none of these.
type scalar struct {
	text   string
	isText bool
	number *decimal
	index  func() *suffixarray.Index // of a long text, built on first use
}

// longText is the length above which a text is searched by an index: thousands of conditions may each search a
// text of 16 KiB.
const longText = 1 << 10

// contains searches a long text by its index, in time independent of its length.
func (s *scalar) contains(part string) bool {
	if s.index == nil {
		return strings.Contains(s.text, part)
	}
	return len(s.index().Lookup([]byte(part), 1)) > 0
}

// scalarOf converts a metadata value to a scalar; nil if it is missing or null.
func scalarOf(raw json.RawMessage) any {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var s scalar
	literal := string(raw)
	if s.isText = json.Unmarshal(raw, &s.text) == nil; s.isText {
		literal = s.text
	}
	if len(s.text) > longText {
		s.index = sync.OnceValue(func() *suffixarray.Index { return suffixarray.New([]byte(s.text)) })
	}
	if number.MatchString(literal) {
		d := decimalOf(literal)
		s.number = &d
	}
	return &s
}
