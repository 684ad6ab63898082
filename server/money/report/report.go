package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
	"rail/server/problem"
	"rail/server/work"
)

// By is the dimension of a report's rows.
type By string

// The dimensions of the API; all makes a single row.
const (
	Partner By = "partner"
	Link    By = "link"
	Product By = "product"
	Group   By = "group"
	Tag     By = "tag"
	Period  By = "period"
	all     By = "all"
	cohort  By = "cohort"
)

// The dimensions of the origin of a customer: of the click that brought it (decisions, 316).
const (
	Source    By = "source"
	Medium    By = "medium"
	Campaign  By = "campaign"
	Referrer  By = "referrer"
	Country   By = "country"
	Device    By = "device"
	TrackedBy By = "tracked_by"
)

// Origins lists the dimensions of the origin.
var Origins = []By{Source, Medium, Campaign, Referrer, Country, Device, TrackedBy}

// Original reports whether the dimension is one of the origin.
func (b By) Original() bool { return slices.Contains(Origins, b) }

// Attribution selects figures by whether they have a partner.
type Attribution string

// The attributions of the API.
const (
	Everything   Attribution = "all"
	PartnersOnly Attribution = "partners"
	DirectOnly   Attribution = "direct"
)

// Direct is the key of figures without a partner.
const Direct = "direct"

// Query selects a window of days, both included. Bucket is the size of a Period's rows: day, week or month.
// Filters by partner, group and tag exclude direct figures.
type Query struct {
	OrgID, ProgramID          string
	By                        By
	From, To                  time.Time // days of Zone, as their midnights in UTC
	Zone                      string    // the program's time zone
	Bucket                    string
	Attribution               Attribution // "" is Everything
	PartnerID, GroupID, TagID *string
	Origin                    map[By]string // the only value by dimension, "" for none
	Currency, ProgramCurrency string
	Compared                  bool // also read the preceding window of the same length
}

// Figures are the counts of a row. Money is minor units of the query's currency.
type Figures struct {
	Clicks, Leads, Customers, Sales, Refunded, RevenueMinor, CommissionsMinor, PaidMinor int64
}

// add sums two rows, which have the same currency.
func (f *Figures) add(g Figures) {
	f.Clicks += g.Clicks
	f.Leads += g.Leads
	f.Customers += g.Customers
	f.Sales += g.Sales
	f.Refunded += g.Refunded
	f.RevenueMinor += g.RevenueMinor
	f.CommissionsMinor += g.CommissionsMinor
	f.PaidMinor += g.PaidMinor
}

// Row is one row of a report. Key is "" for figures without a link, group, tag or product, and None for those without
// a value of the origin.
type Row struct {
	Key, Label string
	Figures
}

// Window has the rows of a window, in order, and its totals.
type Window struct {
	Rows   []Row
	Totals Figures
}

// Answer is a query's window, and the preceding one of a compared query.
type Answer struct {
	Window
	Before Window
}

// Top keeps the first n rows of the window, and the rows with the same keys in the preceding one. The totals remain
// those of all rows.
func (a *Answer) Top(n int) {
	a.Rows = a.Rows[:min(n, len(a.Rows))]
	top := map[string]bool{}
	for _, r := range a.Rows {
		top[r.Key] = true
	}
	a.Before.Rows = slices.DeleteFunc(a.Before.Rows, func(r Row) bool { return !top[r.Key] })
}

// Shift is a row's revenue in two windows, in minor units.
type Shift struct {
	Key, Label  string
	Now, Before int64
}

// size returns the absolute change.
func (s Shift) size() int64 { return max(s.Now-s.Before, s.Before-s.Now) }

// Shifts returns at most n keys whose revenue differs from the preceding window, the largest change first.
func (a Answer) Shifts(n int) []Shift {
	at := map[string]*Shift{}
	of := func(r Row) *Shift {
		if at[r.Key] == nil {
			at[r.Key] = &Shift{Key: r.Key, Label: r.Label}
		}
		return at[r.Key]
	}
	for _, r := range a.Rows {
		of(r).Now += r.RevenueMinor
	}
	for _, r := range a.Before.Rows {
		of(r).Before += r.RevenueMinor
	}
	out := []Shift{}
	for _, s := range at {
		if s.size() != 0 {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Shift) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.Key, b.Key))
	})
	return out[:min(n, len(out))]
}

// Before returns the query for the preceding window of the same length, for comparison.
func (q Query) Before() Query {
	days := int(q.To.Sub(q.From)/(24*time.Hour)) + 1
	q.From, q.To, q.Compared = q.From.AddDate(0, 0, -days), q.From.AddDate(0, 0, -1), false
	return q
}

// first returns the first day to read.
func (q Query) first() time.Time {
	if q.Compared {
		return q.Before().From
	}
	return q.From
}

// filtered reports whether the query selects some partners only.
func (q Query) filtered() bool { return q.PartnerID != nil || q.GroupID != nil || q.TagID != nil }

// lessDirect reports whether the query subtracts the figures without a partner from sums of all.
func (q Query) lessDirect() bool {
	whole := q.By == Period || q.By == all || q.By == cohort || q.By.Original()
	return whole && q.Attribution == PartnersOnly && !q.filtered()
}

// attributed reports whether the query reads the rows of partners only.
func (q Query) attributed() bool {
	return q.filtered() || q.Attribution == PartnersOnly && !q.lessDirect()
}

// splits reports whether the query needs the sums of each partner.
func (q Query) splits() bool { return q.attributed() || q.Attribution == DirectOnly }

// keyed reports whether the rows are those of a key in sums.
func (q Query) keyed() bool {
	return q.By == Link || q.By == Product || q.By == cohort || q.By.Original()
}

// perPartner reports whether the query needs the sums of single partners.
func (q Query) perPartner() bool {
	return q.attributed() || q.By == Partner || q.By == Group || q.By == Tag
}

// crosses reports whether the query must read rows, because no sums answer it: it has two filters by origin, or a
// filter by another key than that of its rows, or a part of the origin other than the source for single partners.
func (q Query) crosses() bool {
	_, own := q.Origin[q.By]
	if len(q.Origin) > 1 || len(q.Origin) == 1 && !own && q.keyed() {
		return true
	}
	for _, by := range Origins {
		_, ok := q.Origin[by]
		if by != Source && (ok || q.By == by) && q.perPartner() {
			return true
		}
	}
	return false
}

// subject returns the dimension of the keys to read: of the rows or of the filter by origin, "" for none.
func (q Query) subject() string {
	if q.keyed() {
		return string(q.By)
	}
	for dimension := range q.Origin {
		if !q.crosses() {
			return string(dimension)
		}
	}
	return ""
}

// level returns the coarsest sums that can answer the query: fewer rows to read.
func (q Query) level() string {
	of, own := q.subject(), q.splits() || q.perPartner()
	switch {
	case of == string(Link):
		return of
	case of != "" && own:
		return "partner_" + of
	case of != "":
		return of
	case own:
		return "partner"
	}
	return "total"
}

// directLevel returns the sums with the figures without a partner that lessDirect subtracts.
func (q Query) directLevel() string {
	if q.subject() == "" {
		return "partner"
	}
	return "partner_" + q.subject()
}

// maxCrossed bounds the rows of an answer whose filters cross its dimension (decisions, 455).
const maxCrossed = 200_000

// Read answers queries in one round trip, in order. Queries that read rows take a second one, and are refused above
// maxCrossed rows.
func Read(ctx context.Context, u *work.Unit, qs ...Query) ([]Answer, error) {
	answers := make([]Answer, len(qs))
	if err := bounded(ctx, u, qs); err != nil {
		return nil, err
	}
	reads := []pgtx.Read{
		func(tx pgtx.DBTX) error { return queries.PlanForValues(ctx, tx) },
		func(tx pgtx.DBTX) error { return queries.ReportSetWorkMem(ctx, tx) },
	}
	for i, q := range qs {
		reads = append(reads, q.reads(ctx, &answers[i])...)
	}
	return answers, u.Together(ctx, reads...)
}

// bounded refuses queries that would read too many rows.
func bounded(ctx context.Context, u *work.Unit, qs []Query) error {
	sizes := make([]int64, len(qs))
	reads := []pgtx.Read{func(tx pgtx.DBTX) error { return queries.PlanForValues(ctx, tx) }}
	for i, q := range qs {
		if q.crosses() {
			reads = append(reads, func(tx pgtx.DBTX) (err error) {
				sizes[i], err = queries.ReportSize(ctx, tx, q.size())
				return err
			})
		}
	}
	if len(reads) == 1 {
		return nil
	}
	if err := u.Together(ctx, reads...); err != nil {
		return err
	}
	var all int64
	for _, n := range sizes {
		all += n
	}
	if all > maxCrossed {
		return problem.On("from", problem.RangeTooLarge,
			"A report whose filters cross its dimension reads at most %d rows; take a later from, or fewer filters.",
			maxCrossed)
	}
	return nil
}

// size returns the parameters that count the rows to read, up to one above maxCrossed.
func (q Query) size() db.ReportSizeParams {
	return db.ReportSizeParams{
		OrgID: q.OrgID, ProgramID: q.ProgramID, FromDay: q.first(), ToDay: q.To, TimeZone: q.Zone, Lim: maxCrossed + 1,
	}
}

// reads returns the reads that fill in the answer; they may share a round trip.
func (q Query) reads(ctx context.Context, into *Answer) []pgtx.Read {
	reads := []pgtx.Read{func(tx pgtx.DBTX) error {
		rows, err := queries.ReportRows(ctx, tx, q.params())
		into.fill(q, rows)
		return err
	}}
	// A partner with two tags is in two rows, so the totals are a separate read.
	if q.By == Tag { // its rows overlap
		whole := q
		whole.By = all
		reads = append(reads, func(tx pgtx.DBTX) error {
			rows, err := queries.ReportRows(ctx, tx, whole.params())
			for _, r := range rows {
				into.window(r.Before).Totals.add(figures(r))
			}
			return err
		})
	}
	return reads
}

// params returns the query's parameters for SQL.
func (q Query) params() db.ReportRowsParams {
	p := db.ReportRowsParams{
		By:              string(q.By),
		OrgID:           q.OrgID,
		ProgramID:       q.ProgramID,
		FromDay:         q.first(),
		SplitDay:        q.From,
		ToDay:           q.To,
		Level:           q.level(),
		PartnerID:       q.PartnerID,
		TimeZone:        q.Zone,
		Bucket:          cmp.Or(q.Bucket, "day"),
		Currency:        q.Currency,
		ProgramCurrency: q.ProgramCurrency,
		Attributed:      q.attributed(),
		LessDirect:      q.lessDirect(),
		DirectLevel:     q.directLevel(),
		Subject:         q.subject(),
		RowsOnly:        q.crosses(),
		GroupID:         q.GroupID,
		TagID:           q.TagID,
		Source:          q.only(Source),
		Medium:          q.only(Medium),
		Campaign:        q.only(Campaign),
		Referrer:        q.only(Referrer),
		Country:         q.only(Country),
		Device:          q.only(Device),
		TrackedBy:       q.only(TrackedBy),
	}
	if !q.crosses() {
		p.Key = q.only(By(q.subject()))
	}
	if q.Attribution == DirectOnly {
		p.PartnerID = new("") // the partner of direct figures
	}
	return p
}

// only returns the value that a filter by origin selects, nil without the filter.
func (q Query) only(dimension By) *string {
	if value, ok := q.Origin[dimension]; ok {
		return &value
	}
	return nil
}

// figures returns the counts of a row, without its key.
func figures(r db.ReportRowsRow) Figures {
	return Figures{
		r.Clicks, r.Leads, r.Customers, r.Sales, r.Refunded, r.RevenueMinor, r.CommissionsMinor, r.PaidMinor,
	}
}

// window returns the preceding window, or that of the query.
func (a *Answer) window(before bool) *Window {
	if before {
		return &a.Before
	}
	return &a.Window
}

// fill adds the rows to their windows.
func (a *Answer) fill(q Query, rows []db.ReportRowsRow) {
	for _, r := range rows {
		row := Row{Key: r.Key, Label: r.Label, Figures: figures(r)}
		switch {
		case r.Direct:
			row.Key = Direct
		case r.Key == "" && q.By.Original():
			row.Key = None
		}
		w := a.window(r.Before)
		w.Rows = append(w.Rows, row)
		if q.By != Tag {
			w.Totals.add(row.Figures)
		}
	}
	a.order(q)
	if q.Compared {
		a.Before.order(q.Before())
	}
}

// order sorts the rows: periods by time and without gaps, other dimensions by revenue, highest first, then by key.
func (w *Window) order(q Query) {
	if q.By == Period {
		w.Rows = q.buckets(w.Rows)
		return
	}
	slices.SortFunc(w.Rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.RevenueMinor, x.RevenueMinor), cmp.Compare(x.Key, y.Key))
	})
}

// buckets returns a row for every bucket of the window, empty ones included.
func (q Query) buckets(rows []Row) []Row {
	rowOf := map[string]Row{}
	for _, r := range rows {
		rowOf[r.Key] = r
	}
	var out []Row
	for at := q.bucket(q.From); !at.After(q.To); at = q.next(at) {
		key := at.Format(time.DateOnly)
		r := rowOf[key]
		r.Key = key
		out = append(out, r)
	}
	return out
}

// MaxBuckets bounds the rows of a report by period: three years of days.
const MaxBuckets = 1100

// TooLong reports whether the window has more buckets than a report may.
func (q Query) TooLong() bool {
	n := 0
	for at := q.bucket(q.From); !at.After(q.To) && n <= MaxBuckets; at = q.next(at) {
		n++
	}
	return n > MaxBuckets
}

// bucket returns the first day of the bucket that day is in; weeks begin on
// Monday.
func (q Query) bucket(day time.Time) time.Time {
	switch q.Bucket {
	case "month":
		return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
	case "week":
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	}
	return day
}

// next returns the first day of the following bucket.
func (q Query) next(at time.Time) time.Time {
	switch q.Bucket {
	case "month":
		return at.AddDate(0, 1, 0)
	case "week":
		return at.AddDate(0, 0, 7)
	}
	return at.AddDate(0, 0, 1)
}

// Bps returns part of whole in basis points, rounded half away from zero; nil if
// whole is zero.
func Bps(part, whole int64) *int64 {
	if whole == 0 {
		return nil
	}
	v := roundDiv(part*10000, whole)
	return &v
}

// Change returns the change from one value to another in basis points of the
// first, rounded half away from zero; nil if that was zero.
func Change(from, to int64) *int64 {
	if from == 0 {
		return nil
	}
	v := roundDiv((to-from)*10000, abs(from))
	return &v
}

// roundDiv divides by a positive b and rounds half away from zero.
func roundDiv(a, b int64) int64 {
	if a < 0 {
		return -((-a + b/2) / b)
	}
	return (a + b/2) / b
}

func abs(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
