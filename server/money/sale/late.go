package sale

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// lateClick is the time before a first payment in which another partner's click is suspicious: coupon extensions
// of browsers make one at checkout.
const lateClick = 120 * time.Second

// late checks the first payment of a customer who came by a visit for a late click of another partner
// (decisions, 318). It flags that partner and, if the program ignores such clicks, returns the customer to the
// earlier partner before the rules decide.
func (s Service) late(ctx context.Context, u *work.Unit, r *recording) error {
	k := r.who.Customer
	if !r.known || r.history.HasSales || k.PartnerID == nil || k.ReferralID == nil || r.who.ProgramID != r.ProgramID {
		return nil
	}
	var found db.ClickLateRow
	err := u.Read(ctx, func(tx pgtx.DBTX) (err error) {
		found, err = queries.ClickLate(ctx, tx, db.ClickLateParams{
			ReferralID: *k.ReferralID, OrgID: u.OrgID, PaidAt: r.OccurredAt, Since: r.OccurredAt.Plus(-lateClick),
		})
		return err
	})
	if err != nil {
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return err
	}
	back := r.who.IgnoreLateClicks && found.PartnerID == *k.PartnerID
	moved, err := s.Customers.LateClick(ctx, u, k, found, r.OccurredAt, back)
	if err != nil || !moved {
		return err
	}
	if err := r.read(ctx, u); err != nil {
		return err
	}
	r.lead = r.lead || r.who.Customer.ReferralID != nil // its referral becomes a lead with the commit
	return nil
}
