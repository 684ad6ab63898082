package sample

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/oapi-codegen/nullable"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	partners "rail/server/program/partner"
	"rail/server/program/tracking"
	"rail/server/work"
)

// partner is a partner with the data for later acts. weight is its share of the traffic, relative to the others'.
// Its id is empty until it has joined.
type partner struct {
	id, handle, country string
	status              db.PartnerStatus
	groupID             string
	weight              float64
	joined              clock.Time
	left                clock.Time // when suspended, else zero
	links               []link
}

// link is a link of a partner.
type link struct {
	value, destination string
	created            clock.Time
}

// coupon is an active coupon of a partner, for customers to use. Coupons of groups are not included, since no
// partner earns from those.
type coupon struct {
	code    string
	owner   *partner
	created clock.Time
}

// overrideJSON is the rate of the few links with a rate override.
const overrideJSON = `{"rate_type":"percent","rate_value":4500}`

// activeAt reports whether a partner was active at a time.
func (p *partner) activeAt(t clock.Time) bool {
	return p.joined.Before(t.Time) && (p.status == db.PartnerStatusActive || p.suspended() && t.Before(p.left.Time))
}

func (p *partner) suspended() bool { return p.status == db.PartnerStatusSuspended }

// drawPartners draws the partners in descending order of their share of the traffic, which is uneven. Handles are
// unique in a program; a repeated name gets a number, as in the API.
func (b *builder) drawPartners() {
	taken := map[string]bool{}
	for i := range b.size.partners {
		first, last := pick(b, firstNames), pick(b, lastNames)
		handle := slug(first, last)
		for n := 2; taken[handle]; n++ {
			handle = slug(first, last) + "-" + number(n, 1)
		}
		taken[handle] = true
		p := &partner{
			handle: handle, status: b.statusOf(i), groupID: b.groupOf(i),
			// The share falls with the rank by a power law: a few partners bring most of the traffic.
			country: pick(b, partnerCountries), weight: math.Pow(float64(i+2), -0.8), joined: b.joined(i),
		}
		b.partners = append(b.partners, p)
		b.join(p, first, last)
	}
}

// statusOf returns the status of the ith partner: the last ones are applicants, pending or declined.
func (b *builder) statusOf(i int) db.PartnerStatus {
	switch {
	case i >= b.size.partners-14:
		return db.PartnerStatusPending
	case i >= b.size.partners-26: // withdrawn and rejected applications
		return db.PartnerStatusDeclined
	case i%40 == 33:
		return db.PartnerStatusSuspended
	}
	return db.PartnerStatusActive
}

// groupOf returns the group of the ith partner; the best twelve are VIPs, and about a third of the others are
// creators.
func (b *builder) groupOf(i int) string {
	switch {
	case i < 12:
		return b.vips
	case b.chance(0.35):
		return b.creators
	}
	return b.defaultGroup
}

// joined returns when the ith partner joined: the first forty at the beginning, which makes them the best, the
// others over the year, and the applicants in the last days.
func (b *builder) joined(i int) clock.Time {
	switch {
	case i >= b.size.partners-14:
		return b.between(b.now.Days(-12), b.now)
	case i < 40:
		return b.between(b.start.Days(6), b.start.Days(28))
	}
	return b.between(b.start.Days(10), b.now.Days(-20))
}

// join adds the entry of a partner, its profile and, for an admitted one, its links. Applicants apply, and so has
// one in nine of the others.
func (b *builder) join(p *partner, first, last string) {
	n := len(b.partners)
	c := partners.Candidate{
		ProgramID: b.programID, GroupID: &p.groupID, Handle: &p.handle, FirstName: &first, LastName: &last,
		Email: strings.ReplaceAll(p.handle, "-", ".") + "@" + pick(b, domains), CountryCode: &p.country,
		LanguageCode: opt.OrNil(languages[p.country]), Source: db.ApplicationSourcePortal,
	}
	if b.chance(0.3) {
		c.CompanyName = new(last + " " + pick(b, companies))
	}
	if b.chance(0.7) {
		c.WebsiteURL = new("https://" + p.handle + ".example")
	}
	worked := p.status == db.PartnerStatusActive || p.suspended()
	self := partners.Patch{DisplayName: nullable.NewNullableWithValue(first + " " + last)}
	if worked {
		c.TermsAcceptedAt, c.TermsVersion = &p.joined, new(termsVersion)
		self.PayoutMethod.Set(pick(b, []string{"paypal", "paypal", "wise"}))
	}
	if !worked || n%9 == 0 {
		b.apply(p, c)
	} else {
		b.add(joins, p.joined, func(ctx context.Context, u *work.Unit) error {
			added, err := partners.Create(ctx, u, c, false)
			p.id = added.ID
			return err
		})
	}
	b.profile(p, self, worked)
	if worked {
		b.linksOf(p)
	}
}

// apply adds the application of a partner and its decision.
func (b *builder) apply(p *partner, c partners.Candidate) {
	answers := json.RawMessage(`{"audience":"` + pick(b, []string{"students", "teams", "writers", "founders"}) +
		`","followers":` + number(100*b.rnd.IntN(400)+100, 1) + `}`)
	service, applied := partners.Service{}, ""
	b.add(joins, p.joined, func(ctx context.Context, u *work.Unit) error {
		a, err := partners.Apply(ctx, u, c, answers)
		p.id, applied = opt.Value(a.PartnerID), a.ID
		return err
	})
	withdrawn := len(b.partners)%4 == 0
	switch {
	case p.status == db.PartnerStatusPending:
	case p.status == db.PartnerStatusDeclined:
		b.add(changes, b.between(p.joined, b.now), func(ctx context.Context, u *work.Unit) (err error) {
			if withdrawn {
				_, err = partners.Withdraw(ctx, u, applied)
				return err
			}
			_, err = service.Reject(ctx, u, applied, new("The site is not about productivity."))
			return err
		})
	default:
		b.add(profiles, p.joined, func(ctx context.Context, u *work.Unit) error {
			_, err := service.Approve(ctx, u, applied)
			return err
		})
	}
}

// profile adds what a partner and the program enter later: each tag with a probability of 22 %, and a suspension
// in the second half of the partner's time, so that it has earned before.
func (b *builder) profile(p *partner, self partners.Patch, worked bool) {
	service := partners.Service{Keeper: b.keeper}
	self.TagIDs = []string{}
	for _, id := range b.tagIDs {
		if b.chance(0.22) {
			self.TagIDs = append(self.TagIDs, id)
		}
	}
	b.add(profiles, p.joined, func(ctx context.Context, u *work.Unit) error {
		if worked {
			return service.UpdateSelf(ctx, u, p.id, self)
		}
		_, err := service.Update(ctx, u, p.id, self)
		return err
	})
	if !p.suspended() {
		return
	}
	p.left = b.between(p.joined.Plus((b.now.Sub(p.joined.Time))/2), b.now)
	b.milestone(p.left, func(ctx context.Context, u *work.Unit) error {
		_, err := service.Update(ctx, u, p.id, partners.Patch{
			Status:           &p.status,
			SuspensionReason: nullable.NewNullableWithValue("Bids on the brand name in search ads."),
		})
		return err
	})
}

// linksOf adds the link to the front page, and for some partners further links, of which a few have their own
// value or rate. Every partner has the link to the front page; traffic relies on it.
func (b *builder) linksOf(p *partner) {
	b.link(p, pages[0], p.handle, p.joined, false)
	for _, page := range pages[1:] {
		if !b.chance(0.18) {
			continue
		}
		value := p.handle
		if b.chance(0.25) {
			value = slug(p.handle, strings.TrimPrefix(page, "/"))
		}
		b.link(p, page, value, b.between(p.joined, b.now.Plus(-time.Hour)), b.chance(0.04))
	}
}

// link adds a link, a few with a rate override.
func (b *builder) link(p *partner, page, value string, created clock.Time, override bool) {
	p.links = append(p.links, link{value, site + page, created})
	b.add(links, created, func(ctx context.Context, u *work.Unit) error {
		l, err := tracking.CreateLink(ctx, u, tracking.LinkInput{
			ProgramID: b.programID, PartnerID: p.id, DestinationURL: site + page, Value: &value, Label: opt.OrNil(labels[page]),
		})
		if err != nil || !override {
			return err
		}
		_, err = queries.LinkSetRateOverride(ctx, u.Later(), db.LinkSetRateOverrideParams{
			RateOverride: []byte(overrideJSON), UpdatedAt: u.Now, ID: l.ID,
		})
		return err
	})
}

// drawCoupons draws 40 coupons: most of partners, some of a group, one without an owner. Every thirteenth is
// inactive, and no customer uses it.
func (b *builder) drawCoupons() {
	for i := range 40 {
		var p *partner
		var groupID *string
		code, created := "NOTES"+number(i, 2), b.between(b.start.Days(30), b.now.Days(-30))
		switch {
		case i < 33 && b.partners[i].status == db.PartnerStatusActive:
			p = b.partners[i]
			code = strings.ToUpper(strings.Split(p.handle, "-")[0]) + number(i, 2)
			created = b.between(p.joined, b.now.Days(-15))
		case i < 39:
			groupID = &b.creators
		}
		b.add(profiles, created, func(ctx context.Context, u *work.Unit) error {
			in := tracking.CouponInput{
				ProgramID: b.programID, Code: code, GroupID: groupID, ExternalID: new("promo_" + number(i+1, 4)),
			}
			if p != nil {
				in.PartnerID = &p.id
			}
			k, err := tracking.CreateCoupon(ctx, u, in)
			if err == nil && i%13 == 12 {
				_, err = tracking.SetCouponState(ctx, u, k.ID, tracking.CouponState{Active: false, At: u.Now})
			}
			return err
		})
		if p != nil && i%13 != 12 {
			b.coupons = append(b.coupons, coupon{code, p, created})
		}
	}
}
