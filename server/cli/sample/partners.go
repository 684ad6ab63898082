package sample

import (
	"math"
	"strings"
	"time"

	"rail/server/auth"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
)

// partnerCount is large enough for several pages of every list.
const partnerCount = 300

// partner is a partner with the data for later rows. weight is its share of the traffic, relative to the
// others'.
type partner struct {
	id, handle, status, groupID, country string
	method                               *string
	tagIDs                               []string
	weight                               float64
	joined                               clock.Time
	left                                 clock.Time // when suspended, else zero
	links                                []link
}

// withdrawnReason is the reason for a withdrawn application. It marks the application as withdrawn rather than
// rejected; the application itself has no reason.
const withdrawnReason = "Withdrawn by the applicant."

// link is a link of a partner; override marks the few with a rate override.
type link struct {
	id, value, destination string
	override               bool
	created                clock.Time
}

// coupon is an active coupon of a partner, for customers to use. Coupons of groups are not included, since no
// partner earns from those.
type coupon struct {
	id      string
	owner   *partner
	created clock.Time
}

// works reports whether a partner was active at a time.
func (p *partner) works(t clock.Time) bool {
	return p.joined.Before(t.Time) && (p.status == "active" || p.status == "suspended" && t.Before(p.left.Time))
}

// partnerRows adds the partners in descending order of their share of the traffic, which is uneven. Handles are
// unique in a program; a repeated name gets a number, as in the API.
func (b *builder) partnerRows() {
	taken := map[string]bool{}
	for i := range partnerCount {
		first, last := pick(b, firstNames), pick(b, lastNames)
		handle := slug(first, last)
		for n := 2; taken[handle]; n++ {
			handle = slug(first, last) + "-" + number(n, 1)
		}
		taken[handle] = true
		p := &partner{
			id: ident.NewSample(ident.Partner), handle: handle, status: partnerStatus(i), groupID: b.groupOf(i),
			// The share falls with the rank by a power law: a few partners bring most of the traffic.
			country: pick(b, partnerCountries), weight: math.Pow(float64(i+2), -0.8), joined: b.joined(i),
		}
		b.partners = append(b.partners, p)
		b.partner(p, first, last)
	}
}

// partnerStatus returns the status of the ith partner: the last ones are applicants, pending or declined.
func partnerStatus(i int) string {
	switch {
	case i >= partnerCount-14:
		return "pending"
	case i >= partnerCount-26: // withdrawn applications
		return "declined"
	case i%40 == 33:
		return "suspended"
	}
	return "active"
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
	case i >= partnerCount-14:
		return b.between(b.now.Days(-12), b.now)
	case i < 40:
		return b.between(b.start.Days(6), b.start.Days(28))
	}
	return b.between(b.start.Days(10), b.now.Days(-20))
}

// partner adds the row of a partner with tags, application and links.
func (b *builder) partner(p *partner, first, last string) {
	email := strings.ReplaceAll(p.handle, "-", ".") + "@" + pick(b, domains)
	var company, page, decline, suspension, language *string
	if b.chance(0.3) {
		company = new(last + " " + pick(b, companies))
	}
	if b.chance(0.7) {
		page = new("https://" + p.handle + ".example")
	}
	if l, ok := languages[p.country]; ok {
		language = &l
	}
	// worked reports whether the partner was ever admitted: only then are there accepted terms, a payout method and
	// links.
	updated, worked := p.joined, p.status == "active" || p.status == "suspended"
	switch p.status {
	case "declined":
		decline, updated = new("The site is not about productivity."), b.between(p.joined, b.now)
		if len(b.partners)%4 == 0 {
			decline = new(withdrawnReason)
		}
	case "suspended":
		// In the second half of its time, so that it has earned before.
		p.left = b.between(p.joined.Plus((b.now.Sub(p.joined.Time))/2), b.now)
		suspension, updated = new("Bids on the brand name in search ads."), p.left
	}
	var accepted *clock.Time
	var terms, method *string
	if worked {
		accepted, terms, method = &p.joined, new("2025-09"), new(pick(b, []string{"paypal", "paypal", "wise"}))
		p.method = method
	}
	b.add(b.sheets.partners, p.id, p.groupID, email, first, last, first+" "+last, company, page, p.country, language,
		p.handle, p.status,
		decline, suspension, accepted, terms, worked, method, p.joined, updated)
	// The handle is a tracking value of the program, like links' values.
	b.add(b.sheets.values, p.handle, "handle", p.id, nil)
	b.tagsOf(p)
	if !worked {
		b.application(p, email, decline, updated)
		return
	}
	// One in nine admitted partners has applied; the program added the others.
	if len(b.partners)%9 == 0 {
		b.application(p, email, nil, p.joined)
	}
	b.linksOf(p)
}

// tagsOf gives the partner each tag with a probability of 22 %.
func (b *builder) tagsOf(p *partner) {
	for _, id := range b.tagIDs {
		if b.chance(0.22) {
			p.tagIDs = append(p.tagIDs, id)
			b.add(b.sheets.partnerTags, p.id, id)
		}
	}
}

// application adds the application of a partner, in the state that matches the partner's. decided is the time of
// the decision, or of the application while it is open.
func (b *builder) application(p *partner, email string, reason *string, decided clock.Time) {
	status, reviewed := "approved", &decided
	switch {
	case p.status == "pending":
		status, reviewed = "pending", nil
	case reason != nil && *reason == withdrawnReason:
		status, reviewed, reason = "withdrawn", nil, nil
	case reason != nil:
		status = "rejected"
	}
	answers := []byte(`{"audience":"` + pick(b, []string{"students", "teams", "writers", "founders"}) + `","followers":` +
		number(100*b.rnd.IntN(400)+100, 1) + `}`)
	b.add(b.sheets.applications, ident.NewSample(ident.Application), p.groupID, p.id, email, answers, "portal", status,
		reviewed, reason, p.joined, decided)
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

// link adds a link, and its tracking value unless that is the handle, which is registered with the partner.
func (b *builder) link(p *partner, page, value string, at clock.Time, override bool) {
	l := link{id: ident.NewSample(ident.Link), value: value, destination: site + page, override: override, created: at}
	p.links = append(p.links, l)
	var rate []byte
	if override {
		rate = []byte(overrideJSON)
	}
	// Clicks are matched on destination_key: the address without scheme and trailing slash.
	key := strings.TrimSuffix(strings.TrimPrefix(l.destination, "https://"), "/")
	b.add(b.sheets.links, l.id, p.id, "ref", value, value, l.destination, key, auth.NewSlug(7), opt.OrNil(labels[page]),
		rate, at, at)
	if value != p.handle {
		b.add(b.sheets.values, value, "link", p.id, l.id)
	}
}

// couponRows adds 40 coupons: most of partners, some of a group, one without an owner. Every thirteenth is
// inactive, and no customer uses it.
func (b *builder) couponRows() {
	for i := range 40 {
		var owner, group *string
		code, at := "NOTES"+number(i, 2), b.between(b.start.Days(30), b.now.Days(-30))
		var p *partner
		switch {
		case i < 33 && b.partners[i].status == "active":
			p = b.partners[i]
			owner, at = &p.id, b.between(p.joined, b.now.Days(-15))
			code = strings.ToUpper(strings.Split(p.handle, "-")[0]) + number(i, 2)
		case i < 39:
			group = &b.creators
		}
		id := ident.NewSample(ident.Coupon)
		b.add(b.sheets.coupons, id, owner, group, code, "promo_"+number(i+1, 4), i%13 != 12, at, at)
		if p != nil && i%13 != 12 {
			b.coupons = append(b.coupons, coupon{id, p, at})
		}
	}
}
