package customer

import (
	"context"

	"rail/gen/db"
	"rail/server/money/commission"
	"rail/server/money/report"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// Delete deletes a customer that never paid. Its sign-up commission is voided, and leaves its payout. A paid
// commission, or a payout in flight, refuses the deletion.
// Its referral becomes a visit again unless it has another customer (decisions, 72 and 88).
func Delete(ctx context.Context, u *work.Unit, id string) error {
	k, err := Lock(ctx, u, id)
	if err != nil {
		return err
	}
	var history db.SaleHistoryRow
	var signups []db.Commission
	// The lock on the customer blocks sales until the commit, so that these reads stay valid. Partners are locked before
	// their commissions.
	err = u.Together(ctx,
		func(tx pgtx.DBTX) error {
			return queries.SignupPartnersLock(ctx, tx, db.SignupPartnersLockParams{
				CustomerID: k.ID, ProgramID: k.ProgramID, OrgID: k.OrgID,
			})
		},
		func(tx pgtx.DBTX) (err error) {
			history, err = queries.SaleHistory(ctx, tx, db.SaleHistoryParams{
				ProgramID: k.ProgramID, OrgID: k.OrgID, CustomerID: k.ID,
			})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			signups, err = queries.CustomerSignupCommissions(ctx, tx, db.CustomerSignupCommissionsParams{
				CustomerIds: []string{k.ID}, ProgramID: k.ProgramID, OrgID: k.OrgID,
			})
			return err
		})
	if err != nil {
		return err
	}
	if history.HasSales {
		return problem.New(problem.CustomerHasSales, "The customer has sales; it cannot be deleted.")
	}
	for _, signup := range signups {
		if err := voidSignup(ctx, u, signup); err != nil {
			return err
		}
	}
	if k.ReferralID != nil {
		back := db.ReferralReleaseParams{UpdatedAt: u.Now, ID: *k.ReferralID, OrgID: k.OrgID, CustomerID: k.ID}
		if err := queries.ReferralRelease(ctx, u.Later(), back); err != nil {
			return err
		}
	}
	// Before the delete: the row shows which days must be summed again.
	if err := report.TouchCustomer(ctx, u, k); err != nil {
		return err
	}
	return queries.CustomerDelete(ctx, u.Later(), db.CustomerDeleteParams{ID: k.ID, OrgID: k.OrgID})
}

// voidSignup voids a commission of the customer, and refuses if its money has left: no row may refer to a
// deleted customer.
func voidSignup(ctx context.Context, u *work.Unit, k db.Commission) error {
	switch k.Status {
	case db.CommissionStatusPaid:
		return problem.New(problem.CustomerHasPaidCommissions,
			"The customer's sign-up commission %s is paid; the customer cannot be deleted.", k.ID)
	// These are worth nothing; there is nothing to take back.
	case db.CommissionStatusVoided, db.CommissionStatusRejected:
		return nil
	}
	outOfReach, err := commission.Withdraw(ctx, u, k)
	if err != nil {
		return err
	}
	if outOfReach {
		return problem.New(problem.CustomerHasPaidCommissions,
			"The customer's sign-up commission %s is in the payout %s, which is being paid; the customer cannot be deleted.",
			k.ID, *k.PayoutID)
	}
	return commission.Void(ctx, u, k, "customer_deleted")
}
