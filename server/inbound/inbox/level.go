package inbox

import (
	"context"
	"math/bits"
	"strconv"
	"strings"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/inbound/processor"
	"rail/server/money/sale"
	"rail/server/opt"
)

// levelled refunds the sale of a payment up to the level that an event says. The
// level is kept for each payment, in the ids of the refunds that reached it: a
// bill may be paid by several, and what a dispute took comes on top. A level
// that was reached, or passed, changes nothing: events come in any order.
func (a *application) levelled(ctx context.Context, f processor.Refund, s db.Sale) (outcome, error) {
	level, ok := inCurrency(f.LevelMinor, f.OfMinor, f.Currency, s)
	if !ok {
		return a.foreign(f.Currency, s), nil
	}
	return a.takeBack(ctx, s, levelID(f.Charge, level), 0, f.At)
}

// takeBack refunds what of a sale is to come back at a level and has not yet, by
// whomever it was refunded; or, for an amount of its own, so much on top.
func (a *application) takeBack(
	ctx context.Context, s db.Sale, id string, own int64, at clock.Time,
) (outcome, error) {
	o := ignored(codeNothingLeft, "Nothing is left to refund.")
	o.sale, o.customer = s.ID, s.CustomerID
	rows, err := queries.RefundsOfSale(ctx, a.u.DB(), db.RefundsOfSaleParams{SaleID: &s.ID, OrgID: s.OrgID})
	if err != nil {
		return o, err
	}
	marks := map[string]int64{}
	for _, r := range rows {
		if r.ID == opt.Value(a.e.RefundID) {
			o.status, o.code, o.reason, o.refund = db.InboxStatusRecorded, "", "", r.ID
			return o, nil
		}
		mark(marks, opt.Value(r.ExternalRefundID))
	}
	before := sum(marks)
	mark(marks, id)
	if sum(marks) == before {
		o.code, o.reason = codeRecorded, "So much came back already."
		return o, nil
	}
	if own == 0 {
		own = sum(marks) - (whole(s) - left(s))
	}
	amount := min(own, left(s))
	if amount <= 0 {
		return o, nil
	}
	done, err := sale.RefundCharge(ctx, a.u, a.e.ProgramID, s.ExternalChargeID, sale.RefundInput{
		SaleID: s.ID, ExternalID: &id, AmountMinor: &amount, At: a.refundedAt(at, s),
	})
	if err != nil {
		return o, err
	}
	o.status, o.code, o.reason, o.refund = db.InboxStatusRecorded, "", "", done.ID
	return o, nil
}

// maxLevelled bounds the id of a payment within that of a refund.
const maxLevelled = 200

// levelID is the id of the refund that brought a payment to a level.
func levelID(charge string, level int64) string {
	return charge[max(0, len(charge)-maxLevelled):] + "@" + strconv.FormatInt(level, 10)
}

// mark notes the level that the id of a refund says, if it is the highest of its
// payment. Ids of others' making say none.
func mark(marks map[string]int64, id string) {
	at := strings.LastIndexByte(id, '@')
	if at < 0 {
		return
	}
	if level, err := strconv.ParseInt(id[at+1:], 10, 64); err == nil {
		marks[id[:at]] = max(marks[id[:at]], level)
	}
}

func sum(marks map[string]int64) (total int64) {
	for _, n := range marks {
		total += n
	}
	return total
}

// whole is what a sale was before any refund.
func whole(s db.Sale) int64 { return s.AmountMinor + s.RefundedMinor }

// inCurrency returns an amount in a sale's currency. One in another is the same part
// of the sale as of its payment, if the event says what that was.
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

func (a *application) foreign(currency string, s db.Sale) outcome {
	o := failed(codeMalformed, "The event is in "+currency+", the sale in "+s.Currency+".")
	o.sale, o.customer = s.ID, s.CustomerID
	return o
}
