package inbox

import (
	"context"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/program/risk"
)

// dispute flags the partner of a disputed payment while the dispute is open, which
// holds payouts where the program does so. A lost one takes the money back.
func (a *application) dispute(ctx context.Context, d processor.Dispute) (outcome, error) {
	s, end, err := a.saleOf(ctx, d.Link, "The disputed payment is not recorded.")
	if err != nil || end != nil {
		return opt.Value(end), err
	}
	changed, err := a.flag(ctx, d, s)
	if err != nil {
		return outcome{}, err
	}
	o := ignored(codeRecorded, "The dispute is known in this state, or in a later one.").of(s)
	if d.Status == processor.DisputeLost {
		amount, ok := inCurrency(d.AmountMinor, d.OfMinor, d.Currency, s)
		if !ok {
			return a.foreign(d.Currency, s), nil
		}
		o, err = a.takeBack(ctx, s, level{d.ID, amount}, amount, d.At)
	}
	if changed {
		o = o.recorded()
	}
	return o, err
}

// disputed is the kind of a dispute's flag.
const disputed = "dispute"

// outcomes are the notes with which the flags of disputes are closed.
var outcomes = map[string]string{
	processor.DisputeWon:  "The dispute is over, and the money stays: ",
	processor.DisputeLost: "The dispute is lost, and the money was taken back: ",
}

// flag opens or closes the flag of a dispute, and reports whether it did. A dispute
// of which the end came first has its flag all the same, closed, so that what
// comes late opens none.
func (a *application) flag(ctx context.Context, d processor.Dispute, s db.Sale) (bool, error) {
	if s.PartnerID == nil {
		return false, nil
	}
	f, err := queries.RiskFlagOfDispute(ctx, a.u.DB(), db.RiskFlagOfDisputeParams{
		ProgramID: s.ProgramID, OrgID: s.OrgID, PartnerID: s.PartnerID, DisputeID: d.ID,
	})
	if err != nil || len(f) > 0 && (d.Status == processor.DisputeOpen || f[0].ResolvedAt != nil) {
		return false, err
	}
	if len(f) > 0 {
		return true, risk.Resolve(ctx, a.u, f[0].ID, nil, outcomes[d.Status]+d.Detail+".")
	}
	opened, err := risk.Open(ctx, a.u, risk.Finding{
		ProgramID: s.ProgramID, PartnerID: *s.PartnerID, CustomerID: &s.CustomerID, Kind: disputed, Severity: "high",
		Summary: "The customer's bank disputes a payment.",
		Signals: map[string]any{
			"dispute_id": d.ID, "sale_id": s.ID, "amount_minor": d.AmountMinor, "currency": d.Currency,
		},
	})
	if err != nil || !opened || d.Status == processor.DisputeOpen {
		return opened, err
	}
	_, err = a.flag(ctx, d, s) // now that there is one, it is closed
	return true, err
}
