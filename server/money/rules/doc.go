// Package rules decides what a sale or a sign-up pays: the conditions of branches, the choice of a flow, the
// amount, and the first state of a commission. It is pure: it uses neither database nor clock, so that every
// rule can be tested alone and a dry run gives the real answer.
//
// Money is in minor units, rates in basis points or minor units of the program's currency (decisions, 92 to 111,
// 129 to 138, and 3.1 to 3.4).
package rules
