package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/currency"
)

const isInteger = "must be an integer, without a fraction or an exponent"

var countryCode = regexp.MustCompile(`^[A-Za-z]{2}$`)

// take parses the value for the leaf's field and operator (decisions, 3.3).
func (l *leaf) take(raw json.RawMessage, path string) *ConditionError {
	switch {
	case l.op == opExists, l.field.kind == kindBool:
		return l.takeFlag(raw, path)
	case l.op.many():
		return l.takeMany(raw, path)
	}
	return l.takeOne(raw, path)
}

// takeFlag parses true or false, for exists and for bool fields.
func (l *leaf) takeFlag(raw json.RawMessage, path string) *ConditionError {
	switch string(raw) {
	case "true", "false":
		l.flag = string(raw) == "true"
		return nil
	}
	return wrong(path, "must be true or false")
}

// takeMany parses the array of in and not_in. Metadata may be compared with texts or with integers, but an array
// has one type, which decides the comparison.
func (l *leaf) takeMany(raw json.RawMessage, path string) *ConditionError {
	elements, ok := array(raw)
	if !ok || len(elements) < 1 || len(elements) > maxValues {
		return wrong(path, fmt.Sprintf("must be an array of 1 to %d values for the operator %s", maxValues, l.op))
	}
	if opens(elements[0], '"') {
		l.texts = make([]string, 0, len(elements))
	} else {
		l.numbers = make([]int64, 0, len(elements))
	}
	for i, element := range elements {
		if err := l.takeOne(element, at(path, i)); err != nil {
			return err
		}
		if len(l.texts) > 0 && len(l.numbers) > 0 {
			return wrong(at(path, i), "must be of the type of the values before it; an array has strings or integers, not both")
		}
	}
	return nil
}

// takeOne parses a value of the field's kind. Money is an integer of minor units.
func (l *leaf) takeOne(raw json.RawMessage, path string) *ConditionError {
	switch l.field.kind {
	case kindInt, kindMoney:
		return l.takeNumber(raw, path, isInteger)
	case kindDate:
		return l.takeDate(raw, path)
	case kindScalar:
		return l.takeScalar(raw, path)
	}
	return l.takeText(raw, path)
}

// takeNumber parses an int64. The pattern refuses 1.0 and 1e2, which JSON would allow.
func (l *leaf) takeNumber(raw json.RawMessage, path, message string) *ConditionError {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || !integer.Match(raw) {
		return wrong(path, message)
	}
	l.numbers = append(l.numbers, n)
	return nil
}

// takeDate parses a date or a time with its zone.
func (l *leaf) takeDate(raw json.RawMessage, path string) *ConditionError {
	s, ok := text(raw)
	if !ok {
		return wrong(path, clock.ErrDate.Error())
	}
	t, _, err := clock.ParseDate(s)
	if err != nil {
		return wrong(path, err.Error())
	}
	l.time = t
	return nil
}

// takeScalar parses a value to compare with metadata. An operator for numbers or texts requires that type; else
// the value's own type decides.
func (l *leaf) takeScalar(raw json.RawMessage, path string) *ConditionError {
	switch {
	case l.op.ordered():
		return l.takeNumber(raw, path, isInteger+", for the operator "+string(l.op))
	case l.op.textual(), opens(raw, '"'):
		return l.takeText(raw, path)
	}
	return l.takeNumber(raw, path,
		fmt.Sprintf("must be a string of 1 to %d characters or an integer (no fraction, no exponent)", maxText))
}

// takeText parses a valid string of the field, folded like the fact.
func (l *leaf) takeText(raw json.RawMessage, path string) *ConditionError {
	s, ok := text(raw)
	message := l.field.expects()
	if !ok || !l.field.accepts(s) {
		return wrong(path, message)
	}
	if l.field.fold {
		s = fold(s)
	}
	l.texts = append(l.texts, s)
	return nil
}

// accepts reports whether a string is a valid value of the field.
func (f *field) accepts(s string) bool {
	switch f.kind {
	case kindEnum:
		return slices.Contains(f.values, s)
	case kindCurrency:
		_, ok := currency.Normal(s)
		return ok
	case kindCountry:
		return countryCode.MatchString(s)
	case kindID, kindIDSet:
		return ident.Has(s, f.prefix)
	}
	return s != "" && utf8.RuneCountInString(s) <= maxText
}

// expects describes the valid values of the field.
func (f *field) expects() string {
	switch f.kind {
	case kindEnum:
		return "must be one of " + strings.Join(f.values, ", ")
	case kindCurrency:
		return "must be an ISO 4217 currency code such as USD"
	case kindCountry:
		return "must be a country code of two letters such as US"
	case kindID, kindIDSet:
		return "must be an id that begins with " + string(f.prefix)
	}
	return fmt.Sprintf("must be a string of 1 to %d characters", maxText)
}
