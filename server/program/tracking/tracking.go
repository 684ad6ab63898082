// Package tracking finds out who brought a visitor: links, coupons and the values
// that lead to a partner, the clicks on them, the referrals that clicks open, and
// to whom a new customer is attributed.
package tracking

import (
	"rail/gen/db"
	"rail/server/secret"
)

var queries = db.New()

// Service records visits. Keeper makes the keyed hashes of their addresses.
type Service struct {
	Keeper *secret.Keeper
}
