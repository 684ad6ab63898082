package jobs

import (
	"context"
	"errors"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
)

// monthly are the tables partitioned by month, with the prefixes of their ids. A month past its retention is
// dropped as a whole: deliveries before their events.
var monthly = []struct {
	list   string
	prefix ident.Prefix
	drop   bool
}{
	{"webhook_deliveries", ident.Delivery, true},
	{"events", ident.Event, true},
	{"clicks", ident.Click, false},
}

// keepMonths creates the partitions of coming months and drops those past their retention. There are always two
// months in advance, for a server whose clock is ahead; an id of a later time is refused. It runs before the
// server starts, since no partitions were created while it was down.
func keepMonths(m Deps) Job {
	return Job{
		Name: "keep-months",
		About: "create partitions for the events, deliveries and clicks of coming months, and drop months past " +
			"their retention", Every: time.Hour, Sweeps: true,
		First: true,
		Run: func(ctx context.Context, now clock.Time) (failed error) {
			// New partitions are more urgent than dropping old ones.
			for _, l := range monthly {
				_, err := queries.MonthsMake(ctx, m.Pool, db.MonthsMakeParams{List: l.list, Prefix: string(l.prefix)})
				failed = errors.Join(failed, err)
			}
			for _, l := range monthly {
				if l.drop {
					_, err := queries.MonthsDrop(ctx, m.Pool, db.MonthsDropParams{
						List: l.list, Prefix: string(l.prefix), Before: m.retentionStart(m.ofIDs(now)),
					})
					failed = errors.Join(failed, err)
				}
			}
			return failed
		},
	}
}

// ofIDs returns the time of a job on months, which are months of ids: ids have the machine's time, also where a test
// clock is ahead of it. A row is at least as old by the test clock as its id, so that nothing is dropped early.
func (m Deps) ofIDs(now clock.Time) clock.Time {
	if wall := clock.Wall(m.Clock); wall != m.Clock {
		return wall.Now()
	}
	return now
}

// forgetClicks keeps, of the months of clicks past their retention, clicks with a customer, and deletes
// referrals without one. Reports still count all of them.
func forgetClicks(m Deps) Job {
	return Job{
		Name:  "forget-clicks",
		About: "sum up and delete clicks and referrals without a customer past their retention", Every: time.Hour, Sweeps: true,
		Run: func(ctx context.Context, now clock.Time) error {
			if m.ClickRetentionDays == 0 {
				return nil
			}
			before := m.ofIDs(now).Days(-int64(m.ClickRetentionDays))
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
			// Clicks still belong to the remaining referrals, so an hourly scan would find none.
			if !taken {
				return nil
			}
			return m.forgetReferrals(ctx, before)
		},
	}
}

// forgetReferrals scans all referrals from before a time, batch by batch.
func (m Deps) forgetReferrals(ctx context.Context, before clock.Time) error {
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
