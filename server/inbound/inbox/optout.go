package inbox

import (
	"context"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// noteOptOut stores the merchant's opt-out, for other events of the same payment or customer that do not show
// it. Only an event about the customer revokes it.
func (a *application) noteOptOut(ctx context.Context) error {
	set := db.OptOutsSetParams{
		OrgID: a.e.OrgID, ProgramID: a.e.ProgramID, OptedOut: a.r.Ignored == processor.OptedOut, At: a.r.At,
	}
	if set.OptedOut {
		set.Keys = chargeKeys(linked(a.r.Link))
	}
	if b := opt.Value(a.r.Binding); b.CustomerOnly && b.Customer != "" {
		set.Keys = append(set.Keys, work.CustomerKey(b.Customer))
	}
	if len(set.Keys) == 0 {
		return nil
	}
	return queries.OptOutsSet(ctx, a.u.Later(), set)
}

// optedOut returns the outcome of an event whose payment or customer was opted out by another event.
func (a *application) optedOut(ctx context.Context, l processor.Link, customer string) (*outcome, error) {
	keys := chargeKeys(linked(l))
	if customer != "" {
		keys = append(keys, work.CustomerKey(customer))
	}
	if len(keys) == 0 {
		return nil, nil
	}
	out := false
	err := a.u.Read(ctx, func(tx pgtx.DBTX) (err error) {
		out, err = queries.OptOutExists(ctx, tx, db.OptOutExistsParams{
			ProgramID: a.e.ProgramID, OrgID: a.e.OrgID, Keys: keys,
		})
		return err
	})
	if err != nil || !out {
		return nil, err
	}
	return new(ignored(string(processor.OptedOut), "The merchant opted out for the payment or its customer.")), nil
}
