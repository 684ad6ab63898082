// Package tracking finds out who brought a visitor: links, coupons and the values
// that lead to a partner, the clicks on them, the referrals that clicks open, and
// to whom a new customer is attributed.
package tracking

import (
	"rail/gen/db"
	"rail/server/secret"
)

var queries = db.New()

// Service records visits. Keeper makes the keyed hashes of their addresses; Writer
// writes those of several requests together, nil for each by itself.
type Service struct {
	Keeper *secret.Keeper
	Writer *Writer
}
