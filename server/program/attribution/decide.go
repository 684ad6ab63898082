// Package attribution decides again which partner gets the customers of a program, under other settings. It changes
// nothing.
package attribution

import (
	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/program/tracking"
)

// Settings are the settings of a program that decide which partner gets a customer. CookieDays is nil if each referral
// keeps the end that it got from its first click.
type Settings struct {
	Model                             db.AttributionModel
	CookieDays                        *int64
	CouponBeatsLink, IgnoreLateClicks bool
}

// Coupon is a coupon that a customer named.
type Coupon struct {
	ID, PartnerID string
	Active        bool // the partner may get customers
	Paid          bool // named at the first payment
}

// History is all that decides about a customer.
type History struct {
	At     clock.Time  // when the customer came
	PaidAt *clock.Time // the first payment
	// ClickID and ReferralID are the visit that the customer named: a click, or only a referral.
	ClickID, ReferralID string
	Coupons             []Coupon // named at the sign-up or the first payment, in the order to try
	Touches             tracking.Touches
	Own                 map[string]bool // partners who are the customer and may not get it
	// First reports whether the program credits the first click now: then a named first click may be the script's.
	First bool
}

// Outcome is the partner who gets a customer, and why; PartnerID is "" for none. One of Touch and CouponID is set if
// there is a partner.
type Outcome struct {
	PartnerID string
	Reason    api.AttributionReason
	Touch     *tracking.Touch
	CouponID  string
}

// Decide returns who gets the customer. The order is that of a sign-up and a first payment: the coupon if it takes
// precedence, else the visit, else the coupon; a late click counts last (decisions, 81, 238, 317 and 318).
func (h History) Decide(s Settings) Outcome {
	touches := h.Touches
	if s.CookieDays != nil {
		touches = touches.Within(*s.CookieDays)
	}
	visit, found := h.visit(touches, s)
	coupon, has := h.coupon(visit.PartnerID)
	switch {
	case has && s.CouponBeatsLink:
		return coupon
	case found && h.Own[visit.PartnerID]:
		return Outcome{Reason: api.AttributionReasonSelfReferral}
	case found:
		return h.lessLate(touches, s, visit)
	case has:
		return coupon
	}
	return Outcome{Reason: api.AttributionReasonNoRoute}
}

// coupon returns the first coupon that fits. At a first payment, the coupon of the visit's partner changes nothing.
func (h History) coupon(visited string) (Outcome, bool) {
	for _, c := range h.Coupons {
		if c.Active && !h.Own[c.PartnerID] {
			if c.Paid && c.PartnerID == visited {
				return Outcome{}, false
			}
			return Outcome{PartnerID: c.PartnerID, Reason: api.AttributionReasonCoupon, CouponID: c.ID}, true
		}
	}
	return Outcome{}, false
}

// visit returns the partner of the visit that counts. A named referral counts as it is, whatever the model.
func (h History) visit(touches tracking.Touches, s Settings) (Outcome, bool) {
	named, ok := touches.Click(h.ClickID)
	if h.ClickID == "" && h.ReferralID != "" {
		named, ok = touches.Referral(h.ReferralID)
	}
	if !ok {
		return Outcome{}, false
	}
	reason := api.AttributionReasonNamedClick
	switch {
	case h.ClickID == "":
	case s.Model == db.AttributionModelFirst:
		reason = api.AttributionReasonFirstClick
		named, ok = touches.First(h.At)
	case h.followsModel():
		reason = api.AttributionReasonLastClick
		named, ok = touches.Last(h.At)
	}
	if !ok || !named.Active || !named.Ends.After(h.At.Time) {
		return Outcome{}, false
	}
	return Outcome{PartnerID: named.PartnerID, Reason: reason, Touch: &named}, true
}

// followsModel reports whether the customer named the click that counted, and did not choose between clicks: under
// another window or model, it would have named another one.
func (h History) followsModel() bool {
	last, found := h.Touches.Last(h.At)
	if !found || last.ClickID == h.ClickID {
		return true
	}
	first, found := h.Touches.First(h.At)
	return h.First && found && first.ClickID == h.ClickID
}

// lessLate returns the earlier partner if the first payment followed a late click of the visit's partner and the
// settings ignore such clicks; else the visit.
func (h History) lessLate(touches tracking.Touches, s Settings, visit Outcome) Outcome {
	if !s.IgnoreLateClicks || h.PaidAt == nil {
		return visit
	}
	late, earlier, found := touches.Late(*h.PaidAt)
	if !found || late.PartnerID != visit.PartnerID {
		return visit
	}
	if s.Model == db.AttributionModelFirst {
		if first, found := touches.First(*h.PaidAt); found {
			earlier = first
		}
	}
	if earlier.PartnerID == visit.PartnerID || !earlier.Active || h.Own[earlier.PartnerID] {
		return visit
	}
	return Outcome{PartnerID: earlier.PartnerID, Reason: api.AttributionReasonEarlierClick, Touch: &earlier}
}
