package inbox

import (
	"context"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/work"
)

// recurs says of a payment whether it is the first of a subscription, which another
// event tells, and returns the outcome of one that waits for that. What tells nothing
// within a minute is paid once: the money is recorded whatever comes later.
func (a *application) recurs(ctx context.Context, p *processor.Payment) (*outcome, error) {
	told, err := queries.AliasesOf(ctx, a.u.DB(), db.AliasesOfParams{
		ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Aliases: []string{p.Recurs},
	})
	if err != nil {
		return nil, err
	}
	if len(told) > 0 {
		p.Subscription = p.Recurs
		return nil, nil
	}
	due := a.e.CreatedAt.Plus(patience)
	if !a.u.Now.Before(due.Time) {
		return nil, nil
	}
	o := waiting(codeRecurs, "A subscription may begin with the payment.", work.ChargeKey(p.Recurs))
	o.due = &due
	return &o, nil
}
