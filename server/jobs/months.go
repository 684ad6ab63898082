package jobs

import (
	"context"
	"errors"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
)

// monthly are the lists that lie in partitions by month, with the prefixes of their
// ids. What is past its retention is dropped where that is whole months: deliveries
// before the events that they bring.
var monthly = []struct {
	list   string
	prefix ident.Prefix
	drop   bool
}{
	{"webhook_deliveries", ident.Delivery, true},
	{"events", ident.Event, true},
	{"clicks", ident.Click, false},
}

// keepMonths makes the partitions of months to come and drops those that are past
// their retention. There always are two months ahead, so that a server's clock may
// be ahead a little; an id of a later time is refused. It runs before anything is
// served, since nobody made any while no server ran.
func keepMonths(m Means) Job {
	return Job{
		Name: "keep-months",
		About: "make room for the events, deliveries and clicks of coming months, and drop months that are past " +
			"their retention", Every: time.Hour,
		First: true,
		Run: func(ctx context.Context, now clock.Time) (failed error) {
			// What is to be written matters more than what is to be forgotten.
			for _, l := range monthly {
				_, err := queries.MonthsMake(ctx, m.Pool, db.MonthsMakeParams{List: l.list, Prefix: string(l.prefix)})
				failed = errors.Join(failed, err)
			}
			for _, l := range monthly {
				if l.drop {
					_, err := queries.MonthsDrop(ctx, m.Pool, db.MonthsDropParams{
						List: l.list, Prefix: string(l.prefix), Before: m.kept(now),
					})
					failed = errors.Join(failed, err)
				}
			}
			return failed
		},
	}
}

// forgetClicks keeps, of the months of clicks that are past their retention, those
// that brought a customer, and deletes referrals that led to nothing. Figures go on
// counting all of them.
func forgetClicks(m Means) Job {
	return Job{
		Name:  "forget-clicks",
		About: "sum up clicks and referrals that are past their retention and that brought no customer", Every: time.Hour,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.ClickRetentionDays == 0 {
				return nil
			}
			before := now.Days(-int64(m.ClickRetentionDays))
			taken := false
			for {
				months, err := queries.ClicksForget(ctx, m.Pool, before)
				if err != nil {
					return err
				}
				if months == 0 {
					break
				}
				taken = true
			}
			// Of the other referrals clicks tell still: to walk them every hour would find none.
			if !taken {
				return nil
			}
			return m.forgetReferrals(ctx, before)
		},
	}
}

// forgetReferrals walks all referrals from before a time, batch by batch.
func (m Means) forgetReferrals(ctx context.Context, before clock.Time) error {
	for after := string(ident.Referral); after != ""; {
		var err error
		after, err = queries.ReferralsForget(ctx, m.Pool, db.ReferralsForgetParams{
			AfterID: after, Before: before, Lim: purgeBatch,
		})
		if err != nil {
			return err
		}
	}
	return nil
}
