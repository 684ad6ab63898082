// Package tracking attributes visitors and customers to partners: links, coupons and the values that lead to a
// partner, clicks on them, and the referrals that clicks open.
package tracking

import (
	"rail/gen/db"
	"rail/server/secret"
)

var queries = db.New()

// Service records visits. Keeper makes the keyed hashes of their addresses; Writer batches the visits of several
// requests, nil for no batching. Values bounds the values of reports; nil, for visits from no outside, does not.
type Service struct {
	Keeper *secret.Keeper
	Writer *Writer
	Values *Values
}
