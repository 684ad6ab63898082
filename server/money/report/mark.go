// Package report counts what happened in a window of days. Days that are
// over are summed once, in the background, and sums of days make those of spans of 2,
// 4, ... 256 days, of which any window is a few; a change that touches such a day
// marks it in its own transaction, and a marked day is read from its rows until
// it has been summed again. Reports are therefore exact to the last commit. The
// spans that hold such a day are made again on the next day, so that one that is
// touched all the time costs no more than itself.
package report

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

var queries = db.New()

// A day is open for an hour after its end: what is written then needs no mark.
// It is summed an hour later still, when every such write has long ended, also
// where the clocks of two servers differ.
const (
	openFor   = time.Hour
	summedFor = 2 * time.Hour
)

// openSince returns the beginning of the first day that needs no mark, in UTC.
func openSince(now clock.Time) clock.Time { return clock.At(dayOf(now.Plus(-openFor))) }

// lastDay returns the last day that may be summed.
func lastDay(now clock.Time) time.Time { return dayOf(now.Plus(-summedFor)).AddDate(0, 0, -1) }

// dayOf returns the day's midnight; days of reports are those of UTC.
func dayOf(t clock.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// Touch marks the day on which something that is being written counts. A day
// that is still open needs no mark.
func Touch(ctx context.Context, u *work.Unit, programID string, at clock.Time) error {
	if !at.Before(openSince(u.Now).Time) {
		return nil
	}
	return queries.ReportMark(ctx, u.Later(), db.ReportMarkParams{
		OrgID: u.OrgID, ProgramID: programID, Days: []time.Time{dayOf(at)},
	})
}

// TouchCommission marks the day on which a commission counts: its sale's, or its
// own if it has no sale or is a clawback (decisions, 199).
func TouchCommission(ctx context.Context, u *work.Unit, k db.Commission) error {
	if k.SaleID == nil || k.Kind == db.CommissionKindClawback {
		return Touch(ctx, u, k.ProgramID, k.CreatedAt)
	}
	return queries.ReportMarkSale(ctx, u.Later(), db.ReportMarkSaleParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, SaleID: *k.SaleID, OpenSince: openSince(u.Now),
	})
}

// TouchCommissions marks the days on which commissions count, as TouchCommission
// does of one.
func TouchCommissions(ctx context.Context, u *work.Unit, programID string, ids []string) error {
	return queries.ReportMarkCommissions(ctx, u.Later(), db.ReportMarkCommissionsParams{
		OrgID: u.OrgID, ProgramID: programID, Ids: ids, OpenSince: openSince(u.Now),
	})
}

// TouchCustomer marks the days of everything that counts for a customer's partner
// or link. The caller does so before these change, since the old rows say which.
func TouchCustomer(ctx context.Context, u *work.Unit, k db.Customer) error {
	return queries.ReportMarkCustomer(ctx, u.Later(), db.ReportMarkCustomerParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, CustomerID: k.ID, OpenSince: openSince(u.Now),
	})
}

// TouchPartner marks the days of everything that counts under a partner, before
// it goes.
func TouchPartner(ctx context.Context, u *work.Unit, p db.Partner) error {
	return queries.ReportMarkPartner(ctx, u.Later(), db.ReportMarkPartnerParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, OpenSince: openSince(u.Now),
	})
}
