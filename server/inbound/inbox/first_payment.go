package inbox

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/work"
)

// maxWait is how long a payment waits for the checkout or the invoice that reports the same money or identifies
// its partner.
const maxWait = time.Minute

// outside returns the outcome of a payment that another event must record.
func (a *application) outside(ctx context.Context, p processor.Payment) (*outcome, error) {
	if !a.c.OutsideCheckout {
		return new(ignored(string(processor.NotUsed), "The connection records checkouts and invoices only.")), nil
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
