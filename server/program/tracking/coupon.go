package tracking

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/oapi-codegen/nullable"
	"golang.org/x/text/unicode/norm"

	"rail/gen/api"
	"rail/gen/db"
	"rail/gen/events"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
	"rail/server/work/event"
)

// CouponInput is a code of the payment processor to register.
type CouponInput struct {
	ProgramID, Code                string
	PartnerID, GroupID, ExternalID *string
}

// CreateCoupon registers a code of the payment processor. A code in use, in any case, is refused, and so is
// one with invisible characters, which would look like another partner's.
func CreateCoupon(ctx context.Context, u *work.Unit, in CouponInput) (db.Coupon, error) {
	err := u.Check(ctx, in.ProgramID, work.ProgramRef("program_id", &in.ProgramID),
		work.PartnerRef("partner_id", in.PartnerID), work.GroupRef("group_id", in.GroupID))
	if err != nil {
		return db.Coupon{}, err
	}
	if !plain.Named(in.Code) {
		return db.Coupon{}, problem.Invalid("code", "code has an invisible character.")
	}
	coupon := db.Coupon{
		ID: u.NewID(ident.Coupon), OrgID: u.OrgID, ProgramID: in.ProgramID, PartnerID: in.PartnerID,
		GroupID: in.GroupID, Code: in.Code, ExternalID: in.ExternalID, Active: true, CreatedAt: u.Now, UpdatedAt: u.Now,
	}
	// Written at once, so that the refusal can show the existing coupon.
	inserted, err := queries.CouponInsert(ctx, u.DB(), db.CouponInsertParams(coupon))
	if err != nil {
		return coupon, err
	}
	if inserted == 0 {
		return coupon, couponTaken(ctx, u, in.ProgramID, in.Code)
	}
	recordCoupon(u, events.AffiliateCouponCreated, coupon)
	return coupon, retryUnattributed(ctx, u, coupon)
}

// retryUnattributed reschedules unattributed payments with the coupon's discount, and events of the processor
// about it.
func retryUnattributed(ctx context.Context, u *work.Unit, k db.Coupon) error {
	if k.ExternalID == nil {
		return nil
	}
	return u.Reschedule(ctx, k.ProgramID, work.CouponKey(*k.ExternalID))
}

// couponTaken returns the conflict with the coupon that has the code.
func couponTaken(ctx context.Context, u *work.Unit, programID, code string) error {
	existing, err := queries.CouponByCode(ctx, u.DB(), db.CouponByCodeParams{
		ProgramID: programID, OrgID: u.OrgID, Code: code,
	})
	if err != nil {
		return err
	}
	return problem.Taken(problem.CouponCodeTaken, "code", existing, "A coupon with this code exists in the program.")
}

// couponByCode returns the coupon with a code in any case, or with the same code in another Unicode form,
// without invisible characters or surrounding spaces, or pgx.ErrNoRows.
func couponByCode(ctx context.Context, u *work.Unit, programID, code string) (coupon db.Coupon, err error) {
	tidied := normalize(code)
	for _, form := range slices.Compact([]string{code, tidied, norm.NFD.String(tidied)}) {
		coupon, err = queries.CouponByCode(ctx, u.DB(), db.CouponByCodeParams{
			ProgramID: programID, OrgID: u.OrgID, Code: form,
		})
		if !errors.Is(err, pgx.ErrNoRows) {
			break
		}
	}
	return coupon, err
}

// CouponChanges are changes to a coupon; unspecified members stay.
type CouponChanges struct {
	ExternalID, PartnerID nullable.Nullable[string]
}

// UpdateCoupon changes the promotion id and the partner.
func UpdateCoupon(ctx context.Context, u *work.Unit, id string, to CouponChanges) (db.Coupon, error) {
	before, err := lockCoupon(ctx, u, id)
	if err != nil {
		return before, err
	}
	coupon := before
	opt.ChangeOrClear(&coupon.ExternalID, to.ExternalID)
	opt.ChangeOrClear(&coupon.PartnerID, to.PartnerID)
	if opt.Value(coupon.ExternalID) != opt.Value(before.ExternalID) { // the state belonged to another code
		coupon.ExternalParentID, coupon.ActiveAsOf = nil, nil
	}
	if reflect.DeepEqual(coupon, before) {
		return coupon, nil
	}
	// A partner that stays is not checked again. Existing customers of the coupon keep their partner.
	if to.PartnerID.IsSpecified() {
		if err := u.Check(ctx, coupon.ProgramID, work.PartnerRef("partner_id", coupon.PartnerID)); err != nil {
			return coupon, err
		}
	}
	coupon.UpdatedAt = u.Now
	err = queries.CouponUpdate(ctx, u.Later(), db.CouponUpdateParams{
		ExternalID: coupon.ExternalID, PartnerID: coupon.PartnerID, ExternalParentID: coupon.ExternalParentID,
		ActiveAsOf: coupon.ActiveAsOf, UpdatedAt: coupon.UpdatedAt, ID: coupon.ID, OrgID: coupon.OrgID,
	})
	recordCoupon(u, events.AffiliateCouponUpdated, coupon)
	if err != nil {
		return coupon, err
	}
	return coupon, retryUnattributed(ctx, u, coupon)
}

// CouponState is a processor's report on a code. Parent is the external id of the discount behind the code, ""
// if unknown; At is the time of the report.
type CouponState struct {
	Active bool
	Parent string
	At     clock.Time
}

// SetCouponState records that the processor turned a code off or on (decisions, 80), and reports whether that
// changed anything. Events come in any order: an older one than the last changes nothing. Integrations call it;
// no operation of the API does. An inactive code still belongs to its partner, but attributes no customer.
func SetCouponState(ctx context.Context, u *work.Unit, id string, to CouponState) (changed bool, err error) {
	before, err := lockCoupon(ctx, u, id)
	if err != nil {
		return false, err
	}
	coupon := before
	if to.Parent != "" {
		coupon.ExternalParentID = &to.Parent
	}
	if coupon.ActiveAsOf == nil || !to.At.Before(coupon.ActiveAsOf.Time) {
		coupon.Active, coupon.ActiveAsOf = to.Active, &to.At
	}
	if reflect.DeepEqual(coupon, before) {
		return false, nil
	}
	if changed = coupon.Active != before.Active; changed {
		kind := events.AffiliateCouponDeactivated
		if coupon.Active {
			kind = events.AffiliateCouponActivated
		}
		recordCoupon(u, kind, coupon)
		coupon.UpdatedAt = u.Now
	}
	err = queries.CouponSetActive(ctx, u.Later(), db.CouponSetActiveParams{
		Active: coupon.Active, ExternalParentID: coupon.ExternalParentID, ActiveAsOf: coupon.ActiveAsOf,
		UpdatedAt: coupon.UpdatedAt, ID: coupon.ID, OrgID: coupon.OrgID,
	})
	if err != nil || opt.Value(coupon.ExternalParentID) == opt.Value(before.ExternalParentID) {
		return changed, err
	}
	// The parent may have ended before its coupon was known.
	return changed, u.Reschedule(ctx, coupon.ProgramID, work.CouponKey(to.Parent))
}

// StopCoupons turns off a partner's coupons, and returns their number. A later report of the processor that a
// code works turns it on again.
func StopCoupons(ctx context.Context, u *work.Unit, p db.Partner) (int, error) {
	of := db.CouponsDeactivateParams{Now: &u.Now, ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: &p.ID}
	stopped, err := queries.CouponsDeactivate(ctx, u.DB(), of)
	slices.SortFunc(stopped, func(a, b db.Coupon) int { return cmp.Compare(a.ID, b.ID) })
	for _, k := range stopped {
		recordCoupon(u, events.AffiliateCouponDeactivated, k)
	}
	return len(stopped), err
}

// DeleteCoupon deletes a coupon. Its customers keep their partner.
func DeleteCoupon(ctx context.Context, u *work.Unit, id string) error {
	coupon, err := lockCoupon(ctx, u, id)
	if err != nil {
		return err
	}
	err = queries.CouponDelete(ctx, u.Later(), db.CouponDeleteParams{ID: coupon.ID, OrgID: coupon.OrgID})
	u.Record(aboutCoupon(coupon),
		events.AffiliateCouponDeleted(api.AffiliateCouponDeletedData{CouponID: coupon.ID, PartnerID: coupon.PartnerID}))
	return err
}

// lockCoupon locks a coupon of the unit's programs until the commit.
func lockCoupon(ctx context.Context, u *work.Unit, id string) (db.Coupon, error) {
	coupon, err := queries.CouponLock(ctx, u.DB(), db.CouponLockParams{ID: id, OrgID: u.OrgID})
	if err != nil {
		return coupon, err
	}
	return coupon, u.CheckProgram(coupon.ProgramID)
}

// recordCoupon records an event with the coupon's present state.
func recordCoupon(u *work.Unit, of func(api.AffiliateCouponData) events.Event, k db.Coupon) {
	u.Record(aboutCoupon(k), of(api.AffiliateCouponData{
		CouponID: k.ID, PartnerID: k.PartnerID, Code: k.Code, Active: k.Active,
	}))
}

// aboutCoupon returns the subject of a coupon's events. Events of a coupon without a partner reach no partner.
func aboutCoupon(k db.Coupon) event.Subject {
	return event.Subject{ProgramID: k.ProgramID, PartnerID: opt.Value(k.PartnerID), ID: k.ID}
}
