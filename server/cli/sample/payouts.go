package sample

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"rail/server/clock"
	"rail/server/ident"
)

const (
	termDays  = 30   // net_30
	minPayout = 5000 // of the program's currency
)

// payout is a payout of a partner for a month. Nil texts belong to other states: reason to not_eligible, code to
// failed, external to paid, rail to processing and failed.
type payout struct {
	id, partnerID, currency, status string
	method, reason, text            *string
	amount                          int64
	paid                            *clock.Time
	code, message, external, rail   *string
}

// month is a batch of everything due at the end of a month, in UTC.
type month struct {
	id            string
	first         time.Time
	end, made     clock.Time
	due, paidOnce clock.Time // paidOnce is the time of payment, unless delayed
	latest        bool
}

// payouts creates the batch of each month and pays it. Payouts of the last month are still in progress, and some
// have failed. A month whose batch would be in the future has none yet.
func (b *builder) payouts() {
	for first := monthOf(b.start.Time); ; first = first.AddDate(0, 1, 0) {
		end := clock.At(first.AddDate(0, 1, 0).Add(-time.Microsecond))
		// Net 30: the payouts of a month are due 30 days after its last day.
		due := clock.At(first.AddDate(0, 1, -1+termDays))
		m := month{
			id: ident.NewSample(ident.Batch), first: first, end: end, made: end.Plus(10 * time.Minute), due: due,
			paidOnce: due.Plus(26 * time.Hour),
		}
		if !b.past(m.made) {
			return
		}
		// The batch is the latest until that of the next month exists.
		m.latest = !b.past(clock.At(first.AddDate(0, 2, 0)).Plus(10 * time.Minute))
		b.batch(m)
	}
}

// monthOf returns the first moment of a month, in UTC.
func monthOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
}

// batch adds the batch of a month with a payout for each partner and currency with an amount due. Commissions
// that ended before the batch do not count. The payouts are sorted, since the order of a map differs between
// runs, and the seed must give the same result.
func (b *builder) batch(m month) {
	owed := map[[2]string][]*commission{}
	for _, k := range b.commissions {
		if k.payout == nil && k.due != nil && !k.due.After(m.end.Time) && (k.ended == nil || k.ended.After(m.made.Time)) {
			key := [2]string{k.partner.id, k.currency}
			owed[key] = append(owed[key], k)
		}
	}
	if len(owed) == 0 {
		return
	}
	b.add(b.sheets.batches, m.id, m.first, m.end, m.made, m.made)
	for _, key := range slices.SortedFunc(maps.Keys(owed),
		func(x, y [2]string) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) }) {
		b.payout(m, owed[key])
	}
}

// payout adds the payout of one partner and currency, with clawbacks for commissions that were refunded after
// the payment. Commissions refunded before are not in it.
func (b *builder) payout(m month, owed []*commission) {
	p := &payout{
		id: ident.NewSample(ident.Payout), partnerID: owed[0].partner.id, currency: owed[0].currency,
		method: owed[0].partner.method,
	}
	// The outcome first: the payment's time decides which refunds came too late.
	b.outcome(m, p)
	until := b.now
	if p.paid != nil {
		until = *p.paid
	}
	attached := slices.DeleteFunc(owed, func(k *commission) bool {
		return k.ended != nil && !k.ended.After(until.Time)
	})
	// Clawbacks are included with negative amounts. If they exceed the rest, nothing is paid, and all wait for the
	// next month.
	for _, k := range attached {
		p.amount += k.amount
	}
	if p.amount <= 0 {
		return
	}
	// A payout that is not eligible attaches nothing: its commissions stay due and are collected again by the next
	// batch.
	if p.eligible(owed[0].partner, m) {
		for _, k := range attached {
			k.payout = p
			if k.ended != nil {
				b.takeBack(k)
			}
		}
	}
	updated := m.made
	if p.paid != nil {
		updated = *p.paid
	}
	b.add(b.sheets.payouts, p.id, p.partnerID, m.id, p.amount, p.currency, p.status, p.method, p.external, p.reason,
		p.text, p.code, p.message,
		m.first, m.end, m.due, p.paid, p.status == "paid" || p.status == "pending" && b.past(m.due), p.rail, m.made, updated)
}

// outcome sets the state of the payout. One in five of the last month is processing and one has failed; a fifth
// stays pending whatever the day, so that the list has payouts in every state on any day.
func (b *builder) outcome(m month, p *payout) {
	n := len(b.sheets.payouts.rows)
	p.status = "pending"
	switch {
	case m.latest && n%5 == 0:
	case m.latest && n%5 == 1:
		p.status, p.rail = "processing", new("file")
	case m.latest && n%5 == 3:
		p.status, p.rail = "failed", new("file")
		p.code, p.message = new("receiver_unregistered"), new("The receiver's account could not be found.")
	case b.past(m.paidOnce):
		p.status, p.paid, p.external = "paid", &m.paidOnce, new("tr_nw"+number(n, 6))
	}
}

// decimal formats an amount of the program's currency.
func decimal(minor int64) string { return fmt.Sprintf("%d.%02d %s", minor/100, minor%100, currency) }

// eligible reports whether the partner is paid, by the rules of a batch: it must be active, and the amount at
// least the minimum, which is in the program's currency and does not apply to others. Otherwise it makes the
// payout ineligible, with the reason.
func (p *payout) eligible(owner *partner, m month) bool {
	var reason, text string
	switch {
	case !owner.works(m.made):
		reason, text = "partner_not_active", "The partner is suspended; only active partners are paid."
	case p.currency == currency && p.amount < minPayout:
		reason = "below_minimum"
		text = decimal(p.amount) + " is due; the minimum is " + decimal(minPayout) + "."
	default:
		return true
	}
	*p = payout{
		id: p.id, partnerID: p.partnerID, currency: p.currency, amount: p.amount, status: "not_eligible", reason: &reason,
		text: &text,
	}
	return false
}
