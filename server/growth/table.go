package growth

import (
	"fmt"
	"strings"
	"time"
)

// reasons are the costs that may grow, by how their names begin, and why.
var reasons = []struct{ prefix, why string }{}

func explained(name string) string {
	for _, r := range reasons {
		if strings.HasPrefix(name, r.prefix) {
			return r.why
		}
	}
	return ""
}

func (o Options) heading(small, full *side) {
	fmt.Fprintf(o.Out, "\n%-55s %10s %10s %7s\n", "median of "+fmt.Sprint(o.Rounds)+", milliseconds", small.size, full.size, "ratio")
}

func (o Options) line(f Figure, why string) {
	mark := ""
	switch {
	case f.Grows() && why != "":
		mark = "grows: " + why
	case f.Grows():
		mark = "GROWS"
	case f.Rows > 0:
		mark = fmt.Sprintf("%d and %d rows; the ratio is of one", f.SmallRows, f.Rows)
	}
	fmt.Fprintf(o.Out, "%-55s %10s %10s %7.1f %s\n", f.Name, milliseconds(f.Small), milliseconds(f.Full), f.Ratio(), mark)
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
