package inbox

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"strconv"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/work"
)

// refundToLevel refunds the sale of a payment up to the level of an event. Levels are stored for each payment, beside
// the refunds that reached them: several payments may settle a bill, and disputes add to it. A level that was
// reached or passed changes nothing, since events come in any order.
func (a refunds) refundToLevel(ctx context.Context, f processor.Refund) (outcome, error) {
	back, ok := inCurrency(f.LevelMinor, f.OfMinor, f.Currency, a.s)
	if !ok {
		return a.foreign(f.Currency), nil
	}
	payment := f.Charge
	if f.OfSale {
		payment = a.s.ExternalChargeID
	}
	return a.takeBack(ctx, level{of: payment, minor: back}, a.paymentNames(f.Link), f.At)
}

// refundOutside records a refund that was paid outside the processor, once.
func (a refunds) refundOutside(ctx context.Context, f processor.Refund) (outcome, error) {
	back, ok := inCurrency(f.LevelMinor, f.OfMinor, f.Currency, a.s)
	if !ok {
		return a.foreign(f.Currency), nil
	}
	return a.takeBack(ctx, level{of: f.ID, minor: back, once: true}, nil, f.At)
}

// takeBack refunds a sale up to a level. A level of the payment, whose names are given, includes earlier refunds
// without a level; any other is refunded in addition. The level does not include refunds that were restored before
// the event's time. An event that changes nothing is retried when a refund of the sale is restored.
func (a refunds) takeBack(ctx context.Context, to level, names []string, at clock.Time) (outcome, error) {
	rows, err := a.rows(ctx)
	if err != nil {
		return outcome{}, err
	}
	short := shortfalls(rows, names)
	reached := int64(0)
	for _, r := range rows {
		if r.ID == opt.Value(a.e.RefundID) {
			return outcome{refund: r.ID}.recorded().of(a.s), nil
		}
		if levelName(r) == to.name() {
			reached = max(reached, *r.LevelMinor)
		}
		past, err := restoredBefore(r, to, a.moment(at))
		if err != nil {
			return outcome{}, err
		}
		if past > 0 { // then all of the level came back, not only the part that Rail could take
			past += short[r.ID]
		}
		to.minor += past
	}
	if to.minor <= reached {
		return a.retryOnRestore(codeRecorded, "This amount is already recorded as refunded."), nil
	}
	own := to.minor - reached
	if names != nil {
		own -= short[withoutLevel]
	}
	amount := min(own, refundable(a.s))
	if amount <= 0 {
		return a.retryOnRestore(codeNothingLeft, "Nothing is left of the sale to refund."), nil
	}
	done, err := sale.RefundCharge(ctx, a.u, a.e.ProgramID, a.s.ExternalChargeID, sale.RefundInput{
		SaleID: a.s.ID, ExternalID: new(to.id()), AmountMinor: &amount, At: a.refundedAt(at), LevelMinor: &to.minor,
		BeyondImported: names != nil, TestClock: !a.c.Livemode,
	})
	if err != nil {
		return outcome{}, err
	}
	return outcome{refund: done.ID}.recorded().of(a.s), a.u.Reschedule(ctx, a.s.ProgramID, work.RefundsKey(a.s.ID))
}

// refundable returns how much of a sale can still be refunded.
func refundable(s db.Sale) int64 {
	if s.RefundedAt != nil {
		return 0
	}
	return s.AmountMinor
}

// retryOnRestore is the outcome of an event that took nothing, which a restoration may change.
func (a refunds) retryOnRestore(code, reason string) outcome {
	o := ignored(code, reason).of(a.s)
	o.keys = []string{work.RefundsKey(a.s.ID)}
	return o
}

// restoredBefore returns how much of a refund was restored before a time, if the refund reached a level of the
// same payment.
func restoredBefore(r db.Refund, to level, at clock.Time) (sum int64, err error) {
	if to.once || levelName(r) != to.name() || r.RestoredMinor == 0 {
		return 0, nil
	}
	past, err := sale.Restorations(r)
	for _, one := range past {
		if one.RestoredAt.Before(at.Time) {
			sum += one.AmountMinor
		}
	}
	return sum, err
}

// level is how much of a payment was refunded, or taken by a dispute.
type level struct {
	of    string // id of the payment or the dispute
	minor int64
	once  bool // taken once, even after a restoration
}

// maxLevelled bounds a payment's id within a refund's id.
const maxLevelled = 200

// name returns the payment's part of id.
func (l level) name() string { return l.of[max(0, len(l.of)-maxLevelled):] }

// id returns the external id of the refund that reached the level.
func (l level) id() string { return l.name() + "@" + strconv.FormatInt(l.minor, 10) }

// paymentNames returns the names under which the levels of a payment are stored.
func (a refunds) paymentNames(l processor.Link) (names []string) {
	for _, id := range append(linked(l), a.s.ExternalChargeID) {
		names = append(names, level{of: id}.name())
	}
	return names
}

// withoutLevel is the key of shortfalls for refunds without a level, such as those of the API.
const withoutLevel = ""

// shortfalls returns, for each refund, the part of its level that it did not take because too little was left of the
// sale. Refunds without a level took their part of the payment's levels: what is left of them has the key withoutLevel.
func shortfalls(rows []db.Refund, names []string) map[string]int64 {
	out, reached := map[string]int64{}, map[string]int64{}
	// The levels of a payment rise in the order of its refunds.
	rows = slices.SortedStableFunc(slices.Values(rows), func(x, y db.Refund) int {
		return cmp.Compare(opt.Value(x.LevelMinor), opt.Value(y.LevelMinor))
	})
	for _, r := range rows {
		name, amount := levelName(r), opt.Value(r.AmountMinor)
		if r.LevelMinor == nil {
			out[withoutLevel] += amount - r.RestoredMinor
			continue
		}
		part := max(*r.LevelMinor-reached[name]-amount, 0)
		reached[name] = *r.LevelMinor
		if slices.Contains(names, name) {
			taken := min(part, out[withoutLevel])
			out[withoutLevel] -= taken
			part -= taken
		}
		out[r.ID] = part
	}
	return out
}

// whole returns the sale's amount before any refund.
func whole(s db.Sale) int64 { return s.AmountMinor + s.RefundedMinor }

// inCurrency converts an amount to the sale's currency. An amount in another currency becomes the same share of
// the sale as of its payment, if the event has the payment's amount.
func inCurrency(n, of int64, currency string, s db.Sale) (int64, bool) {
	switch {
	case currency == s.Currency || currency == "":
		return n, true
	case of <= 0 || n < 0:
		return 0, false
	case n >= of:
		return whole(s), true
	}
	hi, lo := bits.Mul64(uint64(n), uint64(whole(s)))
	lo, carry := bits.Add64(lo, uint64(of)/2, 0)
	part, _ := bits.Div64(hi+carry, lo, uint64(of)) // below whole(s), since n < of
	return int64(part), true
}

func (a refunds) foreign(currency string) outcome {
	return failed(codeMalformed, "The event is in "+currency+", the sale in "+a.s.Currency+".").of(a.s)
}
