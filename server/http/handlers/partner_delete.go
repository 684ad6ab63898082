package handlers

import (
	"cmp"
	"context"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/event"
	"rail/server/money/report"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// DeletePartner removes a partner and everything attributed to it, but for its
// sales, which stay as direct ones (decisions, 56 and 177).
func (s *Server) DeletePartner(ctx context.Context, r api.DeletePartnerRequestObject) (api.DeletePartnerResponseObject, error) {
	u := work.From(ctx)
	hold := db.PartnerHoldCustomersParams{PartnerID: r.ID, OrgID: u.OrgID}
	if err := queries.PartnerHoldCustomers(ctx, u.Later(), hold); err != nil {
		return nil, err
	}
	p, err := lockPartner(ctx, u, r.ID, true)
	if err != nil {
		return nil, err
	}
	var open []string
	var commissions []db.Commission
	var flows []db.PartnerDeleteFlowsRow
	if err := u.Together(ctx,
		func(tx pgtx.DBTX) (err error) {
			open, err = queries.PartnerOpenPayouts(ctx, tx, db.PartnerOpenPayoutsParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			commissions, err = queries.PartnerCommissions(ctx, tx, db.PartnerCommissionsParams{PartnerID: p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			flows, err = queries.PartnerDeleteFlows(ctx, tx, db.PartnerDeleteFlowsParams{PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
			return err
		},
	); err != nil {
		return nil, err
	}
	if slices.Contains(open, "processing") { // a refusal takes back what was deleted above
		return nil, problem.New(problem.PayoutInFlight, "A payout of the partner is processing; the partner can be deleted when it has ended.")
	}
	recordDeparture(u, p, commissions, flows)
	if err := report.TouchPartner(ctx, u, p); err != nil {
		return nil, err
	}
	return api.DeletePartner200JSONResponse{ID: p.ID, Object: "partner", Deleted: true}, removePartner(ctx, u, p)
}

// recordDeparture tells what goes with a partner, and last of the partner.
func recordDeparture(u *work.Unit, p db.Partner, commissions []db.Commission, flows []db.PartnerDeleteFlowsRow) {
	for _, k := range commissions {
		if k.Status != "pending" && k.Status != "approved" && k.Status != "due" {
			continue
		}
		u.Record("commission.voided", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: k.ID}, api.CommissionVoidedData{
			CommissionID: k.ID, SaleID: k.SaleID, PartnerID: p.ID, AmountMinor: k.AmountMinor, Currency: k.Currency, Reason: "partner_deleted",
		})
	}
	slices.SortFunc(flows, func(a, b db.PartnerDeleteFlowsRow) int { return cmp.Compare(a.ID, b.ID) })
	for _, f := range flows {
		recordRuleDeleted(u, p.ProgramID, f.ID, f.Name)
	}
	u.Record("affiliate.deleted", event.Subject{ProgramID: p.ProgramID, PartnerID: p.ID, ID: p.ID}, api.AffiliateDeletedData{PartnerID: p.ID})
}

// removePartner puts the statements off in the order that the references among
// the rows ask for: commissions before payouts, the partner itself last. What
// is not named here goes with the partner's row.
func removePartner(ctx context.Context, u *work.Unit, p db.Partner) error {
	tx := u.Later()
	for _, remove := range []func() error{
		func() error {
			return queries.PartnerLedgerRemove(ctx, tx, db.PartnerLedgerRemoveParams{CreatedAt: u.Now, PartnerID: p.ID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerDeleteCommissions(ctx, tx, db.PartnerDeleteCommissionsParams{PartnerID: p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerDeletePayouts(ctx, tx, db.PartnerDeletePayoutsParams{PartnerID: p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerLeaveSales(ctx, tx, db.PartnerLeaveSalesParams{UpdatedAt: u.Now, PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerLeaveCoupons(ctx, tx, db.PartnerLeaveCouponsParams{UpdatedAt: u.Now, PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerDeleteCustomers(ctx, tx, db.PartnerDeleteCustomersParams{PartnerID: &p.ID, ProgramID: p.ProgramID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerMailsRecall(ctx, tx, db.PartnerMailsRecallParams{PartnerID: p.ID, OrgID: p.OrgID})
		},
		func() error {
			return queries.PartnerUnsubscribesKeep(ctx, tx, db.PartnerUnsubscribesKeepParams{ID: p.ID, OrgID: p.OrgID})
		},
		func() error { return queries.PartnerDelete(ctx, tx, db.PartnerDeleteParams{ID: p.ID, OrgID: p.OrgID}) },
	} {
		if err := remove(); err != nil {
			return err
		}
	}
	return nil
}
