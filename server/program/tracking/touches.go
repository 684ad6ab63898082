package tracking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// lateClick is the time before a first payment in which another partner's click is suspicious: coupon extensions
// of browsers make one at checkout (decisions, 318).
const lateClick = 120 * time.Second

// Touch is a click of a visitor, in a referral.
type Touch struct {
	ClickID, ReferralID, PartnerID string
	LinkID                         *string // of the referral's first click
	ClickLinkID                    *string // of the click itself
	At                             clock.Time
	Begins, Ends                   clock.Time // of the referral
	Active                         bool       // the partner may get customers
	Return                         bool       // the visitor returned by a click of the last hour (decisions, 238)
}

// live reports whether the touch's referral has begun and not ended.
func (t Touch) live(at clock.Time) bool { return !t.Begins.After(at.Time) && t.Ends.After(at.Time) }

// Touches are the clicks of one visitor, in any order. They decide about attribution for new customers and in
// rehearsals.
type Touches []Touch

// First returns the first click of the visitor's earliest live referral with an active partner.
func (v Touches) First(at clock.Time) (Touch, bool) {
	return pick(v, func(t Touch) bool { return t.Active && t.live(at) }, func(a, b Touch) int {
		return cmp.Or(a.Begins.Compare(b.Begins.Time), cmp.Compare(a.ReferralID, b.ReferralID), inOrder(a, b))
	})
}

// Last returns the last click or return of the visitor in a live referral with an active partner.
func (v Touches) Last(at clock.Time) (Touch, bool) {
	return pick(v, func(t Touch) bool { return t.Active && t.live(at) && !t.At.After(at.Time) },
		func(a, b Touch) int { return inOrder(b, a) })
}

// Late returns the last click shortly before a payment that followed a click of another partner, and that earlier
// click. Both referrals are live at the payment. If the earlier click is late too, a partner with a click before it is
// no late one.
func (v Touches) Late(paidAt clock.Time) (late, earlier Touch, found bool) {
	var seen Touches
	for _, t := range v {
		if t.live(paidAt) && !t.Return && !t.At.After(paidAt.Time) {
			seen = append(seen, t)
		}
	}
	slices.SortFunc(seen, func(a, b Touch) int { return inOrder(b, a) })
	isLate := func(t Touch) bool { return t.At.After(paidAt.Plus(-lateClick).Time) }
	for i, t := range seen {
		if !isLate(t) {
			break
		}
		same := func(other Touch) bool { return other.PartnerID == t.PartnerID }
		n := slices.IndexFunc(seen[i+1:], func(other Touch) bool { return !same(other) })
		if n < 0 {
			continue
		}
		before, older := seen[i+1+n], seen[i+2+n:]
		if !isLate(before) || !slices.ContainsFunc(older, same) {
			return t, before, true
		}
	}
	return late, earlier, false
}

// Click returns the touch of a click.
func (v Touches) Click(id string) (Touch, bool) {
	return pick(v, func(t Touch) bool { return t.ClickID == id && id != "" && !t.Return }, inOrder)
}

// Referral returns the first touch of a referral.
func (v Touches) Referral(id string) (Touch, bool) {
	return pick(v, func(t Touch) bool { return t.ReferralID == id }, inOrder)
}

// Within returns the touches as if each referral had lasted for a number of days from its first click, and the
// visitor's next click with that partner had opened another.
func (v Touches) Within(days int64) Touches {
	out := slices.Clone(v)
	slices.SortFunc(out, inOrder)
	opened := map[string]Touch{} // by partner
	for i := range out {
		t := &out[i]
		now, ok := opened[t.PartnerID]
		if !ok || !now.Ends.After(t.At.Time) {
			now = Touch{LinkID: t.ClickLinkID, Begins: t.At, Ends: t.At.Days(days)}
			opened[t.PartnerID] = now
		}
		t.LinkID, t.Begins, t.Ends = now.LinkID, now.Begins, now.Ends
	}
	return out
}

// inOrder compares the times of clicks.
func inOrder(a, b Touch) int {
	return cmp.Or(a.At.Compare(b.At.Time), cmp.Compare(a.ClickID, b.ClickID))
}

// pick returns the least touch that fits.
func pick(v Touches, fits func(Touch) bool, compare func(a, b Touch) int) (least Touch, found bool) {
	for _, t := range v {
		if fits(t) && (!found || compare(t, least) < 0) {
			least, found = t, true
		}
	}
	return least, found
}

// touchesOf reads the clicks of a referral's visitor in live referrals. With several, it reads none of a visitor with
// one referral.
func touchesOf(ctx context.Context, u *work.Unit, referralID string, at clock.Time, several bool) (Touches, error) {
	rows, err := queries.VisitorTouches(ctx, u.DB(), db.VisitorTouchesParams{
		ReferralID: referralID, OrgID: u.OrgID, At: at, Several: several,
	})
	out := make(Touches, len(rows))
	for i, r := range rows {
		out[i] = Touch{
			ClickID: r.ClickID, ReferralID: r.ReferralID, PartnerID: r.PartnerID, At: r.At,
			Begins: r.BeginsAt, Ends: r.EndsAt, Active: r.Active,
		}
	}
	return out, err
}

// LateClick returns a late click of the visitor of a referral, and the earlier click of another partner.
func LateClick(
	ctx context.Context, u *work.Unit, referralID string, paidAt clock.Time,
) (late, earlier Touch, found bool, err error) {
	touches, err := touchesOf(ctx, u, referralID, paidAt, true)
	late, earlier, found = touches.Late(paidAt)
	return late, earlier, found, err
}

// standingClick returns the click that counts for a customer of click: itself or, if the program credits the
// first partner, the visitor's first.
func standingClick(
	ctx context.Context, u *work.Unit, p db.Program, click db.Click, at clock.Time,
) (db.Click, error) {
	if p.AttributionModel != db.AttributionModelFirst || click.ReferralID == nil || click.ProgramID != p.ID {
		return click, nil
	}
	touches, err := touchesOf(ctx, u, *click.ReferralID, at, false)
	first, found := touches.First(at)
	if err != nil || !found || first.ClickID == click.ID { // if none is live: report the fault of this one
		return click, err
	}
	return queries.ClickGet(ctx, u.DB(), db.ClickGetParams{ID: first.ClickID, OrgID: u.OrgID})
}

// OtherRoutes are the routes that a customer named at its sign-up or first payment and that did not get it. A
// rehearsal needs them, because no other row has them.
type OtherRoutes struct {
	At         *clock.Time `json:"at,omitempty"` // when the customer came, if that was before its sign-up
	ClickID    string      `json:"click_id,omitempty"`
	ReferralID string      `json:"referral_id,omitempty"`
	CouponIDs  []string    `json:"coupon_ids,omitempty"`
	// PaidCouponIDs are those of the first payment, also if a coupon took the customer over.
	PaidCouponIDs []string `json:"paid_coupon_ids,omitempty"`
}

// maxOtherCoupons bounds the coupons of a customer's other routes.
const maxOtherCoupons = 10

// AddPaid adds a coupon of the first payment.
func (o *OtherRoutes) AddPaid(couponID string) { addCoupon(&o.PaidCouponIDs, couponID) }

func addCoupon(to *[]string, id string) {
	if !slices.Contains(*to, id) && len(*to) < maxOtherCoupons {
		*to = append(*to, id)
	}
}

// Add adds a route. The first click or referral stays.
func (o *OtherRoutes) Add(r Route) {
	switch {
	case r.CouponID != nil:
		addCoupon(&o.CouponIDs, *r.CouponID)
	case o.ClickID != "" || o.ReferralID != "":
	default:
		o.ClickID, o.ReferralID = opt.Value(r.ClickID), opt.Value(r.ReferralID)
	}
}

// CouponOf returns the id of a route's coupon; "" if the route is another one, or no such coupon attributes customers.
func CouponOf(ctx context.Context, u *work.Unit, programID string, r Route) (string, error) {
	if !r.Coupon() {
		return "", nil
	}
	coupon, err := creditedCoupon(ctx, u, programID, r)
	if problem.Is(err, problem.ResourceNotFound, problem.InvalidReference) || errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return coupon.ID, err
}
