package payout

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/work"
)

// YearQuery selects the totals of a year in the program's time zone.
type YearQuery struct {
	Program   db.Program
	Year      int
	PartnerID *string
	Skip      int64
	Limit     int64
}

// YearTotals is a page of totals, one for each partner, method and currency.
type YearTotals struct {
	Rows    []YearTotal
	HasMore bool
	Count   int64 // of all pages
	Sums    []Sum // of all pages, by currency
}

// YearTotal is the sum of a partner's paid payouts. Method is "" for none.
type YearTotal struct {
	Partner db.Partner
	db.PayoutYearRow
}

// bounds returns the first moment of the year and that of the next.
func (q YearQuery) bounds() (from, to clock.Time) {
	zone := clock.StoredZone(q.Program.TimeZone)
	first := func(year int) clock.Time {
		return clock.Midnight(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC), zone)
	}
	return first(q.Year), first(q.Year + 1)
}

// OfYear reads the totals of a year. In an uncounted unit it leaves out those of all pages.
func OfYear(ctx context.Context, u *work.Unit, q YearQuery) (out YearTotals, err error) {
	from, to := q.bounds()
	page := db.PayoutYearParams{
		ProgramID: q.Program.ID, OrgID: u.OrgID, FromAt: from, ToAt: to, PartnerID: q.PartnerID, Lim: int32(q.Limit + 1),
		Skip: int32(q.Skip),
	}
	var rows []db.PayoutYearRow
	reads := []pgtx.Read{func(tx pgtx.DBTX) (err error) {
		rows, err = queries.PayoutYear(ctx, tx, page)
		return err
	}}
	if !u.Uncounted {
		reads = append(reads, out.sum(ctx, page)...)
	}
	if err := u.Together(ctx, reads...); err != nil {
		return out, err
	}
	if out.HasMore = int64(len(rows)) > q.Limit; out.HasMore {
		rows = rows[:q.Limit]
	}
	out.Rows, err = withPartners(ctx, u, rows)
	return out, err
}

// sum returns the reads that count and sum the totals of all pages.
func (out *YearTotals) sum(ctx context.Context, page db.PayoutYearParams) []pgtx.Read {
	all := db.PayoutYearCountParams{
		ProgramID: page.ProgramID, OrgID: page.OrgID, FromAt: page.FromAt, ToAt: page.ToAt, PartnerID: page.PartnerID,
	}
	return []pgtx.Read{
		func(tx pgtx.DBTX) (err error) {
			out.Count, err = queries.PayoutYearCount(ctx, tx, all)
			return err
		},
		func(tx pgtx.DBTX) error {
			sums, err := queries.PayoutYearSums(ctx, tx, db.PayoutYearSumsParams(all))
			for _, row := range sums {
				out.Sums = append(out.Sums, Sum{Currency: row.Currency, Payouts: row.Payouts, AmountMinor: row.AmountMinor})
			}
			return err
		},
	}
}

// withPartners adds the partners of totals.
func withPartners(ctx context.Context, u *work.Unit, rows []db.PayoutYearRow) ([]YearTotal, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.PartnerID
	}
	found, err := queries.PartnerByIDs(ctx, u.DB(), db.PartnerByIDsParams{Ids: ids, OrgID: u.OrgID})
	partners := map[string]db.Partner{}
	for _, p := range found {
		partners[p.ID] = p
	}
	out := make([]YearTotal, len(rows))
	for i, row := range rows {
		out[i] = YearTotal{Partner: partners[row.PartnerID], PayoutYearRow: row}
	}
	return out, err
}
