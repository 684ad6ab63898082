package jobs

import (
	"context"
	"time"

	"rail/server/clock"
	"rail/server/money/report"
)

// sumReports sums past days, which keeps reports fast. It never runs ahead of the true time, whatever time it is
// given: the day is not over yet.
func sumReports(m Deps) Job {
	return Job{
		Name: "sum-reports", About: "sum days and spans of days for reports", Every: 30 * time.Second, Sweeps: true,
		Run: func(ctx context.Context, now clock.Time) error {
			if actual := m.Clock.Now(); actual.Before(now.Time) {
				now = actual
			}
			return report.Sum(ctx, m.Pool, now)
		},
	}
}
