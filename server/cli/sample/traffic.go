package sample

import (
	"crypto/rand"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
)

// clickCount is the minimum number of clicks: the last visitor may bring more.
const clickCount = 20_000

// seasons weights the months: notes sell in autumn and at the new year.
var seasons = map[time.Month]float64{
	time.January: 1.3, time.February: 1, time.March: 0.95, time.April: 0.9, time.May: 0.9, time.June: 0.75,
	time.July: 0.7, time.August: 0.9, time.September: 1.35, time.October: 1.1, time.November: 1.3, time.December: 0.9,
}

// visit is one visitor's referral with its clicks.
type visit struct {
	id, landing, country string
	partner              *partner
	link                 link
	utm                  []byte
	clicks               []click
	status               string
	changed              clock.Time
}

// click is one click of a visit.
type click struct {
	id string
	at clock.Time
}

// traffic draws the visits and their clicks.
func (b *builder) traffic() {
	days := b.days()
	for n := 0; n < clickCount; {
		v := b.visit(b.moment(weighted(b, days, func(d dayWeight) float64 { return d.weight }).at))
		n += len(v.clicks)
		b.visits = append(b.visits, v)
	}
}

// dayWeight is the start of a day with its share of the traffic.
type dayWeight struct {
	at     clock.Time
	weight float64
}

// days weights each day of the last year by trend (from 0.4 up to 1.4), season and weekday: people take notes at
// work.
func (b *builder) days() []dayWeight {
	const n = 365
	out := make([]dayWeight, n)
	for i := range out {
		at := b.now.Days(int64(i - n))
		w := (0.4 + float64(i)/n) * seasons[at.Month()]
		if d := at.Weekday(); d == time.Saturday || d == time.Sunday {
			w *= 0.65
		}
		out[i] = dayWeight{at, w}
	}
	return out
}

// moment returns a past time within the day after at, more often in its middle.
func (b *builder) moment(at clock.Time) clock.Time {
	// The sum of two equal draws has a triangular distribution. It stays under a day, so that the moment is past also
	// on the last day.
	half := int64(12*time.Hour) - int64(time.Minute)
	return at.Plus(time.Duration(b.rnd.Int64N(half) + b.rnd.Int64N(half)))
}

// visit draws a visitor who comes by a partner's link and may come again, while the partner is active.
func (b *builder) visit(at clock.Time) *visit {
	p := b.partnerAt(at)
	// Each further link replaces the previous one with a probability of 40 %.
	l := p.links[0]
	for _, other := range p.links[1:] {
		if other.created.Before(at.Time) && b.chance(0.4) {
			l = other
		}
	}
	v := &visit{
		id: ident.NewSample(ident.Referral), country: pick(b, customerCountries), partner: p, link: l, status: "visit",
		changed: at,
	}
	v.landing, v.utm = b.landing(l)
	for t := at; b.past(t); t = t.Plus(b.within(time.Hour, 9*day)) {
		v.clicks = append(v.clicks, click{ident.NewSample(ident.Click), t})
		if !p.works(t) || !b.chance(0.32) {
			break
		}
	}
	return v
}

// partnerAt picks a partner who was active at a time. The loop ends, since some partners are active throughout.
func (b *builder) partnerAt(at clock.Time) *partner {
	for {
		p := weighted(b, b.partners, func(p *partner) float64 { return p.weight })
		if p.works(at) {
			return p
		}
	}
}

// landing returns the address of a link, for some visits with UTM parameters.
func (b *builder) landing(l link) (address string, utm []byte) {
	q := url.Values{"ref": {l.value}}
	if c := pick(b, campaigns); c != "" {
		fields := map[string]string{"utm_source": "partner", "utm_campaign": c}
		for k, v := range fields {
			q.Set(k, v)
		}
		utm, _ = json.Marshal(fields) // a map of strings always encodes
	}
	return l.destination + "?" + q.Encode(), utm
}

// visitRows adds referrals and clicks. It runs after the customers, which decide the status of the referrals.
func (b *builder) visitRows() {
	for _, v := range b.visits {
		first := v.clicks[0].at
		b.add(b.sheets.referrals, v.id, v.partner.id, v.link.id, hash(32), v.landing, v.utm, "link", v.status,
			first.Days(cookieDays), first, v.changed)
		ip, device, referer := hash(16), pick(b, devices), pick(b, referers)
		for _, k := range v.clicks {
			b.add(b.sheets.clicks, k.id, v.partner.id, v.link.id, v.id, "ref", ip, device.agent, opt.OrNil(referer), v.country,
				device.kind, v.landing, k.at)
		}
	}
}

// hash returns n random bytes in place of a keyed hash. No visitor has it, so no request can ever match.
func hash(n int) []byte {
	out := make([]byte, n)
	_, _ = rand.Read(out) // never fails
	return out
}

// isEuro reports whether customers of a country pay in euros.
func isEuro(country string) bool { return strings.Contains(euro, country) }
