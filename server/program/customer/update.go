package customer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/locale/plain"
	"rail/server/money/report"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/work"
	"rail/server/work/auditlog"
	"rail/server/work/metadata"
)

// Changes are changes to a customer; nil and unspecified members stay.
type Changes struct {
	PartnerID, Status       *string
	Email, Name, Identifier nullable.Nullable[string]
	Metadata                json.RawMessage
}

// Update changes a customer; another partner reassigns it. The customer is locked before it is compared.
func (s Service) Update(ctx context.Context, u *work.Unit, id string, to Changes) (db.Customer, error) {
	if err := metadata.Check(to.Metadata, "metadata"); err != nil {
		return db.Customer{}, err
	}
	k, err := Lock(ctx, u, id)
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
	plain.Names(&k.Name)
	opt.ChangeOrClear(&k.Identifier, to.Identifier)
	if to.Metadata != nil {
		k.Metadata = metadata.Stored(to.Metadata)
	}
	opt.Change(&k.Status, (*db.CustomerStatus)(to.Status))
	if err := s.judge(ctx, u, &k, before, ""); err != nil {
		return k, err
	}
	if err := s.retryChanged(ctx, u, before, k); err != nil {
		return k, err
	}
	k.UpdatedAt = u.Now
	return k, update(ctx, u.Later(), k)
}

// retryChanged reschedules payments that a new email or identifier explains, and compares the customer with
// others.
func (s Service) retryChanged(ctx context.Context, u *work.Unit, before, k db.Customer) error {
	if opt.Value(k.Email) == opt.Value(before.Email) && opt.Value(k.Identifier) == opt.Value(before.Identifier) {
		return nil
	}
	return errors.Join(retryPayments(ctx, u, k), compareAgain(ctx, u, k, ""))
}

// activePartner returns a partner of a program that can get customers.
func activePartner(ctx context.Context, u *work.Unit, programID, partnerID string) (db.Partner, error) {
	p, err := queries.PartnerGet(ctx, u.DB(), db.PartnerGetParams{ID: partnerID, OrgID: u.OrgID})
	if err != nil {
		return p, work.Found(err, "partner_id")
	}
	return p, tracking.CheckPartner(p, programID, "partner_id")
}

// reassign gives the customer to another partner. The attribution becomes manual, without the previous click,
// link or coupon (decisions, 87). Past sales and commissions stay with the previous partner.
func reassign(ctx context.Context, u *work.Unit, k *db.Customer, partnerID string) error {
	if k.PartnerID != nil && *k.PartnerID == partnerID {
		return nil
	}
	if _, err := activePartner(ctx, u, k.ProgramID, partnerID); err != nil {
		return err
	}
	// Before the update: the old row shows which days must be summed again.
	if err := report.TouchCustomer(ctx, u, *k); err != nil {
		return err
	}
	before := k.PartnerID
	k.PartnerID, k.TrackedBy = &partnerID, db.TrackedByManual
	clearRoute(k)
	k.Attribution, k.OtherRoutes = Rule{Rule: api.AttributionRuleManual}.At(u.Now), nil
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: k.ProgramID, Action: "customer.reassigned", TargetID: k.ID,
		Before: map[string]any{"partner_id": before}, After: map[string]any{"partner_id": partnerID},
	})
}

// Assign assigns a customer without a partner to the partner of a route (decisions, 81). A customer with a
// partner keeps it; past sales stay without one; payments that wait for an attribution are retried.
func (s Service) Assign(ctx context.Context, u *work.Unit, id string, r tracking.Route) (db.Customer, error) {
	k, err := Lock(ctx, u, id)
	if err != nil || k.PartnerID != nil {
		return k, err
	}
	p, err := u.Program(ctx, k.ProgramID)
	if err != nil {
		return k, err
	}
	a, err := tracking.Attribute(ctx, u, p, r)
	if err != nil {
		return k, err
	}
	own, err := s.Addresses(a.Partner)
	if err != nil {
		return k, err
	}
	if err := a.Validate(ctx, u, p, IsOwn(own, k.Email, k.Identifier)); err != nil {
		return k, err
	}
	before := k
	if err := report.TouchCustomer(ctx, u, k); err != nil {
		return k, err
	}
	if err := noteRoutes(&k, r, a); err != nil {
		return k, err
	}
	a.Apply(&k)
	k.Attribution, k.UpdatedAt = ruleOf(r, a).At(u.Now), u.Now
	if err := errors.Join(s.judge(ctx, u, &k, before, ""), a.Lead(ctx, u, k), retryPayments(ctx, u, k)); err != nil {
		return k, err
	}
	return k, update(ctx, u.DB(), k) // at once: a payment may follow
}

// update writes the mutable fields of a customer.
func update(ctx context.Context, tx pgtx.DBTX, k db.Customer) error {
	return queries.CustomerUpdate(ctx, tx, db.CustomerUpdateParams{
		PartnerID: k.PartnerID, ReferralID: k.ReferralID, LinkID: k.LinkID, CouponID: k.CouponID, ClickID: k.ClickID,
		TrackedBy: k.TrackedBy, Email: k.Email, Name: k.Name, Identifier: k.Identifier, Status: k.Status,
		Metadata: k.Metadata, UpdatedAt: k.UpdatedAt, Attribution: k.Attribution, SelfReferral: k.SelfReferral,
		ExternalCustomerID: k.ExternalCustomerID, Processor: k.Processor, LeadAt: k.LeadAt, ConvertedAt: k.ConvertedAt,
		ExternalSubscriptionID: k.ExternalSubscriptionID, OtherRoutes: k.OtherRoutes, Source: k.Source, Medium: k.Medium,
		Campaign: k.Campaign, Referrer: k.Referrer, Country: k.Country, Device: k.Device, ID: k.ID, OrgID: k.OrgID,
	})
}

// clearRoute removes the route to the partner, and the origin of its click (decisions, 87 and 456).
func clearRoute(k *db.Customer) {
	k.ReferralID, k.LinkID, k.CouponID, k.ClickID = nil, nil, nil, nil
	k.Source, k.Medium, k.Campaign, k.Referrer, k.Country, k.Device = nil, nil, nil, nil, nil, nil
}

// Lock locks a customer of the unit's programs until the commit. The id of a merged
// customer locks its survivor.
func Lock(ctx context.Context, u *work.Unit, id string) (db.Customer, error) {
	k, err := queries.CustomerLock(ctx, u.DB(), db.CustomerLockParams{ID: id, OrgID: u.OrgID})
	if errors.Is(err, pgx.ErrNoRows) { // a merge may have given it a survivor
		if id, err = survivor(ctx, u, id); err == nil {
			k, err = queries.CustomerLock(ctx, u.DB(), db.CustomerLockParams{ID: id, OrgID: u.OrgID})
		}
	}
	if err != nil {
		return k, work.Found(err, "")
	}
	return k, u.CheckProgram(k.ProgramID)
}

// Survivor returns the id of the customer of an id: the survivor if it was merged, else the same.
func (Service) Survivor(ctx context.Context, u *work.Unit, id string) (string, error) {
	return survivor(ctx, u, id)
}

func survivor(ctx context.Context, u *work.Unit, id string) (string, error) {
	into, err := queries.CustomerMergedInto(ctx, u.DB(), db.CustomerMergedIntoParams{ID: id, OrgID: u.OrgID})
	return cmp.Or(into, id), work.IgnoreNoRows(err)
}

// GivePartner locks a customer and gives it a partner, if it has none and this is no dry run. Another partner than
// the given one is a conflict.
func (s Service) GivePartner(
	ctx context.Context, u *work.Unit, c sale.Credit,
) (k db.Customer, p db.Program, err error) {
	if k, err = Lock(ctx, u, c.CustomerID); err != nil {
		return k, p, err
	}
	if p, err = u.Program(ctx, k.ProgramID); err != nil {
		return k, p, err
	}
	if err := s.checkPartner(ctx, u, p, k, c.PartnerID); err != nil {
		return k, p, err
	}
	if k.PartnerID != nil && *k.PartnerID != c.PartnerID {
		return k, p, problem.On("partner_id", problem.CustomerHasPartner,
			"The customer has another partner; set partner_id with POST /v1/customers/{id} to reassign it.")
	}
	if !c.DryRun && k.PartnerID == nil {
		k, err = s.Update(ctx, u, k.ID, Changes{PartnerID: &c.PartnerID})
	}
	return k, p, err
}

// checkPartner returns the reason why a customer may not get a partner: the partner is missing, of another
// program or not active, or it is the customer itself in a program that blocks this.
func (s Service) checkPartner(ctx context.Context, u *work.Unit, p db.Program, k db.Customer, partnerID string) error {
	to, err := activePartner(ctx, u, p.ID, partnerID)
	if err != nil {
		return err
	}
	own, err := s.Addresses(to)
	if err == nil && p.BlockSelfReferrals && IsOwn(own, k.Email, k.Identifier) {
		err = problem.On("partner_id", problem.SelfReferralBlocked,
			"The customer has the partner's own email, and the program blocks self-referrals.")
	}
	return err
}
