package sample

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"rail/server/clock"
	"rail/server/secret"
	"rail/server/work"
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

	// sharedActs bounds the acts that share round trips.
	sharedActs = 200
)

// size is the number of partners, of clicks, at least, and of customers.
type size struct{ partners, clicks, customers int }

// full is the size of the sample, with partners for several pages of every list.
var full = size{partners: 300, clicks: 7200, customers: 860}

// stage orders the acts between two milestones.
type stage int

// A stage needs only the results of earlier ones.
const (
	joins stage = iota
	profiles
	links
	clicks // not acts, but arrivals
	signUps
	payments
	changes
	stages
)

// shares marks the stages whose acts mostly read and write together, and therefore share round trips.
var shares = [stages]bool{joins: true, links: true, payments: true}

// analyzed are the milestones before which the statistics are updated, since the tables may have been empty: without
// statistics the sample takes several times as long.
var analyzed = []int{8, 16, 40}

// act is a piece of work of the rules at a time in the past.
type act struct {
	at clock.Time
	do func(ctx context.Context, u *work.Unit) error
}

// builder draws the sample's story as acts and performs them. The same seed and time give the same program except
// for ids, hashes and short links, which must be unique. A builder is used once.
type builder struct {
	size

	keeper     *secret.Keeper
	programID  string
	now, start clock.Time
	rnd        *rand.Rand
	acts       [stages][]act
	arrivals   []arrival
	milestones []act // each sees the results of all acts before it

	// The groups and tags of partners.
	defaultGroup, creators, vips string
	tagIDs                       []string
	partners                     []*partner
	coupons                      []coupon
	visits                       []*visit
	customers                    []*buyer
	bounties, paid               int // decisions and payouts
}

// newBuilder returns a builder whose program began some thirteen months before now.
func newBuilder(keeper *secret.Keeper, now clock.Time, of size) *builder {
	return &builder{
		size: of, keeper: keeper, now: now, start: now.Plus(-age), rnd: rand.New(rand.NewPCG(seed, seed)),
	}
}

// build adds the program. The order of drawing matters twice: later steps read earlier results, and all steps share
// one random source, so that an additional step changes everything after it.
func (b *builder) build(ctx context.Context, u *work.Unit) error {
	if err := inOrder(ctx, at(u, b.start), b.program, b.groups, b.flows, b.welcome); err != nil {
		return err
	}
	b.drawPartners()
	b.drawCoupons()
	b.drawVisits()
	b.drawCustomers()
	b.drawSales()
	b.rewards()
	b.campaigns()
	b.payouts()
	return inOrder(ctx, u, b.perform, b.resources, b.notes, b.risks, b.taxForms, b.endpoints, b.inbox)
}

// inOrder runs parts of a unit until one fails.
func inOrder(ctx context.Context, u *work.Unit, parts ...func(ctx context.Context, u *work.Unit) error) error {
	for _, part := range parts {
		if err := part(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// at returns the unit at another time.
func at(u *work.Unit, t clock.Time) *work.Unit {
	w := *u
	w.Now = t
	return &w
}

// add adds an act, unless its time is in the future.
func (b *builder) add(s stage, t clock.Time, do func(ctx context.Context, u *work.Unit) error) {
	if !t.After(b.now.Time) {
		b.acts[s] = append(b.acts[s], act{t, do})
	}
}

// milestone adds an act that must see all acts before it.
func (b *builder) milestone(t clock.Time, do func(ctx context.Context, u *work.Unit) error) {
	if !t.After(b.now.Time) {
		b.milestones = append(b.milestones, act{t, do})
	}
}

// perform performs the acts from one milestone to the next, stage by stage.
func (b *builder) perform(ctx context.Context, u *work.Unit) error {
	byTime := func(x, y act) int { return x.at.Compare(y.at.Time) }
	for s := range b.acts {
		slices.SortStableFunc(b.acts[s], byTime)
	}
	slices.SortStableFunc(b.milestones, byTime)
	for i, m := range b.milestones {
		if slices.Contains(analyzed, i) {
			if err := analyze(ctx, u); err != nil {
				return err
			}
		}
		for s := range stages {
			if err := b.stage(ctx, u, s, m.at); err != nil {
				return fmt.Errorf("stage %d until %s: %w", s, m.at, err)
			}
		}
		if err := m.do(ctx, at(u, m.at)); err != nil {
			return fmt.Errorf("at %s: %w", m.at, err)
		}
	}
	return nil
}

// stage performs the acts of a stage up to a time.
func (b *builder) stage(ctx context.Context, u *work.Unit, s stage, until clock.Time) error {
	if s == clicks {
		return b.arrive(ctx, u, until)
	}
	n := 0
	for n < len(b.acts[s]) && !b.acts[s][n].at.After(until.Time) {
		n++
	}
	due := b.acts[s][:n]
	b.acts[s] = b.acts[s][n:]
	return together(ctx, u, due, shares[s])
}

// together performs acts, in the order of time unless they share round trips.
func together(ctx context.Context, u *work.Unit, acts []act, share bool) error {
	if !share {
		for _, a := range acts {
			if err := a.do(ctx, at(u, a.at)); err != nil {
				return err
			}
		}
		return nil
	}
	for some := range slices.Chunk(acts, sharedActs) {
		if err := errors.Join(u.Share(ctx, len(some), func(i int, u *work.Unit) error {
			u.Now = some[i].at
			return some[i].do(ctx, u)
		})...); err != nil {
			return err
		}
	}
	return nil
}

// chance returns true with probability p.
func (b *builder) chance(p float64) bool { return b.rnd.Float64() < p }

// between returns a time in [a, c); a if c is not later.
func (b *builder) between(a, c clock.Time) clock.Time {
	span := c.Sub(a.Time)
	if span <= 0 {
		return a
	}
	return a.Plus(time.Duration(b.rnd.Int64N(int64(span))))
}

// duration returns one in [least, most).
func (b *builder) duration(least, most time.Duration) time.Duration {
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
