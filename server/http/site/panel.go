package site

import (
	"math"
	"strconv"

	"rail/server/clock"
)

// Link is an entry of a menu. Icon is a name in icons.svg, "" for none; Count is the number of open tasks, 0 is not
// shown.
type Link struct {
	Path, Name, Icon string
	Current          bool
	Count            int64
}

// Switcher is the menu of programs in the header of wide pages. More are links below the programs.
type Switcher struct {
	Label       string
	Links, More []Link
}

// Menu is a site's pages in groups, by the template "menu": beside the page on a wide
// screen, above it and folded on a narrow one.
type Menu struct {
	Label  string
	Groups []Group
}

// Group is a part of a menu. Its name may be empty.
type Group struct {
	Name  string
	Links []Link
}

// Here is the name of the page that is shown.
func (m Menu) Here() string {
	for _, g := range m.Groups {
		for _, l := range g.Links {
			if l.Current {
				return l.Name
			}
		}
	}
	return ""
}

// Tabs are the parts of a page that has an address for each, by the template "tabs".
type Tabs struct {
	Label string
	Links []Link
}

// Steps shows the progress of a process with several steps, by the template "steps". Steps before At are done, and
// link back if they have a path.
type Steps struct {
	Label string
	At    int
	Links []Link
}

// Tile is a figure with its change against the time before, by the template "tile" in
// a <dl class="tiles">.
type Tile struct {
	Name, Text, Path string
	Exact            string // the figure in full, if Text is short
	Change           Change
	Note             string // below the figure
	Spark            Spark
}

// Change is the change of a figure, in words.
type Change struct {
	Up, Down bool
	Words    string
}

// NewTile returns the tile of a figure and its previous value.
func NewTile(name string, now, before int64, text func(int64) string) Tile {
	return Tile{Name: name, Text: text(now), Change: changed(now, before, text)}
}

// changed describes the change of a figure. A share of zero, of a debt or above tenfold is left out.
func changed(now, before int64, text func(int64) string) Change {
	switch {
	case now == before:
		return Change{Words: "no change"}
	case before == 0 && now > 0:
		return Change{Up: true, Words: "new"}
	}
	c := Change{Up: now > before, Down: now < before, Words: "down"}
	if c.Up {
		c.Words = "up"
	}
	percent := math.Round(100 * math.Abs(float64(now)-float64(before)) / float64(before))
	if before > 0 && percent >= 1 && percent < 1000 {
		c.Words += " " + strconv.FormatFloat(percent, 'f', 0, 64) + " %"
	}
	c.Words += " from " + text(before)
	return c
}

// Sum lists the parts of an amount, for the template "sum".
type Sum struct {
	Lines []Part
	Total Part
}

// Part is a line of a sum.
type Part struct{ Name, Aside, Text string }

// Confirm is a form that describes its effects before they happen, by the template "confirm".
type Confirm struct {
	Action, Button, Back string
	Danger               bool
	Other                Action   // a second button; no Label for none
	Points               []string // what will happen, one sentence each
	Sum                  Sum
	Inputs               []Input
	Hidden               []Hidden // the form's token is one of them
}

// Moment is an entry of a timeline, which is the template "timeline" of several.
type Moment struct {
	At               clock.Time
	Title, Text, Who string
	Kind             string // "good", "bad", "warn", or "" for none of them
}

// Nothing stands where a list has no rows, by the template "nothing", with what to do
// about it.
type Nothing struct {
	Title, Text string
	Link        Link
}
