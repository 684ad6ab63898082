package sample

import (
	"math/rand/v2"
	"time"

	"rail/server/clock"
	"rail/server/ident"
	"rail/server/money/rules"
	"rail/server/secret"
)

// The program is a little older than its first clicks: partners join and create links before visitors click
// them.
const (
	day = 24 * time.Hour
	// year is the span of the clicks.
	year = 365 * day
	age  = year + 30*day

	currency    = "USD"
	cookieDays  = 60
	holdingDays = 30
	site        = "https://northwind-notes.example"

	// seed fixes every random choice. Any number is as good as another; another seed gives another program, of about
	// the same size.
	seed = 20260901
)

// builder creates the rows of the sample, sheet by sheet. It keeps what later rows depend on: customers need
// partners, commissions need sales. The same seed and time give the same program except for ids, hashes and
// short links, which must be unique. A builder is used once, by one goroutine.
type builder struct {
	sheets
	orgID, programID string
	now, start       clock.Time
	rnd              *rand.Rand

	// The groups and tags of partners.
	defaultGroup, creators, vips string
	tagIDs                       []string
	partners                     []*partner
	coupons                      []coupon
	visits                       []*visit
	customers                    []*customer
	payment, signup              []rules.Flow
	commissions                  []*commission
	keeper                       *secret.Keeper
	entries                      []entry
	owed                         map[[2]string]clock.Time // first commission by partner and currency, for the balances
}

// newBuilder returns a builder whose program began some thirteen months before now.
func newBuilder(orgID string, now clock.Time, keeper *secret.Keeper) *builder {
	return &builder{
		sheets: newSheets(), keeper: keeper, orgID: orgID, programID: ident.NewSample(ident.Program), now: now,
		start: now.Plus(-age), rnd: rand.New(rand.NewPCG(seed, seed)), owed: map[[2]string]clock.Time{},
	}
}

// build fills the sheets. The order matters twice: later steps read earlier results, and all steps share one
// random source, so that an additional step changes everything after it.
func (b *builder) build() error {
	b.program()
	if err := b.flowRows(); err != nil {
		return err
	}
	b.partnerRows()
	b.couponRows()
	b.traffic()
	b.customerRows()
	b.visitRows()
	b.money()
	b.earlyRefunds()
	b.contentRows()
	if err := b.riskRows(); err != nil {
		return err
	}
	b.formRows()
	if err := b.endpointRows(); err != nil {
		return err
	}
	return b.inboxRows()
}

// chance returns true with probability p.
func (b *builder) chance(p float64) bool { return b.rnd.Float64() < p }

// between returns a time from a up to c.
func (b *builder) between(a, c clock.Time) clock.Time {
	span := c.Sub(a.Time)
	if span <= 0 {
		return a
	}
	return a.Plus(time.Duration(b.rnd.Int64N(int64(span))))
}

// within returns a duration from least up to most.
func (b *builder) within(least, most time.Duration) time.Duration {
	return least + time.Duration(b.rnd.Int64N(int64(most-least)))
}

// past reports whether a time is before now.
func (b *builder) past(t clock.Time) bool { return t.Before(b.now.Time) }

// pick returns one of the elements, each with the same probability.
func pick[T any](b *builder, of []T) T { return of[b.rnd.IntN(len(of))] }

// weighted picks an element with a probability proportional to its weight.
func weighted[T any](b *builder, of []T, weight func(T) float64) T {
	total := 0.0
	for _, x := range of {
		total += weight(x)
	}
	at := b.rnd.Float64() * total
	for _, x := range of {
		if at -= weight(x); at < 0 {
			return x
		}
	}
	// Rounding may leave a rest after the last weight.
	return of[len(of)-1]
}

// latest returns the last of several times.
func latest(times ...clock.Time) clock.Time {
	var last clock.Time
	for _, t := range times {
		if t.After(last.Time) {
			last = t
		}
	}
	return last
}
