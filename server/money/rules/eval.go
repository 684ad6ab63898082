package rules

import (
	"cmp"
	"slices"
	"strings"

	"rail/server/clock"
)

// leaf is one test. Which of the values is set goes by the field's kind and the
// operator; texts are folded where the field ignores case.
type leaf struct {
	field   *field
	op      operator
	flag    bool
	texts   []string
	numbers []int64
	time    clock.Time
}

// match follows decisions 3.4: a missing value fails every operator, neq and
// not_in included, but `exists: false`.
func (l leaf) match(r *reading) bool {
	v := r.value(l.field)
	if l.op == opExists {
		return (v != nil) == l.flag
	}
	switch v := v.(type) {
	case bool:
		return v == l.flag
	case string:
		return l.matchText(v)
	case int64:
		return l.matchNumber(func(n int64) int { return cmp.Compare(v, n) })
	case clock.Time:
		return ordered(l.op, v.Compare(l.time.Time))
	case idSet:
		return l.matchSet(v)
	case *scalar:
		return l.matchScalar(v)
	}
	return false
}

// matchText compares a text that is folded already where its field ignores case.
func (l leaf) matchText(v string) bool {
	switch l.op {
	case opEq, opIn:
		return slices.Contains(l.texts, v)
	case opNeq, opNotIn:
		return !slices.Contains(l.texts, v)
	case opContains:
		return strings.Contains(v, l.texts[0])
	case opStartsWith:
		return strings.HasPrefix(v, l.texts[0])
	case opEndsWith:
		return strings.HasSuffix(v, l.texts[0])
	}
	return false
}

// matchNumber takes how the fact compares with a number of the condition.
func (l leaf) matchNumber(compare func(int64) int) bool {
	same := func(n int64) bool { return compare(n) == 0 }
	switch l.op {
	case opEq, opIn:
		return slices.ContainsFunc(l.numbers, same)
	case opNeq, opNotIn:
		return !slices.ContainsFunc(l.numbers, same)
	}
	return ordered(l.op, compare(l.numbers[0]))
}

// matchSet reports whether the sets share an id, or, for not_in, share none.
func (l leaf) matchSet(v idSet) bool {
	shared := slices.ContainsFunc(l.texts, func(id string) bool { return v[id] })
	return shared == (l.op == opIn)
}

// matchScalar lets the type of the condition's value decide; metadata of
// another type never matches (decisions, 204).
func (l leaf) matchScalar(v *scalar) bool {
	if len(l.numbers) > 0 {
		return v.number != nil && l.matchNumber(v.number.compare)
	}
	if l.op == opContains {
		return v.isText && v.contains(l.texts[0])
	}
	return v.isText && l.matchText(v.text)
}

// ordered reports whether a comparison's result c satisfies the operator.
func ordered(op operator, c int) bool {
	switch op {
	case opGt:
		return c > 0
	case opGte:
		return c >= 0
	case opLt:
		return c < 0
	case opLte:
		return c <= 0
	}
	return false
}

// fold makes texts equal that differ in case alone.
func fold(s string) string { return strings.ToLower(s) }
