package rules

import (
	"cmp"
	"slices"
	"strings"

	"rail/server/clock"
)

// leaf is one test. The field's kind and the operator decide which value is set; texts are folded if the field
// ignores case.
type leaf struct {
	field   *field
	op      operator
	flag    bool
	texts   []string
	numbers []int64
	time    clock.Time
}

// match follows decisions 3.4: a missing value fails every operator, including neq and not_in, except `exists:
// false`.
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

// matchText compares a text that is already folded if its field ignores case.
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

// matchNumber applies the operator; compare compares the fact with a number.
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

// matchScalar compares by the type of the condition's value; metadata of another type never matches (decisions,
// 204).
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

// fold lower-cases a text, for comparing without regard to case.
func fold(s string) string { return strings.ToLower(s) }
