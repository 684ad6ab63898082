package rules

import (
	"slices"
	"strings"
)

// operator is the comparison of a leaf's field with its value.
type operator string

const (
	opEq         operator = "eq"
	opNeq        operator = "neq"
	opGt         operator = "gt"
	opGte        operator = "gte"
	opLt         operator = "lt"
	opLte        operator = "lte"
	opIn         operator = "in"
	opNotIn      operator = "not_in"
	opContains   operator = "contains"
	opStartsWith operator = "starts_with"
	opEndsWith   operator = "ends_with"
	opExists     operator = "exists"
)

// kind is the type of a field.
type kind int

const (
	kindBool kind = iota
	kindEnum
	kindCurrency
	kindCountry
	kindID
	kindIDSet
	kindText
	kindInt
	kindMoney
	kindDate
	kindScalar
)

// Operators shared by several kinds.
var (
	choiceOps = []operator{opEq, opNeq, opIn, opNotIn, opExists}
	textOps   = []operator{opEq, opNeq, opIn, opNotIn, opContains, opStartsWith, opEndsWith, opExists}
	numberOps = []operator{opEq, opNeq, opGt, opGte, opLt, opLte}
	orderOps  = []operator{opGt, opGte, opLt, opLte}
)

// operators lists the operators of each kind, in the order of messages (decisions, 3.3).
var operators = map[kind][]operator{
	kindBool:     {opEq},
	kindEnum:     choiceOps,
	kindCurrency: choiceOps,
	kindCountry:  choiceOps,
	kindID:       choiceOps,
	kindIDSet:    {opIn, opNotIn, opExists},
	kindText:     textOps,
	kindInt:      numberOps,
	kindMoney:    numberOps,
	kindDate:     orderOps,
	kindScalar: {
		opEq, opNeq, opIn, opNotIn, opContains, opStartsWith, opEndsWith,
		opGt, opGte, opLt, opLte, opExists,
	},
}

// ordered reports whether the operator compares order, textual whether it searches a text, many whether it takes
// an array.
func (o operator) ordered() bool { return among(o, orderOps) }
func (o operator) textual() bool { return o == opContains || o == opStartsWith || o == opEndsWith }
func (o operator) many() bool    { return o == opIn || o == opNotIn }

// among reports whether the list has v.
func among[T comparable](v T, list []T) bool {
	return slices.Contains(list, v)
}

// listing joins names for a message.
func listing[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
