package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/money/sale"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// application applies one event, in a unit of work.
type application struct {
	Worker
	u *work.Unit
	c db.ProcessorConnection
	e db.InboxEvent
	r processor.Reading
	// enrols reports whether a customer becomes a partner at the first payment.
	enrols bool
}

// apply applies the event.
func (a *application) apply(ctx context.Context) (outcome, error) {
	live := isLive(a.r, a.c)
	switch {
	case live && !a.c.Livemode:
		return ignored(codeLive, ""), nil
	case !live && a.c.Livemode:
		return ignored(codeTest, ""), nil
	case a.r.Payment != nil && a.r.Payment.Unpaid:
		return a.unpaid(ctx, *a.r.Payment)
	case a.r.Payment != nil:
		return a.payment(ctx, *a.r.Payment)
	case a.r.Refund != nil:
		return a.refund(ctx, *a.r.Refund)
	case a.r.Dispute != nil:
		return a.dispute(ctx, *a.r.Dispute)
	case a.r.Coupon != nil:
		return a.coupon(ctx, *a.r.Coupon)
	}
	// Events that wait for one of these ids have committed by now, or will find the others.
	if err := a.lock(ctx, linked(a.r.Link)); err != nil {
		return outcome{}, err
	}
	if err := errors.Join(a.alias(ctx, a.r.Link), a.noteOptOut(ctx)); err != nil {
		return outcome{}, err
	}
	if end, err := a.attributeRecorded(ctx, a.r.Link); err != nil || end != nil {
		return opt.Value(end), err
	}
	if b := a.r.Binding; b != nil && !b.Skip {
		return a.binding(ctx, *b)
	}
	if a.r.Intent != "" {
		return a.intent(ctx)
	}
	return a.nothing(), nil
}

// intent stores the payment intent of a sale, which only this event may name. It waits for the sale.
func (a *application) intent(ctx context.Context) (outcome, error) {
	sales, err := a.sales(ctx, a.r.Link)
	o := a.nothing()
	if err != nil || len(sales) == 0 {
		o.keys = []string{work.ChargeKey(a.r.Link.Charge)}
		return o, err
	}
	stored, err := queries.SaleSetIntent(ctx, a.u.DB(), db.SaleSetIntentParams{
		Intent: a.r.Intent, UpdatedAt: a.u.Now, ID: sales[0].ID, OrgID: a.e.OrgID,
	})
	if err == nil && stored > 0 {
		o = o.recorded()
	} else if opt.Value(sales[0].ExternalPaymentIntentID) == a.r.Intent {
		o = ignored(codeRecorded, "The sale already has this payment intent.")
	}
	return o.of(sales[0]), err
}

// nothing is the outcome of an event that records nothing.
func (a *application) nothing() outcome {
	code, reason := string(a.r.Ignored), a.r.Note
	if code == "" {
		code = string(processor.NotUsed)
	}
	return ignored(code, reason)
}

// payment records a payment as a sale of its customer. A payment without a known customer is ignored unless the
// connection records direct sales.
func (a *application) payment(ctx context.Context, p processor.Payment) (outcome, error) {
	sales, err := a.sales(ctx, p.Link)
	if err != nil {
		return outcome{}, err
	}
	if len(sales) > 0 {
		return ignored(codeRecorded, "The payment is already recorded.").of(sales[0]), nil
	}
	if end, err := a.optedOut(ctx, p.Link, p.Customer); err != nil || end != nil {
		return opt.Value(end), err
	}
	if p.Outside {
		if end, err := a.outside(ctx, &p); err != nil || end != nil {
			return opt.Value(end), err
		}
	}
	if p.Recurs != "" {
		if end, err := a.recurs(ctx, &p); err != nil || end != nil {
			return opt.Value(end), err
		}
	}
	payer, err := a.findPayer(ctx, p)
	if err != nil || payer.end != nil {
		return opt.Value(payer.end), err
	}
	if payer.id == "" {
		return a.withoutPartner(p.Binding), nil
	}
	done, err := sale.Service{Customers: a.Customers}.Record(ctx, a.u, a.record(p, payer.id))
	if err != nil {
		return outcome{}, err
	}
	if p.Recurs != "" { // an internal name
		p.Subscription = ""
	}
	if err := errors.Join(a.subscribed(ctx, payer.id, p.Binding), a.enrol(ctx, done.Sale)); err != nil {
		return outcome{}, err
	}
	return outcome{}.recorded().of(done.Sale), a.alias(ctx, p.Link)
}

// attributeRecorded handles an event that attributes a payment outside Checkout after the payment was recorded:
// the invoice becomes another name of that sale. If the invoice was recorded before, it may be the same money
// twice, which only the merchant can tell.
func (a *application) attributeRecorded(ctx context.Context, l processor.Link) (*outcome, error) {
	if !a.c.OutsideCheckout || len(l.Alias) == 0 {
		return nil, nil
	}
	sales, err := queries.SaleByCharges(ctx, a.u.DB(), db.SaleByChargesParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Charges: linked(l),
	})
	if err != nil || len(sales) == 0 {
		return nil, err
	}
	standing := slices.DeleteFunc(slices.Clone(sales), func(s db.Sale) bool { return s.RefundedAt != nil })
	if len(standing) > 1 {
		return new(failed(codeTwice, "The payment is recorded as "+standing[0].ExternalChargeID+" and as "+
			standing[1].ExternalChargeID+": refund one of the two sales.").of(standing[1])), nil
	}
	if sales[0].ExternalChargeID == l.Charge {
		return nil, nil
	}
	return nil, a.alias(ctx, processor.Link{Charge: sales[0].ExternalChargeID, Alias: []string{l.Charge}})
}

// record converts the payment for the rules. The time of a live payment is capped at the server's; a test
// connection follows the processor's test clocks (decisions, 311).
func (a *application) record(p processor.Payment, customerID string) sale.Payment {
	at := p.At
	if at.IsZero() {
		at = a.r.At
	}
	if a.c.Livemode && at.After(a.u.Now.Time) {
		at = a.u.Now
	}
	return sale.Payment{
		TestClock: !a.c.Livemode,
		ProgramID: a.e.ProgramID, ExternalChargeID: p.Charge, Payer: sale.Payer{CustomerID: &customerID},
		ExternalPaymentIntentID: opt.OrNil(p.Intent), Processor: a.c.Processor,
		AmountMinor: p.AmountMinor, TaxMinor: &p.TaxMinor,
		FeeMinor: p.FeeMinor, Currency: p.Currency, BillingType: billing(p), Interval: opt.OrNil(p.Interval),
		ProductID: opt.OrNil(p.ProductID), ProductName: opt.OrNil(p.ProductName), OccurredAt: &at,
		Metadata: metadataOf(p.Metadata),
	}
}

// billing returns the type of a subscription payment with an unknown interval; nil leaves it to the interval.
func billing(p processor.Payment) *string {
	if p.Subscription != "" && p.Interval == "" {
		return new("subscription")
	}
	return nil
}

// maxMetadata bounds the processor's metadata of a sale.
const maxMetadata = 16 << 10

// metadataOf returns the processor's metadata for a sale, none if it is too large.
func metadataOf(metadata map[string]any) json.RawMessage {
	if len(metadata) == 0 || len(metadata) > 50 {
		return nil
	}
	out, err := json.Marshal(metadata)
	if err != nil || len(out) > maxMetadata {
		return nil
	}
	return out
}

// withoutPartner is the outcome of a payment without a partner. It is retried when something appears that explains it.
func (a *application) withoutPartner(b processor.Binding) outcome {
	o := ignored(codeNoPartner, "")
	o.keys = keysOf(b)
	return o
}

// sales returns the recorded sales of a payment, under any of its ids. It locks each id as the recording of a
// sale does, so that neither misses the other. If the payment has further ids, the sales are read again under the
// locks of these ids.
func (a *application) sales(ctx context.Context, l processor.Link) (sales []db.Sale, err error) {
	ids := linked(l)
	var others []string
	find := func(ids []string) pgtx.Read {
		return func(tx pgtx.DBTX) (err error) {
			sales, err = queries.SaleByCharges(ctx, tx, db.SaleByChargesParams{
				ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Charges: ids,
			})
			return err
		}
	}
	err = a.lock(ctx, ids, find(ids), func(tx pgtx.DBTX) (err error) {
		others, err = queries.AliasesOf(ctx, tx, db.AliasesOfParams{
			ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Aliases: ids,
		})
		return err
	})
	others = slices.DeleteFunc(others, func(id string) bool { return slices.Contains(ids, id) })
	if err == nil && len(others) > 0 {
		err = a.lock(ctx, others, find(append(ids, others...)))
	}
	return sales, err
}

// lock blocks other decisions about these names, such as ids of payments, until the commit. Reads that follow in the
// same round trip see everything that was committed before.
func (a *application) lock(ctx context.Context, names []string, reads ...pgtx.Read) error {
	if len(names) > 0 {
		for _, name := range names {
			if err := a.u.Claim("charge", a.e.ProgramID, name); err != nil {
				return err
			}
		}
		reads = slices.Insert(reads, 0, func(tx pgtx.DBTX) error {
			return queries.ChargesLock(ctx, tx, db.ChargesLockParams{
				OrgID: a.e.OrgID, ProgramID: a.e.ProgramID, ExternalChargeIds: names,
			})
		})
	}
	if len(reads) == 0 {
		return nil
	}
	return a.u.Together(ctx, reads...)
}

// linked returns every id of a payment, sorted.
func linked(l processor.Link) []string {
	ids := slices.DeleteFunc(append([]string{l.Charge}, l.Alias...), func(id string) bool { return id == "" })
	return slices.Compact(slices.Sorted(slices.Values(ids)))
}

// alias stores the other ids of a recorded payment, and reschedules events that wait for one of them.
func (a *application) alias(ctx context.Context, l processor.Link) error {
	ids := slices.DeleteFunc(linked(l), func(id string) bool { return id == l.Charge })
	if len(ids) == 0 {
		return nil
	}
	err := queries.AliasesAdd(ctx, a.u.Later(), db.AliasesAddParams{
		OrgID: a.e.OrgID, ProgramID: a.e.ProgramID, ExternalChargeID: l.Charge, Now: a.u.Now, Aliases: ids,
	})
	if err != nil {
		return err
	}
	return a.u.Reschedule(ctx, a.e.ProgramID, chargeKeys(ids)...)
}

func chargeKeys(ids []string) []string {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = work.ChargeKey(id)
	}
	return keys
}
