package importer

import (
	"context"

	"rail/gen/db"
)

// The comparison, and the writing after it, find the objects that Rail has by the same keys.

// partnersHeld returns the ids of partners by their emails in lower case.
func (b *batch) partnersHeld(ctx context.Context, emails []string) (map[string]string, error) {
	rows, err := queries.ImportPartnersByEmail(ctx, b.u.Tx, db.ImportPartnersByEmailParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Emails: emails,
	})
	held := map[string]string{}
	for _, p := range rows {
		held[p.Email] = p.ID
	}
	return held, err
}

// couponsHeld returns coupons by their codes in lower case.
func (b *batch) couponsHeld(ctx context.Context, codes []string) (map[string]db.ImportCouponsTakenRow, error) {
	rows, err := queries.ImportCouponsTaken(ctx, b.u.Tx, db.ImportCouponsTakenParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Codes: codes,
	})
	held := map[string]db.ImportCouponsTakenRow{}
	for _, c := range rows {
		held[c.Code] = c
	}
	return held, err
}

// customersHeld returns customers by their external ids.
func (b *batch) customersHeld(ctx context.Context, ids []string) (map[string]db.ImportCustomersByIDRow, error) {
	rows, err := queries.ImportCustomersByID(ctx, b.u.Tx, db.ImportCustomersByIDParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, ExternalIds: ids,
	})
	held := map[string]db.ImportCustomersByIDRow{}
	for _, c := range rows {
		held[c.ExternalCustomerID] = c
	}
	return held, err
}

// salesHeld returns the ids of sales by the ids of their charges.
func (b *batch) salesHeld(ctx context.Context, charges []string) (map[string]string, error) {
	rows, err := queries.ImportSalesByCharge(ctx, b.u.Tx, db.ImportSalesByChargeParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Charges: charges,
	})
	held := map[string]string{}
	for _, s := range rows {
		held[s.ExternalChargeID] = s.ID
	}
	return held, err
}
