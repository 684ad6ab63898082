package backfill

import (
	"context"

	"rail/gen/db"
	"rail/server/inbound/processor"
)

// compare reports whether an event is known: the inbox has it, or its payment was recorded in another way. If the
// amount differs, it notes a difference. The inbox decides about a refund that it has not seen: the sale's refunded
// amount may come from another payment of the bill, or from a credit note.
func (r *run) compare(ctx context.Context, h pastEvent, stored bool) (bool, error) {
	if h.Payment == nil && (h.Refund == nil || !stored) || h.Payment != nil && h.Payment.Unpaid {
		return stored, nil
	}
	sales, err := r.sales(ctx, h.link())
	if err != nil || len(sales) == 0 {
		return stored, err
	}
	s, d := sales[0], Difference{Kind: "amount", ExternalEventID: h.ID, Type: h.Type, ThereMinor: h.amount()}
	whole, there := s.AmountMinor+s.RefundedMinor, *d.ThereMinor
	d.Charge, d.SaleID, d.HereMinor = s.ExternalChargeID, &s.ID, &whole
	same := h.Payment != nil && there == whole && h.Payment.Currency == s.Currency
	if f := h.Refund; f != nil {
		// Several payments may settle a bill; their levels add up.
		d.Kind, d.HereMinor = "refunded", &s.RefundedMinor
		same = f.Failed || s.RefundedAt != nil || s.RefundedMinor >= min(there, whole)
	}
	if !same {
		r.report.Different++
		r.report.add(d)
	}
	return true, nil
}

// sales returns the recorded sales of a payment, under any of its ids.
func (r *run) sales(ctx context.Context, l processor.Link) ([]db.Sale, error) {
	ids := append([]string{l.Charge}, l.Alias...)
	others, err := queries.AliasesOf(ctx, r.Box.Pool, db.AliasesOfParams{
		ProgramID: r.c.ProgramID, OrgID: r.c.OrgID, Aliases: ids,
	})
	if err != nil {
		return nil, err
	}
	return queries.SaleByCharges(ctx, r.Box.Pool, db.SaleByChargesParams{
		ProgramID: r.c.ProgramID, OrgID: r.c.OrgID, Charges: append(ids, others...),
	})
}
