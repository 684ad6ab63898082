package customer

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/auditlog"
	"rail/server/metadata"
	"rail/server/money/report"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/risk"
	"rail/server/program/tracking"
	"rail/server/work"
)

// Changes are the changes of a customer; what is nil or unspecified stays.
type Changes struct {
	PartnerID, Status       *string
	Email, Name, Identifier nullable.Nullable[string]
	Metadata                json.RawMessage
}

// Update changes a customer; another partner reassigns it. The customer is
// locked before anything is compared with it.
func Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Customer, error) {
	if err := metadata.Check(to.Metadata, "metadata"); err != nil {
		return db.Customer{}, err
	}
	k, err := lock(ctx, u, id)
	if err != nil {
		return k, err
	}
	before := k
	if to.PartnerID != nil {
		if err := reassign(ctx, u, &k, *to.PartnerID); err != nil {
			return k, err
		}
	}
	opt.ChangeOrClear(&k.Email, to.Email)
	opt.ChangeOrClear(&k.Name, to.Name)
	opt.ChangeOrClear(&k.Identifier, to.Identifier)
	if to.Metadata != nil {
		k.Metadata = metadata.Stored(to.Metadata)
	}
	opt.Change(&k.Status, (*db.CustomerStatus)(to.Status))
	// Only these two decide what the checks find.
	if opt.Value(k.Email) != opt.Value(before.Email) || opt.Value(k.PartnerID) != opt.Value(before.PartnerID) {
		if err := checkAgain(ctx, u, k); err != nil {
			return k, err
		}
	}
	if opt.Value(k.Email) != opt.Value(before.Email) || opt.Value(k.Identifier) != opt.Value(before.Identifier) {
		if err := appeared(ctx, u, k); err != nil {
			return k, err
		}
	}
	k.UpdatedAt = u.Now
	return k, update(ctx, u.Later(), k)
}

// checkAgain runs the risk checks for a customer whose email or partner changed.
// They open flags and refuse nothing: the merchant knows more than the email
// says.
func checkAgain(ctx context.Context, u *work.Unit, k db.Customer) error {
	if !u.Plan.FraudMonitoring || k.Email == nil || k.PartnerID == nil {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: *k.PartnerID, OrgID: k.OrgID})
	if err != nil {
		return err
	}
	return risk.CheckCustomer(ctx, u, p, k)
}

// reassign gives the customer to another partner. It is recorded as manual,
// without the click, link or coupon of the former attribution (decisions, 87).
// Past sales and commissions stay with the former partner.
func reassign(ctx context.Context, u *work.Unit, k *db.Customer, partnerID string) error {
	if k.PartnerID != nil && *k.PartnerID == partnerID {
		return nil
	}
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
	if err != nil {
		return work.Found(err, "partner_id")
	}
	if err := work.SameProgram(p.ProgramID, k.ProgramID, "partner_id"); err != nil {
		return err
	}
	if p.Status != db.PartnerStatusActive {
		return problem.On("partner_id", problem.PartnerNotActive,
			"The partner is %s; only active partners get customers.", p.Status)
	}
	// Before the row changes: the old one names the days whose sums must be made again.
	if err := report.TouchCustomer(ctx, u, *k); err != nil {
		return err
	}
	before := k.PartnerID
	k.PartnerID, k.TrackedBy = &partnerID, db.TrackedByManual
	k.ReferralID, k.LinkID, k.CouponID, k.ClickID = nil, nil, nil, nil
	k.Attribution = Rule{Rule: api.AttributionRuleManual}.At(u.Now)
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: "customer.reassigned", TargetID: k.ID,
		Before: map[string]any{"partner_id": before}, After: map[string]any{"partner_id": partnerID},
	})
}

// Bring gives a customer that no partner brought to the one to whom a route leads
// (decisions, 81). One that has a partner keeps it; past sales stay nobody's;
// payments that wait for who brought it are worked again.
func (s Service) Bring(ctx context.Context, u *work.Unit, id string, r tracking.Route) error {
	k, err := lock(ctx, u, id)
	if err != nil || k.PartnerID != nil {
		return err
	}
	p, err := u.Program(ctx, k.ProgramID)
	if err != nil {
		return err
	}
	a, err := tracking.Attribute(ctx, u, p, r)
	if err != nil {
		return err
	}
	if err := a.Validate(ctx, u, p, k.Email); err != nil {
		return err
	}
	if err := report.TouchCustomer(ctx, u, k); err != nil {
		return err
	}
	a.Apply(&k)
	k.Attribution, k.UpdatedAt = attributed(r, a).At(u.Now), u.Now
	if err := errors.Join(checkAgain(ctx, u, k), a.Lead(ctx, u, k), appeared(ctx, u, k)); err != nil {
		return err
	}
	return update(ctx, u.DB(), k) // at once: a payment may follow
}

// update writes what can change of a customer.
func update(ctx context.Context, tx pgtx.DBTX, k db.Customer) error {
	return queries.CustomerUpdate(ctx, tx, db.CustomerUpdateParams{
		PartnerID: k.PartnerID, ReferralID: k.ReferralID, LinkID: k.LinkID, CouponID: k.CouponID, ClickID: k.ClickID,
		TrackedBy: k.TrackedBy, Email: k.Email, Name: k.Name, Identifier: k.Identifier, Status: k.Status,
		Metadata: k.Metadata, UpdatedAt: k.UpdatedAt, Attribution: k.Attribution, ID: k.ID, OrgID: k.OrgID,
	})
}

// lock locks a customer of the unit's programs until the commit.
func lock(ctx context.Context, u *work.Unit, id string) (db.Customer, error) {
	k, err := queries.CustomerLock(ctx, u.DB(), db.CustomerLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return k, work.Found(err, "")
	}
	return k, u.CheckProgram(k.ProgramID)
}
