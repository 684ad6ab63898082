// Package report computes figures over a window of days in the program's time zone.
//
// A job sums each past day once, and combines days into spans of 4, 16, 64 and 256 days, so that any window is a few
// spans. A change that affects a past day marks it in its own transaction, and reports read a marked day from
// its rows until it is summed again. Reports are therefore exact to the last commit. Spans with a marked day are
// rebuilt on the next day, so that a day that changes all the time costs only itself.
package report

import (
	"context"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/work"
)

var queries = db.New()

// A day stays open for an hour after its end: writes in that time need no mark. It is summed an hour later
// still, when every such write has ended, even if the clocks of two servers differ.
const (
	openFor   = time.Hour
	summedFor = 2 * time.Hour
)

// settledFor is the delay after a change of time zone before a program's days are summed again: writes that
// began before the change have ended by then.
const settledFor = 10 * time.Minute

// openSince returns the time from which writes need no mark, in any time zone. The statements exclude the
// program's open days themselves.
func openSince(u *work.Unit) clock.Time { return u.Now.Plus(-openFor) }

// Touch marks the day on which something counts that is being written. An open day needs no mark.
func Touch(ctx context.Context, u *work.Unit, programID string, at clock.Time) error {
	if !at.Before(openSince(u).Time) {
		return nil
	}
	return queries.ReportMark(ctx, u.Later(), db.ReportMarkParams{
		OrgID: u.OrgID, ProgramID: programID, At: at, Settled: openSince(u),
	})
}

// TouchSale marks the day of a sale that is being written or deleted, and the days on which its customer's later sales
// of the month count in cohorts.
func TouchSale(ctx context.Context, u *work.Unit, s db.Sale) error {
	if !s.OccurredAt.Before(openSince(u).Time) {
		return nil
	}
	if err := Touch(ctx, u, s.ProgramID, s.OccurredAt); err != nil {
		return err
	}
	return queries.ReportMarkLaterSales(ctx, u.Later(), db.ReportMarkLaterSalesParams{
		CustomerID: s.CustomerID, ProgramID: s.ProgramID, OrgID: u.OrgID, At: s.OccurredAt, Settled: openSince(u),
	})
}

// TouchPayout marks the day on which a payout was paid, which is written already.
func TouchPayout(ctx context.Context, u *work.Unit, id string) error {
	return queries.ReportMarkPayout(ctx, u.Later(), db.ReportMarkPayoutParams{
		PayoutID: id, OrgID: u.OrgID, Settled: openSince(u),
	})
}

// Rezone prepares the sums for a program's new time zone. Sums in the old zone still serve totals, and reports
// read days of the new zone from their rows until the job has summed them.
func Rezone(ctx context.Context, u *work.Unit, p db.Program) error {
	return queries.ReportMarkBeforeCreation(ctx, u.Later(), db.ReportMarkBeforeCreationParams{
		ProgramID: p.ID, OrgID: p.OrgID,
	})
}

// TouchCommission marks the day on which a commission counts: its sale's, or its own if it has no sale or is a
// clawback (decisions, 199).
func TouchCommission(ctx context.Context, u *work.Unit, k db.Commission) error {
	if k.SaleID == nil || k.Kind == db.CommissionKindClawback {
		return Touch(ctx, u, k.ProgramID, k.CreatedAt)
	}
	return queries.ReportMarkSale(ctx, u.Later(), db.ReportMarkSaleParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, SaleID: *k.SaleID, Settled: openSince(u),
	})
}

// TouchCommissions marks the days on which commissions count and were paid.
func TouchCommissions(ctx context.Context, u *work.Unit, programID string, ids []string) error {
	return queries.ReportMarkCommissions(ctx, u.Later(), db.ReportMarkCommissionsParams{
		OrgID: u.OrgID, ProgramID: programID, Ids: ids, Settled: openSince(u),
	})
}

// TouchCustomer marks the days of everything counted for a customer's partner, link or origin. It must run before
// these change, since it reads the old rows.
func TouchCustomer(ctx context.Context, u *work.Unit, k db.Customer) error {
	return queries.ReportMarkCustomer(ctx, u.Later(), db.ReportMarkCustomerParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, CustomerID: k.ID, Settled: openSince(u),
	})
}

// TouchPartner marks the days of everything counted for a partner, before the partner is deleted.
func TouchPartner(ctx context.Context, u *work.Unit, p db.Partner) error {
	return queries.ReportMarkPartner(ctx, u.Later(), db.ReportMarkPartnerParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, Settled: openSince(u),
	})
}
