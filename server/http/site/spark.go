package site

import (
	"slices"
	"strconv"
	"strings"
)

// Spark is a small line of figures without a scale, by the template "sparkline". Its units are 100 by 24.
type Spark struct {
	Line string // the points of a polyline
	Area string // the points of the area below it
}

// NewSpark draws figures in their order; less than two, or only zeros, draw nothing.
func NewSpark(values []int64) (s Spark) {
	if len(values) < 2 || slices.Max(values) == slices.Min(values) {
		return s
	}
	most, least := max(slices.Max(values), 0), min(slices.Min(values), 0)
	points := make([]string, len(values))
	for i, v := range values {
		x := hundredth(100 * float64(i) / float64(len(values)-1))
		y := hundredth(2 + 20*float64(most-v)/float64(most-least))
		points[i] = strconv.FormatFloat(x, 'f', -1, 64) + "," + strconv.FormatFloat(y, 'f', -1, 64)
	}
	s.Line = strings.Join(points, " ")
	s.Area = "0,24 " + s.Line + " 100,24"
	return s
}
