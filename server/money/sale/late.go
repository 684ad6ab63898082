package sale

import (
	"context"

	"rail/server/work"
)

// late checks the first payment of a customer who came by a visit for a late click of another partner
// (decisions, 318). If the program ignores such clicks, the customer returns to the earlier partner before the rules
// decide.
func (s Service) late(ctx context.Context, u *work.Unit, r *recording) error {
	k := r.who.Customer
	if !r.customerExists || r.history.HasSales || k.PartnerID == nil || k.ReferralID == nil ||
		r.who.ProgramID != r.ProgramID {
		return nil
	}
	moved, err := s.Customers.LateClick(ctx, u, k, r.OccurredAt, r.who.IgnoreLateClicks)
	if err != nil || !moved {
		return err
	}
	return r.read(ctx, u)
}
