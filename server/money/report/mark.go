// Package report counts what happened in a window of days, which are those of the
// program's time zone. Days that are over are summed once, in the background, and sums
// of days make those of spans of 2, 4, ... 256 days, of which any window is a few; a change that touches such a day
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

// settledFor is how long after a change of its zone a program's days are summed again:
// a write that began before the change has ended by then.
const settledFor = 10 * time.Minute

// settled returns the moment since which nothing that is written needs a mark, in
// whatever zone. The statements leave out what else is in an open day of the program.
func settled(u *work.Unit) clock.Time { return u.Now.Plus(-openFor) }

// Touch marks the moment at which something that is being written counts. A moment of
// a day that is still open needs no mark.
func Touch(ctx context.Context, u *work.Unit, programID string, at clock.Time) error {
	if !at.Before(settled(u).Time) {
		return nil
	}
	return queries.ReportMark(ctx, u.Later(), db.ReportMarkParams{
		OrgID: u.OrgID, ProgramID: programID, At: at, Settled: settled(u),
	})
}

// Rezone prepares the sums for another time zone, which the caller has given to the
// program. Sums of days in the zone before go on serving totals, and reports read the
// days of the new zone from their rows until the job has summed them.
func Rezone(ctx context.Context, u *work.Unit, p db.Program) error {
	return queries.ReportMarkAgain(ctx, u.Later(), db.ReportMarkAgainParams{ProgramID: p.ID, OrgID: p.OrgID})
}

// TouchCommission marks the moment on which a commission counts: its sale's, or its
// own if it has no sale or is a clawback (decisions, 199).
func TouchCommission(ctx context.Context, u *work.Unit, k db.Commission) error {
	if k.SaleID == nil || k.Kind == db.CommissionKindClawback {
		return Touch(ctx, u, k.ProgramID, k.CreatedAt)
	}
	return queries.ReportMarkSale(ctx, u.Later(), db.ReportMarkSaleParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, SaleID: *k.SaleID, Settled: settled(u),
	})
}

// TouchCommissions marks the moments at which commissions count, as TouchCommission
// does of one.
func TouchCommissions(ctx context.Context, u *work.Unit, programID string, ids []string) error {
	return queries.ReportMarkCommissions(ctx, u.Later(), db.ReportMarkCommissionsParams{
		OrgID: u.OrgID, ProgramID: programID, Ids: ids, Settled: settled(u),
	})
}

// TouchCustomer marks the moments of everything that counts for a customer's partner
// or link. The caller does so before these change, since the old rows say which.
func TouchCustomer(ctx context.Context, u *work.Unit, k db.Customer) error {
	return queries.ReportMarkCustomer(ctx, u.Later(), db.ReportMarkCustomerParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, CustomerID: k.ID, Settled: settled(u),
	})
}

// TouchPartner marks the moments of everything that counts under a partner, before
// it goes.
func TouchPartner(ctx context.Context, u *work.Unit, p db.Partner) error {
	return queries.ReportMarkPartner(ctx, u.Later(), db.ReportMarkPartnerParams{
		OrgID: p.OrgID, ProgramID: p.ProgramID, PartnerID: p.ID, Settled: settled(u),
	})
}
