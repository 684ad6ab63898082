package source

import (
	"cmp"
	"context"
	"time"

	"rail/server/clock"
)

// unknownZone marks the midnight of a date without a time, until zoned gives it the program's zone.
var unknownZone = time.FixedZone("unknown", 0)

// zoned is a source whose dates without a time are days in a zone.
type zoned struct {
	Source
	zone *time.Location
}

// Lists returns the lists of the source.
func (z zoned) Lists() []List {
	lists := z.Source.Lists()
	for i, list := range lists {
		lists[i].Read = func(ctx context.Context, cursor string) (Page, error) {
			page, err := list.Read(ctx, cursor)
			for _, row := range page.Rows {
				for _, at := range row.times() {
					if at != nil && at.Location() == unknownZone {
						*at = clock.Midnight(at.Time, cmp.Or(z.zone, time.UTC))
					}
				}
			}
			return page, err
		}
	}
	return lists
}

// times returns the times of a row, some of which may be nil.
func (r Row) times() []*clock.Time {
	switch {
	case r.Partner != nil:
		return []*clock.Time{&r.Partner.CreatedAt}
	case r.Link != nil:
		return []*clock.Time{&r.Link.CreatedAt}
	case r.Coupon != nil:
		return []*clock.Time{&r.Coupon.CreatedAt}
	case r.Customer != nil:
		return []*clock.Time{&r.Customer.LeadAt, r.Customer.ConvertedAt, &r.Customer.CreatedAt}
	case r.Sale != nil:
		return []*clock.Time{&r.Sale.OccurredAt, r.Sale.RefundedAt}
	case r.Commission != nil:
		k := r.Commission
		return []*clock.Time{&k.CreatedAt, k.MatureAt, k.PaidAt, k.VoidedAt}
	case r.Payout != nil:
		return []*clock.Time{r.Payout.PaidAt, &r.Payout.CreatedAt}
	}
	return nil
}
