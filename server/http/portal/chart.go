package portal

import (
	"cmp"
	"math"
	"slices"

	"rail/server/money/report"
)

// The plot's own units: the page stretches it to its width.
const (
	plotWidth  = 120
	plotHeight = 100
	// apart keeps the words of two lines from each other.
	apart = 14
)

// bar is one month of the chart.
type bar struct {
	Month, Short        string
	Earned              int64
	Clicks, Customers   int64
	X, Y, Width, Height float64
}

// mark is a line of the scale; Y is in the plot's units.
type mark struct {
	Y      float64
	Amount int64
}

// chart is a year of commissions, month by month.
type chart struct {
	Bars     []bar
	Marks    []mark
	Zero     float64
	Currency string
	Empty    bool
}

// newChart places the bars. Months in which more was taken back than earned go
// below the line of zero.
// The scale ends at rounded amounts, and marks its ends, zero and the halves
// between, as far as their words do not overlap.
func newChart(rows []report.Row, currency string) chart {
	c := chart{Currency: currency, Empty: true}
	var most, least int64
	for _, r := range rows {
		most, least = max(most, r.CommissionsMinor), min(least, r.CommissionsMinor)
		c.Empty = c.Empty && r.CommissionsMinor == 0 && r.Clicks == 0
	}
	top, bottom := round(most), -round(-least)
	span := float64(max(top-bottom, 1))
	at := func(amount int64) float64 { return plotHeight * float64(top-amount) / span }
	c.Zero = at(0)
	// Zero and the ends go first, so that a half gives way where it is close to one.
	for _, amount := range []int64{0, top, bottom, top / 2, bottom / 2} {
		y := at(amount)
		if !slices.ContainsFunc(c.Marks, func(m mark) bool { return math.Abs(m.Y-y) < apart }) {
			c.Marks = append(c.Marks, mark{y, amount})
		}
	}
	slices.SortFunc(c.Marks, func(a, b mark) int { return cmp.Compare(a.Y, b.Y) })
	step := float64(plotWidth) / float64(max(len(rows), 1))
	for i, r := range rows {
		name := month(r.Key)
		b := bar{
			Month: name, Short: name[:min(3, len(name))],
			Earned: r.CommissionsMinor, Clicks: r.Clicks, Customers: r.Customers,
			X: float64(i)*step + step*0.18, Width: step * 0.64,
		}
		b.Y, b.Height = at(max(b.Earned, 0)), at(min(b.Earned, 0))-at(max(b.Earned, 0))
		c.Bars = append(c.Bars, b)
	}
	return c
}

// round is the next amount with one or two leading digits that divides well.
// It returns 0 for 0 and less, and stops before unit would overflow.
func round(amount int64) int64 {
	if amount <= 0 {
		return 0
	}
	for unit := int64(1); ; unit *= 10 {
		for _, n := range []int64{1, 2, 4, 6, 8} {
			if n*unit >= amount || unit > 1<<58/10 {
				return n * unit
			}
		}
	}
}
