package sale

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

// Customers has the rules on the customers of sales, which package customer implements.
type Customers interface {
	// Payer returns the customer who paid a charge, and signs up a new customer. The id is "" if the charge is
	// recorded and no customer has the external id any longer.
	Payer(ctx context.Context, u *work.Unit, programID, chargeID string, by Payer) (PayingCustomer, error)
	// Survivor returns the id of the customer of an id: the survivor if it was merged, else the same.
	Survivor(ctx context.Context, u *work.Unit, id string) (string, error)
	// GivePartner locks a customer and gives it a partner, if it has none and this is no dry run. It returns the
	// customer with its program.
	GivePartner(ctx context.Context, u *work.Unit, c Credit) (db.Customer, db.Program, error)
	// LateClick flags the partner of a late click before a first payment. If back is set, it returns a customer of that
	// partner to the partner of the earlier click, and reports whether it did.
	LateClick(ctx context.Context, u *work.Unit, k db.Customer, paidAt clock.Time, back bool) (bool, error)
	// LockPair locks two customers to merge.
	LockPair(ctx context.Context, u *work.Unit, m Merge) (Pair, error)
	// Join writes a merge, after the sales and their commissions have moved.
	Join(ctx context.Context, u *work.Unit, p Pair) (db.Customer, error)
}

// Payer names the payer: a customer by Rail's id, or by the processor's id with a route to a partner in case the
// customer is new.
type Payer struct {
	CustomerID, ExternalCustomerID *string
	PartnerID, ClickID, CouponCode *string
	Claim                          Claim
}

// Pair is two locked customers to merge: From merges into Into. Merged is the result, and IDs are the external ids
// of both, oldest first.
type Pair struct {
	Into, From, Merged db.Customer
	IDs                []db.CustomerExternalID
}
