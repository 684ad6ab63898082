package sample

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/program/tracking"
	"rail/server/work"
)

// seasons weights the months: notes sell in autumn and at the new year.
var seasons = map[time.Month]float64{
	time.January: 1.3, time.February: 1, time.March: 0.95, time.April: 0.9, time.May: 0.9, time.June: 0.75,
	time.July: 0.7, time.August: 0.9, time.September: 1.35, time.October: 1.1, time.November: 1.3, time.December: 0.9,
}

// visit is one visitor of a partner's link, with the times of the clicks. lastClick is the id of the last one.
type visit struct {
	country, lastClick string
	partner            *partner
	clicks             []clock.Time
}

// drawVisits draws the visits and their clicks.
func (b *builder) drawVisits() {
	days := b.days()
	for n := 0; n < b.size.clicks; {
		v := b.visit(b.moment(weighted(b, days, func(d dayWeight) float64 { return d.weight }).at))
		n += len(v.clicks)
		b.visits = append(b.visits, v)
	}
	slices.SortStableFunc(b.arrivals, func(x, y arrival) int { return x.At.Compare(y.At.Time) })
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
	v := &visit{country: pick(b, customerCountries), partner: p}
	for t := at; b.past(t) && p.activeAt(t); t = t.Plus(b.duration(time.Hour, 9*day)) {
		v.clicks = append(v.clicks, t)
		if !b.chance(0.32) {
			break
		}
	}
	b.click(v, l)
	return v
}

// click adds the clicks of a visit, all with one browser.
func (b *builder) click(v *visit, l link) {
	device, referer := pick(b, devices), pick(b, referers)
	came := tracking.Visit{
		// No other visitor has the token.
		VisitorToken: ident.New(ident.Referral), LandingURL: b.landing(l), IP: b.address(), UserAgent: &device.agent,
		Referer: opt.OrNil(referer), Country: &v.country, Device: &device.kind,
	}
	for _, t := range v.clicks {
		b.arrivals = append(b.arrivals, arrival{tracking.Arrival{Visit: came, Value: l.value, At: t}, v})
	}
}

// arrival is a click of a visit.
type arrival struct {
	tracking.Arrival
	of *visit
}

// arrive records the clicks up to a time, some at once: the first of each visitor, then the second, and so on.
func (b *builder) arrive(ctx context.Context, u *work.Unit, until clock.Time) error {
	n, _ := slices.BinarySearchFunc(b.arrivals, until, func(a arrival, t clock.Time) int { return a.At.Compare(t.Time) })
	due, service := b.arrivals[:n], tracking.Service{Keeper: b.keeper}
	b.arrivals = b.arrivals[n:]
	for len(due) > 0 {
		var some, rest []arrival
		seen := map[*visit]bool{}
		for _, a := range due {
			if seen[a.of] || len(some) == sharedActs {
				rest = append(rest, a)
				continue
			}
			seen[a.of], some = true, append(some, a)
		}
		came := make([]tracking.Arrival, len(some))
		for i, a := range some {
			came[i] = a.Arrival
		}
		recorded, err := service.Clicks(ctx, u, b.programID, came)
		if err != nil {
			return err
		}
		for i, a := range some {
			a.of.lastClick = recorded[i].ID
		}
		due = rest
	}
	return nil
}

// address returns a network address reserved for documentation, which no request has.
func (b *builder) address() string {
	return fmt.Sprintf("2001:db8::%x:%x", b.rnd.IntN(1<<16), b.rnd.IntN(1<<16))
}

// partnerAt picks a partner who was active at a time. The loop ends, since some partners are active throughout.
func (b *builder) partnerAt(at clock.Time) *partner {
	for {
		p := weighted(b, b.partners, func(p *partner) float64 { return p.weight })
		if p.activeAt(at) {
			return p
		}
	}
}

// landing returns the address of a link, for some visits with UTM parameters.
func (b *builder) landing(l link) string {
	q := url.Values{"ref": {l.value}}
	if c := pick(b, campaigns); c != "" {
		q.Set("utm_source", "partner")
		q.Set("utm_campaign", c)
	}
	return l.destination + "?" + q.Encode()
}

// isEuro reports whether customers of a country pay in euros.
func isEuro(country string) bool { return strings.Contains(euro, country) }
