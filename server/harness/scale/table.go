package scale

import (
	"fmt"
	"strings"
	"time"
)

// The reasons for costs that grow. The first is a known limit; see "Scale" in the
// README of harness.
const (
	counts  = "total_count counts what matches"
	answers = "as many sums as partners or links had something to report on the days"
	bounded = "total_count counts up to 5,000 rows one by one"
	batch   = "sums the payouts of the batch"
	window  = "total_count counts the rows of the window"
	export  = "a CSV has every row, up to its limit"
)

// reasons lists the costs that may grow, by prefixes of their names. The first matching prefix decides. An entry is a
// decision: its author explains why the growth is bounded or rare.
var reasons = []struct{ prefix, why string }{
	{"retrieveReport", answers},
	{"job risk-sweep", "looks at every program's sales and clicks of its window, once an hour"},
	{"listMaturingCommissions", counts},
	{"listSales occurred_before", "the newest sales are looked through for some that occurred so long ago"},
	{"listPayoutBatches", batch}, {"retrievePayoutBatch", batch}, {"retrievePayout expand[]=batch", batch},
	{"listPayouts expand[]=batch", batch},
	{"listBalances", counts}, {"listRiskFlags", counts}, {"listApplications", counts},
	{"job forget-tallies", "looks at every total, once an hour"}, {"listPayouts batch_id", bounded},
	{"listCommissions payout_id", bounded},
	{"retrieveProgram include", "counts the rows of the day that is not over"},
	{"listPrograms include", "the same, of every program"},
	{"listPartners search", "a part of a name is looked for in all partners of the program"},
	{"listClicks created_", window}, {"listSales created_", window}, {"listCommissions created_", window},
	{"listCustomers created_", window}, {"listReferrals created_", window}, {"listPayouts created_", window},
	{"retrieveProgramStatus", "adds the balances of the program"},
	{"listPayoutTotals", "adds the payouts of the year of each partner"},
	{"listLinks", counts}, {"listCoupons", counts}, {"listTaxFormStatuses", counts}, {"listRefunds", counts},
}

// explained returns the reason for which a cost may grow, or "".
func explained(name string) string {
	if strings.HasSuffix(name, " format=csv") {
		return export
	}
	for _, r := range reasons {
		if strings.HasPrefix(name, r.prefix) {
			return r.why
		}
	}
	return ""
}

// heading prints the first line, with the number of sales on each side.
func (o Options) heading(small, full *side) {
	fmt.Fprintf(o.Out, "\n%-55s %10s %10s %7s\n", "median of "+fmt.Sprint(o.Rounds)+", milliseconds", small.size,
		full.size, "ratio")
}

// line prints a figure, and whether it grows and why.
func (o Options) line(f Figure, why string) {
	mark := ""
	switch {
	case f.TooSlow:
		mark = "503: the database took too long"
	case f.Grows() && why != "":
		mark = "grows: " + why
	case f.Grows():
		mark = "GROWS"
	case f.Rows > 0:
		mark = fmt.Sprintf("%d and %d rows; the ratio is of one", f.SmallRows, f.Rows)
	}
	fmt.Fprintf(o.Out, "%-55s %10s %10s %7.1f %s\n", f.Name, milliseconds(f.Small), milliseconds(f.Full), f.Ratio(), mark)
}

// milliseconds prints a time as the table does.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/1e6) }
