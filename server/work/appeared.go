package work

import (
	"context"

	"rail/gen/db"
)

// waitDays is how long an event of a payment processor waits for what it lacks.
const waitDays = 30

// The keys under which events of payment processors wait, each for something by
// the processor's or the merchant's own id.

// ChargeKey names a payment.
func ChargeKey(id string) string { return "charge " + id }

// CustomerKey names a customer by its id at the processor.
func CustomerKey(id string) string { return "customer " + id }

// IdentifierKey names a customer by the merchant's own id.
func IdentifierKey(id string) string { return "identifier " + id }

// EmailKey names a customer by an e-mail in lower case.
func EmailKey(email string) string { return "email " + email }

// CouponKey names a coupon by its id at the processor.
func CouponKey(id string) string { return "coupon " + id }

// RefundsKey names what refunds and restorations did to a sale.
func RefundsKey(saleID string) string { return "refunds " + saleID }

// Appeared has the events worked at once that wait for what the keys name. It
// travels with the commit.
func (u *Unit) Appeared(ctx context.Context, programID string, keys ...string) error {
	return queries.InboxWake(ctx, u.Later(), db.InboxWakeParams{
		Now: u.Now, ProgramID: programID, OrgID: u.OrgID, Keys: keys, Since: u.Now.Days(-waitDays),
	})
}
