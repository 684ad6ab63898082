package importer

import (
	"context"

	"rail/gen/db"
)

// The comparison, and the writing after it, find the objects that Rail has by the same keys.

// existingPartners returns the ids of partners by their emails in lower case.
func (b *batch) existingPartners(ctx context.Context, emails []string) (map[string]string, error) {
	rows, err := queries.ImportPartnersByEmail(ctx, b.u.Tx, db.ImportPartnersByEmailParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Emails: emails,
	})
	ids := map[string]string{}
	for _, p := range rows {
		ids[p.Email] = p.ID
	}
	return ids, err
}

// existingCoupons returns coupons by their codes in lower case.
func (b *batch) existingCoupons(ctx context.Context, codes []string) (map[string]db.ImportCouponsTakenRow, error) {
	rows, err := queries.ImportCouponsTaken(ctx, b.u.Tx, db.ImportCouponsTakenParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Codes: codes,
	})
	byCode := map[string]db.ImportCouponsTakenRow{}
	for _, c := range rows {
		byCode[c.Code] = c
	}
	return byCode, err
}

// existingCustomers returns customers by their external ids.
func (b *batch) existingCustomers(ctx context.Context, ids []string) (map[string]db.ImportCustomersByIDRow, error) {
	rows, err := queries.ImportCustomersByID(ctx, b.u.Tx, db.ImportCustomersByIDParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, ExternalIds: ids,
	})
	byID := map[string]db.ImportCustomersByIDRow{}
	for _, c := range rows {
		byID[c.ExternalCustomerID] = c
	}
	return byID, err
}

// existingSales returns the ids of sales by the ids of their charges.
func (b *batch) existingSales(ctx context.Context, charges []string) (map[string]string, error) {
	rows, err := queries.ImportSalesByCharge(ctx, b.u.Tx, db.ImportSalesByChargeParams{
		ProgramID: b.m.ProgramID, OrgID: b.m.OrgID, Charges: charges,
	})
	ids := map[string]string{}
	for _, s := range rows {
		ids[s.ExternalChargeID] = s.ID
	}
	return ids, err
}
