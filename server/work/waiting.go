package work

import (
	"context"
	"time"

	"rail/gen/db"
)

// MaxWait is how long events of payment processors, and refunds, wait for missing data (decisions, 227).
const MaxWait = 30 * 24 * time.Hour

// Keys under which events of payment processors wait, each for an object by the processor's or the merchant's
// id.

// ChargeKey names a payment.
func ChargeKey(id string) string { return "charge " + id }

// CustomerKey names a customer by its id at the processor.
func CustomerKey(id string) string { return "customer " + id }

// IdentifierKey names a customer by the merchant's id.
func IdentifierKey(id string) string { return "identifier " + id }

// EmailKey names a customer by an email in lower case.
func EmailKey(email string) string { return "email " + email }

// CouponKey names a coupon by its id at the processor.
func CouponKey(id string) string { return "coupon " + id }

// RefundsKey names the refunds and restorations of a sale.
func RefundsKey(saleID string) string { return "refunds " + saleID }

// Reschedule makes inbox events due that wait for any of the keys. It is sent with the commit.
func (u *Unit) Reschedule(ctx context.Context, programID string, keys ...string) error {
	return queries.InboxWake(ctx, u.Later(), db.InboxWakeParams{
		Now: u.Now, ProgramID: programID, OrgID: u.OrgID, Keys: keys, Since: u.Now.Plus(-MaxWait),
	})
}
