package inbox

import (
	"context"
	"strings"

	"rail/gen/db"
	"rail/server/inbound/processor"
	"rail/server/opt"
	"rail/server/program/risk"
)

// dispute flags the partner of a disputed payment while the dispute is open, which holds payouts if the program
// does so. A lost dispute takes the money back, and a dispute that is won later restores it.
func (a *application) dispute(ctx context.Context, d processor.Dispute) (outcome, error) {
	s, end, err := a.saleOf(ctx, d.Link, "The disputed payment is not recorded.")
	if err != nil || end != nil {
		return opt.Value(end), err
	}
	of := refunds{a, s}
	changed, err := of.flag(ctx, d)
	if err != nil {
		return outcome{}, err
	}
	o := ignored(codeRecorded, "The dispute already has this state, or a later one.").of(s)
	switch d.Status {
	case processor.DisputeLost, processor.DisputeWon:
		o, err = of.disputed(ctx, d)
	}
	if changed && o.status == db.InboxStatusIgnored {
		o = o.recorded()
	}
	return o, err
}

// disputed moves the money of a lost or won dispute.
func (a refunds) disputed(ctx context.Context, d processor.Dispute) (outcome, error) {
	amount, ok := inCurrency(d.AmountMinor, d.OfMinor, d.Currency, a.s)
	if !ok {
		return a.foreign(d.Currency), nil
	}
	name := level{of: d.ID}.name()
	switch {
	case d.Status == processor.DisputeLost && d.Taking == "":
		return a.takeBack(ctx, level{of: d.ID, minor: amount}, nil, d.At)
	case d.Status == processor.DisputeLost:
		return a.takeBack(ctx, level{of: d.ID + by + d.Taking, minor: amount, once: true}, nil, d.At)
	}
	r := restoration{
		source: d.ID, at: d.At, reason: "The dispute of the sale's payment is won (" + d.ID + ").",
		of: func(f db.Refund) bool { return levelName(f) == name || strings.HasPrefix(levelName(f), name+by) },
	}
	if d.Reversal != "" {
		r.source, r.minor = d.Reversal, amount
	}
	return a.restore(ctx, r)
}

// by separates a dispute from the transaction that took its money.
const by = " by "

// disputeKind is the kind of a dispute's flag.
const disputeKind = "dispute"

// outcomes are the notes of closed dispute flags.
var outcomes = map[string]string{
	processor.DisputeWithdrawn: "The dispute or warning ended, and no money was taken: ",
	processor.DisputeWon:       "The dispute is won, and the merchant has the money: ",
	processor.DisputeLost:      "The dispute is lost, and the money was taken back: ",
}

// flag opens or closes the flag of a dispute, and reports whether it did. A dispute whose end arrives first gets
// a closed flag, so that an earlier event opens none.
func (a refunds) flag(ctx context.Context, d processor.Dispute) (bool, error) {
	if a.s.PartnerID == nil {
		return false, nil
	}
	f, err := queries.RiskFlagOfDispute(ctx, a.u.DB(), db.RiskFlagOfDisputeParams{
		ProgramID: a.s.ProgramID, OrgID: a.s.OrgID, PartnerID: a.s.PartnerID, DisputeID: d.ID,
	})
	if err != nil || len(f) > 0 && (d.Status == processor.DisputeOpen || f[0].ResolvedAt != nil) {
		return false, err
	}
	if len(f) > 0 {
		return true, risk.Resolve(ctx, a.u, f[0].ID, nil, outcomes[d.Status]+d.Detail+".")
	}
	opened, err := risk.Open(ctx, a.u, risk.Finding{
		ProgramID: a.s.ProgramID, PartnerID: *a.s.PartnerID, CustomerID: &a.s.CustomerID, Kind: disputeKind, Severity: "high",
		Summary: "The customer's bank disputes a payment.",
		Signals: map[string]any{
			"dispute_id": d.ID, "sale_id": a.s.ID, "amount_minor": d.AmountMinor, "currency": d.Currency,
		},
	})
	if err != nil || !opened || d.Status == processor.DisputeOpen {
		return opened, err
	}
	_, err = a.flag(ctx, d) // now it exists and is closed
	return true, err
}
