package attribution

import (
	"context"
	"encoding/json"
	"slices"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/program/tracking"
)

// A visitor with so many clicks, clicks of one referral, or referrals is not a person and cannot be decided.
// RehearsalTouches reads as many.
const (
	maxTouches  = 1001
	maxOfVisits = 101
)

// evidence is a customer with the rows that decide about it.
type evidence struct {
	db.RehearsalCustomersRow
	other      tracking.OtherRoutes
	referralID string // leads to the visitor; "" for none
	touches    tracking.Touches
	rows       map[string]int // the number of clicks by referral
	coupons    []Coupon
}

// at returns when the customer came.
func (e evidence) at() clock.Time { return *opt.Or(e.other.At, &e.Customer.LeadAt) }

// until returns the time up to which clicks matter.
func (e evidence) until() clock.Time {
	if e.PaidAt != nil && e.PaidAt.After(e.at().Time) {
		return *e.PaidAt
	}
	return e.at()
}

// fixed reports whether no setting decides about the customer: a person, the API or an import chose the partner, or
// the customer named no click and no coupon, or its coupon was deleted.
func (e evidence) fixed() bool {
	k := e.Customer
	var rule api.CustomerAttribution
	if k.Attribution != nil && json.Unmarshal(k.Attribution, &rule) != nil {
		return true
	}
	if rule.Rule == api.AttributionRuleImport || k.TrackedBy == db.TrackedByManual ||
		k.TrackedBy == db.TrackedByCoupon && k.CouponID == nil {
		return true
	}
	return k.ClickID == nil && k.ReferralID == nil && k.CouponID == nil && k.OtherRoutes == nil
}

// gather reads the evidence of a page of customers.
func (p *preview) gather(ctx context.Context, rows []db.RehearsalCustomersRow) ([]evidence, error) {
	page := make([]evidence, len(rows))
	for i, r := range rows {
		page[i].RehearsalCustomersRow = r
		if r.Customer.OtherRoutes == nil {
			continue
		}
		if err := json.Unmarshal(r.Customer.OtherRoutes, &page[i].other); err != nil {
			return nil, err
		}
	}
	if err := p.findVisitors(ctx, page); err != nil {
		return nil, err
	}
	if err := p.readTouches(ctx, page); err != nil {
		return nil, err
	}
	return page, p.readCoupons(ctx, page)
}

// findVisitors sets the referrals that lead to the visitors.
func (p *preview) findVisitors(ctx context.Context, page []evidence) error {
	var ids []string
	for _, e := range page {
		if e.Customer.ReferralID == nil && e.other.ClickID != "" {
			ids = append(ids, e.other.ClickID)
		}
	}
	clicks, err := p.clicks(ctx, ids)
	if err != nil {
		return err
	}
	for i := range page {
		e := &page[i]
		e.referralID = opt.Value(e.Customer.ReferralID)
		if e.referralID == "" {
			e.referralID = e.other.ReferralID
		}
		if e.referralID == "" {
			e.referralID = opt.Value(clicks[e.other.ClickID].ReferralID)
		}
	}
	return nil
}

// clicks reads clicks by their ids.
func (p *preview) clicks(ctx context.Context, ids []string) (map[string]db.RehearsalClicksRow, error) {
	out := map[string]db.RehearsalClicksRow{}
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := queries.RehearsalClicks(ctx, p.u.DB(), db.RehearsalClicksParams{Ids: ids, OrgID: p.u.OrgID})
	for _, r := range rows {
		out[r.ID] = r
	}
	return out, err
}

// readTouches reads the clicks of the visitors.
func (p *preview) readTouches(ctx context.Context, page []evidence) error {
	var of []int // the index in the page
	params := db.RehearsalTouchesParams{OrgID: p.u.OrgID}
	for i, e := range page {
		if e.referralID != "" && !e.fixed() {
			of = append(of, i)
			params.ReferralIds, params.Untils = append(params.ReferralIds, e.referralID), append(params.Untils, e.until())
		}
	}
	if len(of) == 0 {
		return nil
	}
	rows, err := queries.RehearsalTouches(ctx, p.u.DB(), params)
	if err != nil {
		return err
	}
	for _, r := range rows {
		e := &page[of[r.N-1]]
		e.add(r)
	}
	return nil
}

// add adds a row of a visitor, and its return if it is the first of its referral.
func (e *evidence) add(r db.RehearsalTouchesRow) {
	t := tracking.Touch{
		ClickID: r.ClickID, ReferralID: r.ReferralID, PartnerID: r.PartnerID, LinkID: r.VisitLinkID,
		ClickLinkID: r.LinkID,
		At:          r.At, Begins: r.BeginsAt, Ends: r.EndsAt,
	}
	if e.rows == nil {
		e.rows = map[string]int{}
	}
	if e.rows[r.ReferralID] == 0 && r.ReturnedAt != nil && !r.ReturnedAt.After(e.until().Time) {
		back := t
		back.ClickID, back.At, back.Return = r.ReturnedClickID, *r.ReturnedAt, true
		e.touches = append(e.touches, back)
	}
	e.rows[r.ReferralID]++
	e.touches = append(e.touches, t)
}

// crowded reports whether the visitor has too many clicks or referrals.
func (e *evidence) crowded() bool {
	total := 0
	for _, n := range e.rows {
		if total += n; n >= maxOfVisits {
			return true
		}
	}
	return total >= maxTouches || len(e.rows) >= maxOfVisits
}

// readCoupons reads the partners of the coupons that did not get their customers.
func (p *preview) readCoupons(ctx context.Context, page []evidence) error {
	var ids []string
	for _, e := range page {
		ids = append(ids, slices.Concat(e.other.CouponIDs, e.other.PaidCouponIDs)...)
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := queries.RehearsalCoupons(ctx, p.u.DB(), db.RehearsalCouponsParams{Ids: ids, OrgID: p.u.OrgID})
	if err != nil {
		return err
	}
	partners := map[string]string{}
	for _, r := range rows {
		partners[r.ID] = opt.Value(r.PartnerID)
	}
	for i := range page {
		e := &page[i]
		add := func(ids []string, paid bool) {
			for _, id := range ids {
				if of := partners[id]; of != "" && id != opt.Value(e.Customer.CouponID) {
					e.coupons = append(e.coupons, Coupon{ID: id, PartnerID: of, Paid: paid})
				}
			}
		}
		add(e.other.CouponIDs, false)
		add(e.other.PaidCouponIDs, true)
	}
	return nil
}

// candidates returns the ids of the partners who may get the customer.
func (e *evidence) candidates() []string {
	var ids []string
	if e.Customer.PartnerID != nil {
		ids = append(ids, *e.Customer.PartnerID)
	}
	for _, t := range e.touches {
		ids = append(ids, t.PartnerID)
	}
	for _, c := range e.coupons {
		ids = append(ids, c.PartnerID)
	}
	return ids
}

// history returns the history of a customer. The partner who has the customer may keep it, even if it is no longer
// active.
func (p *preview) history(e *evidence) History {
	k, own := e.Customer, map[string]bool{}
	may := func(id string) bool {
		return id == opt.Value(k.PartnerID) || p.partners[id].Status == db.PartnerStatusActive
	}
	h := History{
		At: e.at(), PaidAt: e.PaidAt, ClickID: e.other.ClickID, ReferralID: e.other.ReferralID, Own: own,
		Touches: slices.Clone(e.touches), First: p.program.AttributionModel == db.AttributionModelFirst,
	}
	if h.ClickID == "" && h.ReferralID == "" {
		h.ClickID, h.ReferralID = opt.Value(k.ClickID), opt.Value(k.ReferralID)
	}
	if k.CouponID != nil {
		h.Coupons = append(h.Coupons, Coupon{
			ID: *k.CouponID, PartnerID: opt.Value(k.PartnerID), Paid: slices.Contains(e.other.PaidCouponIDs, *k.CouponID),
		})
	}
	h.Coupons = append(h.Coupons, e.coupons...)
	for i := range h.Touches {
		h.Touches[i].Active = may(h.Touches[i].PartnerID)
	}
	for i := range h.Coupons {
		h.Coupons[i].Active = may(h.Coupons[i].PartnerID)
	}
	if p.program.BlockSelfReferrals {
		for _, id := range e.candidates() {
			own[id] = id != opt.Value(k.PartnerID) && p.isOwn(id, k)
		}
	}
	return h
}
