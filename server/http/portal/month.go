package portal

import (
	"math"
	"time"

	"rail/server/clock"
	"rail/server/money/report"
)

// sparkDays is how many days the lines of the month's figures show.
const sparkDays = 30

// month holds the figures of the present month.
type month struct{ Figures []monthFigure }

// monthFigure is a figure of the month, beside that of the last month up to the same day. Share is the change in
// percent, "" where there is none to compare. Days are its last days.
type monthFigure struct {
	Name, Icon, Text, Before, Share string
	Up, Down                        bool
	Days                            []int64
}

// twoMonths asks for the days of this month and the last one.
func (v *visit) twoMonths(code string) report.Query {
	q := v.window("month", code)
	q.From = clock.MonthOf(q.To).AddDate(0, -1, 0)
	return q
}

// month compares the days of this month with as many of the last one.
func (v *visit) month(code string, days []report.Row) month {
	today := v.Today()
	first := clock.MonthOf(today)
	sums := [2]report.Figures{} // of this month, and of the last up to the same day
	for _, r := range days {
		day, err := time.Parse(time.DateOnly, r.Key)
		switch {
		case err != nil:
		case !day.Before(first):
			add(&sums[0], r.Figures)
		case day.Day() <= today.Day():
			add(&sums[1], r.Figures)
		}
	}
	l := v.Locale
	money := func(n int64) string { return l.Money(n, code) }
	last := days[max(len(days)-sparkDays, 0):]
	figure := func(name, icon string, at int, text func(int64) string) monthFigure {
		now, before := values(sums[0])[at], values(sums[1])[at]
		f := monthFigure{
			Name: l.T(name), Icon: icon, Text: text(now), Before: l.T("%s last month by this day", text(before)),
			Up: now > before, Down: now < before, Share: v.change(now, before),
		}
		for _, r := range last {
			f.Days = append(f.Days, values(r.Figures)[at])
		}
		return f
	}
	return month{[]monthFigure{
		figure("Earnings", "coins", 0, money), figure("Clicks", "mouse-pointer-click", 1, l.Count),
		figure("Customers", "user-plus", 2, l.Count),
	}}
}

// change returns by how many percent a figure has changed; "" from zero or less, and for none.
func (v *visit) change(now, before int64) string {
	if before <= 0 || now == before {
		return ""
	}
	percent := math.Round(100 * math.Abs(float64(now)-float64(before)) / float64(before))
	return v.Locale.Percent(100 * int64(min(percent, maxChange)))
}

// maxChange bounds the percentages that are shown.
const maxChange = 999

// add adds the figures that partners see.
func add(to *report.Figures, f report.Figures) {
	to.CommissionsMinor += f.CommissionsMinor
	to.Clicks += f.Clicks
	to.Customers += f.Customers
}
