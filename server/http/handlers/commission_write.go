package handlers

import (
	"context"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auditlog"
	"rail/server/money/commission"
	"rail/server/money/ledger"
	"rail/server/money/payout"
	"rail/server/money/report"
	"rail/server/money/rules"
	"rail/server/opt"
	"rail/server/page"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// CreateCommission makes a commission by hand; the reason goes to the audit log
// alone (decisions, 106 and 108).
func (s *Server) CreateCommission(ctx context.Context, r api.CreateCommissionRequestObject) (api.CreateCommissionResponseObject, error) {
	u, b := work.From(ctx), r.Body
	if b.AmountMinor == 0 {
		return nil, problem.Invalid("amount_minor", "amount_minor must not be 0.")
	}
	p, err := u.Program(ctx, b.ProgramID)
	if err != nil {
		return nil, err
	}
	currency := p.Currency
	if b.Currency != nil {
		if currency, err = currencyOf(*b.Currency); err != nil {
			return nil, err
		}
	}
	customer, err := namedCustomer(ctx, u, p.ID, b.CustomerID, b.ExternalCustomerID)
	if err != nil {
		return nil, err
	}
	sale, err := namedSale(ctx, u, p.ID, b.SaleID, b.ExternalChargeID)
	if err != nil {
		return nil, err
	}
	if err := u.Check(ctx, p.ID, work.PartnerRef("partner_id", &b.PartnerID), work.CustomerRef("customer_id", customer), work.SaleRef("sale_id", sale)); err != nil {
		return nil, err
	}
	k, err := commission.Grant(ctx, u, commission.Manual{
		ProgramID: p.ID, PartnerID: b.PartnerID, SaleID: sale, CustomerID: customer, AmountMinor: b.AmountMinor, Currency: currency,
		HoldingPeriodDays: p.HoldingPeriodDays,
	})
	if err != nil {
		return nil, err
	}
	err = auditlog.Record(ctx, u, auditlog.Entry{ProgramID: p.ID, Action: "commission.created", TargetID: k.ID, Reason: &b.Reason, After: toCommission(k)})
	return api.CreateCommission201JSONResponse(toCommission(k)), err
}

// ApproveCommission approves a pending commission: due where its holding period
// has run, else approved.
func (s *Server) ApproveCommission(ctx context.Context, r api.ApproveCommissionRequestObject) (api.ApproveCommissionResponseObject, error) {
	u := work.From(ctx)
	k, err := lockCommission(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if k.Status != db.CommissionStatusPending {
		return nil, problem.New(problem.CommissionNotPending, "The commission is %s; only pending commissions can be approved.", k.Status)
	}
	var reason *string
	if r.Body != nil {
		reason = r.Body.Reason
	}
	k.Status, k.ApprovedAt = rules.ApprovedStatus(opt.Value(k.MatureAt), u.Now), &u.Now
	err = decide(ctx, u, &k, db.CommissionStatusPending, "commission.approved", reason)
	return api.ApproveCommission200JSONResponse(toCommission(k)), err
}

// RejectCommission takes an unpaid commission back for good.
func (s *Server) RejectCommission(ctx context.Context, r api.RejectCommissionRequestObject) (api.RejectCommissionResponseObject, error) {
	u := work.From(ctx)
	k, err := lockCommission(ctx, u, r.ID)
	if err != nil {
		return nil, err
	}
	if err := rejectable(k); err != nil {
		return nil, err
	}
	if k.PayoutID != nil {
		outOfReach, err := payout.Lower(ctx, u, *k.PayoutID, k.AmountMinor)
		if err != nil {
			return nil, err
		}
		if outOfReach {
			return nil, problem.New(problem.CommissionInPayout, "The commission is in the payout %s, which a rail has in flight.", *k.PayoutID)
		}
		k.PayoutID = nil
	}
	previous := k.Status
	k.Status, k.VoidedAt, k.VoidReason = db.CommissionStatusRejected, &u.Now, &r.Body.Reason
	if err := report.TouchCommission(ctx, u, k); err != nil {
		return nil, err
	}
	err = decide(ctx, u, &k, previous, "commission.rejected", &r.Body.Reason)
	return api.RejectCommission200JSONResponse(toCommission(k)), err
}

func rejectable(k db.Commission) error {
	switch {
	case k.Status == db.CommissionStatusPaid:
		return problem.New(problem.CommissionAlreadyPaid, "The commission is paid; only unpaid commissions can be rejected.")
	case k.Status == db.CommissionStatusRejected || k.Status == db.CommissionStatusVoided:
		return problem.New(problem.CommissionNotOpen, "The commission is %s already.", k.Status)
	}
	if k.ClawedMinor != 0 { // below 0 of a deduction, which a reward undid
		return problem.New(problem.CommissionNotOpen, "Refunds have clawed back %d of the commission's %d already.", k.ClawedMinor, k.AmountMinor)
	}
	return nil
}

// decide writes a decision on a commission with its event, its move of money
// and its line in the audit log.
func decide(ctx context.Context, u *work.Unit, k *db.Commission, previous db.CommissionStatus, action string, reason *string) error {
	k.UpdatedAt = u.Now
	_, err := queries.CommissionSetStatus(ctx, u.Later(), db.CommissionSetStatusParams{
		Status: k.Status, ApprovedAt: k.ApprovedAt, VoidedAt: k.VoidedAt, VoidReason: k.VoidReason, UpdatedAt: k.UpdatedAt, ID: k.ID,
		OrgID: k.OrgID, Previous: previous,
	})
	if err != nil {
		return err
	}
	if err := ledger.Moved(ctx, u, previous, *k); err != nil {
		return err
	}
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: action, TargetID: k.ID, Reason: reason,
		Before: map[string]db.CommissionStatus{"status": previous}, After: map[string]db.CommissionStatus{"status": k.Status},
	})
}

// lockCommission locks the partner, then the commission, as every write of
// money does.
func lockCommission(ctx context.Context, u *work.Unit, id string) (db.Commission, error) {
	k, err := queries.CommissionGet(ctx, u.DB(), db.CommissionGetParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return k, err
	}
	if err := u.CheckProgram(k.ProgramID); err != nil {
		return k, err
	}
	errs := u.Each(ctx,
		func(tx pgtx.DBTX) error {
			_, err := queries.PartnerLock(ctx, tx, db.PartnerLockParams{ID: k.PartnerID, OrgID: u.OrgID})
			return err
		},
		func(tx pgtx.DBTX) (err error) {
			k, err = queries.CommissionLock(ctx, tx, db.CommissionLockParams{ID: id, OrgID: u.OrgID})
			return err
		})
	return k, errs[1]
}

// ListMaturingCommissions lists the commissions whose mature_at lies in a range
// of days or moments, both ends included, the oldest first.
func (s *Server) ListMaturingCommissions(ctx context.Context,
	r api.ListMaturingCommissionsRequestObject) (api.ListMaturingCommissionsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	from, to, err := window(p.From, p.To)
	if err != nil {
		return nil, err
	}
	rows, err := page.Of(ctx, u, page.In(p.ProgramID, p.Limit, p.StartingAfter, p.EndingBefore), db.CommissionMaturingList{
		FromAt: from, ToAt: to, Status: page.Any(p.Status),
	})
	if err != nil {
		return nil, err
	}
	data := mapped(rows.Rows, toCommission)
	if err := fillCommissions(ctx, u, data, p.Expand); err != nil {
		return nil, err
	}
	return api.ListMaturingCommissions200JSONResponse{Data: data, HasMore: rows.HasMore, TotalCount: rows.Total}, nil
}
