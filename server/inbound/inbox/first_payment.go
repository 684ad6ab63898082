package inbox

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/inbound/lenient"
	"rail/server/inbound/processor"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// maxWait is how long a payment waits for the checkout or the invoice that reports the same money or identifies
// its partner.
const maxWait = time.Minute

// outside returns the outcome of a payment that another event must record.
func (a *application) outside(ctx context.Context, p *processor.Payment) (*outcome, error) {
	if p.Captured {
		if done, err := a.completed(ctx, p); err != nil || done {
			return nil, err
		}
	}
	if !a.c.OutsideCheckout {
		o := ignored(string(processor.NotUsed), "The connection records checkouts and invoices only.")
		if p.Captured { // its checkout may come a moment later
			o.keys = chargeKeys([]string{p.Charge})
		}
		return &o, nil
	}
	if due := a.e.CreatedAt.Plus(maxWait); a.u.Now.Before(due.Time) {
		o := waiting(codeOutside, "A checkout or an invoice may report the same payment within a minute.")
		o.due = &due
		return &o, nil
	}
	others, err := queries.AliasesOf(ctx, a.u.DB(), db.AliasesOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Aliases: []string{p.Charge},
	})
	if err != nil || len(others) == 0 {
		return nil, err
	}
	return new(ignored(string(processor.NotUsed), "An invoice reports the payment.")), nil
}

// unpaid identifies the customer of a checkout whose money has not arrived. The event then waits for the money: a
// captured payment takes the customer, the tax and the product from it.
func (a *application) unpaid(ctx context.Context, p processor.Payment) (outcome, error) {
	sales, err := a.sales(ctx, p.Link)
	if err == nil {
		err = a.alias(ctx, p.Link)
	}
	if err != nil {
		return outcome{}, err
	}
	o, err := a.binding(ctx, p.Binding)
	switch refused := o.status == db.InboxStatusIgnored && o.code != string(processor.NotUsed); {
	case err != nil || refused:
		return o, err
	case len(sales) > 0 && o.status == db.InboxStatusRecorded:
		return o.of(sales[0]), nil
	case len(sales) > 0:
		return ignored(codeRecorded, "The payment is already recorded.").of(sales[0]), nil
	}
	wait := waiting(codeNoSale, "The payment is not complete: a later event reports it.",
		append(o.keys, work.ChargeKey(p.Charge))...)
	wait.customer = o.customer
	return wait, nil
}

// maxWaiting bounds how many events that wait for one payment are read.
const maxWaiting = 20

// completed completes a captured payment with the content of its checkout, and reports whether the checkout has come.
func (a *application) completed(ctx context.Context, p *processor.Payment) (bool, error) {
	var events []db.InboxEventsWaitingForRow
	err := a.u.Read(ctx, func(tx pgtx.DBTX) (err error) {
		events, err = queries.InboxEventsWaitingFor(ctx, tx, db.InboxEventsWaitingForParams{
			ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, ConnectionID: a.e.ConnectionID, Key: work.ChargeKey(p.Charge),
			Lim: maxWaiting,
		})
		return err
	})
	if err != nil {
		return false, err
	}
	for _, e := range events {
		body, err := a.Keeper.Open(e.Payload, PayloadPlace(e.ID))
		if err != nil {
			return false, err
		}
		r := parse(a.c.Processor, body).r
		cleanNames(&r)
		of := r.Payment
		if of == nil || !of.Unpaid || of.Charge != p.Charge {
			continue
		}
		p.Binding, p.Metadata, p.ProductID, p.ProductName = of.Binding, of.Metadata, of.ProductID, of.ProductName
		if of.Currency == p.Currency { // less may be captured than the checkout showed
			p.TaxMinor = min(lenient.Share(of.TaxMinor, p.AmountMinor, of.AmountMinor), p.AmountMinor)
		}
		return true, nil
	}
	return false, nil
}

// recurs decides whether a payment starts a subscription. Another event carries that fact; while it is missing,
// recurs returns a waiting outcome. After a minute the payment is recorded as a single one.
func (a *application) recurs(ctx context.Context, p *processor.Payment) (*outcome, error) {
	aliases, err := queries.AliasesOf(ctx, a.u.DB(), db.AliasesOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Aliases: []string{p.Recurs},
	})
	if err != nil {
		return nil, err
	}
	if len(aliases) > 0 {
		p.Subscription = p.Recurs
		return nil, nil
	}
	due := a.e.CreatedAt.Plus(maxWait)
	if !a.u.Now.Before(due.Time) {
		return nil, nil
	}
	o := waiting(codeRecurs, "A subscription may begin with the payment.", work.ChargeKey(p.Recurs))
	o.due = &due
	return &o, nil
}

// early returns a waiting outcome for a payment without a known partner whose checkout has not arrived: a sale
// recorded as direct would stay direct.
func (a *application) early(ctx context.Context, p processor.Payment) (*outcome, error) {
	due := a.e.CreatedAt.Plus(maxWait)
	if p.Bought == "" || !a.u.Now.Before(due.Time) {
		return nil, nil
	}
	aliases, err := queries.AliasesOf(ctx, a.u.DB(), db.AliasesOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Aliases: []string{p.Bought},
	})
	if err != nil || len(aliases) > 0 {
		return nil, err
	}
	o := waiting(codeNoCustomer, "A checkout may identify the partner within a minute.",
		append(keysOf(p.Binding), work.ChargeKey(p.Bought))...)
	o.due = &due
	return &o, nil
}
