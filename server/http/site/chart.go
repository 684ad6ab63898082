package site

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode"
)

// The plot's own units: the page stretches it to its width.
const (
	plotWidth  = 120
	plotHeight = 100
	// apart keeps the words of two lines of the scale from each other.
	apart = 14
	// names is how many rows are named below a plot; of more rows, about half as many.
	names = 12
)

// Figures is the data of a chart and its table. A page has room for some hundred rows; use coarser rows, such as
// weeks, for more.
type Figures struct {
	Caption string // describes the table
	Head    string // names a row, such as Month
	Columns []Column
	Rows    []Row
	Partial bool // the last row is of a time that has not ended
}

// Column is one of the figures of every row.
type Column struct {
	Name  string
	Text  func(int64) string // writes a figure for people, such as Count
	Drawn bool               // the others are in the table only
	Style LineStyle          // of an area chart
}

// LineStyle is the style of a line of an area chart.
type LineStyle string

// The styles of lines.
const (
	LineMain   LineStyle = ""       // with the area below it
	LineBefore LineStyle = "before" // the same figures of an earlier time: dashed
	LineOther  LineStyle = "other"  // other figures: grey
)

// Row is the figures of a month, a day or a name, one for each column. Short is its
// name below the plot, Path where more of it is, if anywhere.
type Row struct {
	Name, Short, Path string
	Values            []int64
}

// Mark is a line of the scale; Y is in the plot's units.
type Mark struct {
	Y    float64
	Zero bool
	Text string
}

// Tag is a name below the plot, in percent of its width.
type Tag struct {
	X            float64
	Letter, Rest string // a narrow screen has room for the letter
}

// Bar is one row of a chart of bars.
type Bar struct {
	X, Y, Width, Height float64
	Down                bool // below zero
	Text                string
}

// Line is one column of an area chart. Points are those of an SVG polyline, Area those of the polygon below it.
type Line struct {
	Name, Points, Area string
	Style              LineStyle
}

// Chart is figures drawn as bars or as areas, by the template "chart".
type Chart struct {
	Figures
	Bars  []Bar // of an area chart: the zones of its rows
	Lines []Line
	Marks []Mark
	Tags  []Tag
	Empty bool // every figure is zero: there is nothing to draw
}

// BarChart draws the first column that is Drawn as bars. Negative figures go below the
// line of zero.
func BarChart(f Figures) Chart {
	c, at := f.chart()
	column := slices.IndexFunc(f.Columns, func(c Column) bool { return c.Drawn })
	step := float64(plotWidth) / float64(max(len(f.Rows), 1))
	for i, r := range f.Rows {
		v := r.Values[column]
		c.Bars = append(c.Bars, Bar{
			X: float64(i)*step + step*0.18, Width: step * 0.64,
			Y: at(max(v, 0)), Height: at(min(v, 0)) - at(max(v, 0)),
			Down: v < 0, Text: r.Name + ": " + f.Columns[column].Text(v),
		})
	}
	return c
}

// AreaChart draws the columns that are Drawn as lines on one scale. A zone of each row has its figures, which are shown
// where the pointer is.
func AreaChart(f Figures) Chart {
	c, at := f.chart()
	step := float64(plotWidth) / float64(max(len(f.Rows), 1))
	for i, column := range f.Columns {
		if !column.Drawn {
			continue
		}
		var points []byte
		for n, r := range f.Rows {
			points = place(points, (float64(n)+0.5)*step, at(r.Values[i]))
		}
		l := Line{Name: column.Name, Points: string(bytes.TrimSpace(points)), Style: column.Style}
		if column.Style == LineMain && len(f.Rows) > 0 {
			area := place(nil, step/2, at(0))
			area = place(append(area, points...), (float64(len(f.Rows))-0.5)*step, at(0))
			l.Area = string(bytes.TrimSpace(area))
		}
		c.Lines = append(c.Lines, l)
	}
	for n, r := range f.Rows {
		b := Bar{X: hundredth(float64(n) * step), Width: hundredth(step), Height: plotHeight, Text: r.Name}
		for i, column := range f.Columns {
			if column.Drawn {
				b.Text += " · " + column.Name + ": " + column.Text(r.Values[i])
			}
		}
		c.Bars = append(c.Bars, b)
	}
	return c
}

// place adds a point to those of a polyline.
func place(points []byte, x, y float64) []byte {
	points = strconv.AppendFloat(points, hundredth(x), 'f', -1, 64)
	points = strconv.AppendFloat(append(points, ','), hundredth(y), 'f', -1, 64)
	return append(points, ' ')
}

// Last is the zone of the last row, which is marked if it is partial.
func (c Chart) Last() Bar { return c.Bars[len(c.Bars)-1] }

// Ranks are figures by name, each with a bar of its share of the largest, by the
// template "ranks". They are a table themselves.
type Ranks struct {
	Figures
	Bars []Bar
}

// RankChart draws the first column that is Drawn beside the names.
func RankChart(f Figures) Ranks {
	column := slices.IndexFunc(f.Columns, func(c Column) bool { return c.Drawn })
	most := 1.0
	for _, r := range f.Rows {
		most = max(most, math.Abs(float64(r.Values[column])))
	}
	ranks := Ranks{Figures: f}
	for _, r := range f.Rows {
		v := r.Values[column]
		ranks.Bars = append(ranks.Bars, Bar{Width: hundredth(100 * math.Abs(float64(v)) / most), Down: v < 0})
	}
	return ranks
}

// hundredth rounds a place in the plot: more digits make the page long and change
// nothing.
func hundredth(place float64) float64 { return math.Round(100*place) / 100 }

// chart has the data and the scale of all kinds of charts.
// The scale ends at rounded figures, and marks its ends, zero and the halves between,
// as far as their words do not overlap.
func (f Figures) chart() (Chart, func(int64) float64) {
	c := Chart{Figures: f, Empty: true}
	var most, least int64
	text := func(v int64) string { return strconv.FormatInt(v, 10) }
	for i, column := range f.Columns {
		for _, r := range f.Rows {
			c.Empty = c.Empty && r.Values[i] == 0
			if column.Drawn {
				most, least = max(most, r.Values[i]), min(least, r.Values[i])
			}
		}
		if column.Drawn {
			text = column.Text
		}
	}
	top, bottom := round(most), -round(-least)
	span := float64(max(top-bottom, 1))
	at := func(v int64) float64 { return plotHeight * float64(top-v) / span }
	// Zero and the ends go first, so that a half gives way where it is close to one.
	for _, v := range []int64{0, top, bottom, top / 2, bottom / 2} {
		if y := at(v); !slices.ContainsFunc(c.Marks, func(m Mark) bool { return math.Abs(m.Y-y) < apart }) {
			c.Marks = append(c.Marks, Mark{y, v == 0, text(v)})
		}
	}
	slices.SortFunc(c.Marks, func(a, b Mark) int { return cmp.Compare(a.Y, b.Y) })
	c.Tags = f.tags()
	return c, at
}

// tags are the names below the plot: all of a few, some of many.
func (f Figures) tags() (out []Tag) {
	every := 1
	if len(f.Rows) > names {
		every = (len(f.Rows)*2 + names - 1) / names
	}
	for i := 0; i < len(f.Rows); i += every {
		t := Tag{X: hundredth(100 * (float64(i) + 0.5) / float64(len(f.Rows)))}
		t.Letter = f.Rows[i].Short
		if every == 1 {
			t.Letter, t.Rest = first(t.Letter)
		}
		out = append(out, t)
	}
	return out
}

// first cuts a text after its first letter, or after the number that it begins with.
func first(text string) (letter, rest string) {
	for i, r := range text {
		if i > 0 && !unicode.IsDigit(r) {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

// round is the next figure with one or two leading digits that divides well.
// It returns 0 for 0 and less, and stops before unit would overflow.
func round(figure int64) int64 {
	if figure <= 0 {
		return 0
	}
	for unit := int64(1); ; unit *= 10 {
		for _, n := range []int64{1, 2, 4, 6, 8} {
			if n*unit >= figure || unit > 1<<58/10 {
				return n * unit
			}
		}
	}
}
