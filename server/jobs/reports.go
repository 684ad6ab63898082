package jobs

import (
	"context"
	"time"

	"rail/server/clock"
	"rail/server/money/report"
)

// sumReports keeps reports fast. A day is summed when it is over, so that this
// job never runs ahead of the true time, whatever time it is given.
func sumReports(m Means) Job {
	return Job{
		Name: "sum-reports", About: "sum the days and months that reports are read from", Every: 30 * time.Second,
		Run: func(ctx context.Context, now clock.Time) error {
			if actual := m.Clock.Now(); actual.Before(now.Time) {
				now = actual
			}
			return report.Sum(ctx, m.Pool, now)
		},
	}
}
