package report

import (
	"context"
	"slices"
	"strings"
	"time"

	"rail/server/clock"
	"rail/server/work"
)

// Cohort holds the figures of the customers whose first sale was in a month, by the number of months since then. The
// customers of a month are those with a sale in it.
type Cohort struct {
	Month time.Time // its first day
	Since []Figures
}

// Cohorts returns the cohorts of the query's months, the oldest first, without months that have no sale. Sales
// that are dated before the first one are left out. Only program, window, currency, partner and attribution of the
// query count.
func Cohorts(ctx context.Context, u *work.Unit, q Query) ([]Cohort, error) {
	q.By, q.Bucket, q.From = cohort, "month", clock.MonthOf(q.From)
	answers, err := Read(ctx, u, q)
	if err != nil {
		return nil, err
	}
	return q.cohorts(answers[0].Rows), nil
}

// cohorts arranges rows with the months of the first sale and of the sales as keys.
func (q Query) cohorts(rows []Row) []Cohort {
	figures := map[string]Figures{}
	for _, r := range rows {
		figures[r.Key] = r.Figures
	}
	var out []Cohort
	for first := q.From; !first.After(q.To); first = first.AddDate(0, 1, 0) {
		c := Cohort{Month: first}
		for at := first; !at.After(q.To); at = at.AddDate(0, 1, 0) {
			c.Since = append(c.Since, figures[strings.Join([]string{monthKey(first), monthKey(at)}, " ")])
		}
		if slices.ContainsFunc(c.Since, func(f Figures) bool { return f.Sales > 0 }) {
			out = append(out, c)
		}
	}
	return out
}

// monthKey returns the key of a month in sums.
func monthKey(first time.Time) string { return first.Format("2006-01") }
