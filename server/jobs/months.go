package jobs

import (
	"context"
	"errors"
	"time"

	"rail/server/clock"
)

// keepMonths makes the partitions of months to come and drops those that are past
// their retention. There always are two months ahead, so that a server's clock may
// be ahead a little; an id of a later time is refused. It runs before anything is
// served, since nobody made any while no server ran.
func keepMonths(m Means) Job {
	return Job{
		Name:  "keep-months",
		About: "make room for the events of coming months, and drop months that are past their retention", Every: time.Hour,
		First: true,
		Run: func(ctx context.Context, now clock.Time) error {
			// What is to be written matters more than what is to be forgotten.
			_, err := queries.EventsMonths(ctx, m.Pool)
			_, failed := queries.EventsForget(ctx, m.Pool, m.kept(now))
			return errors.Join(err, failed)
		},
	}
}
