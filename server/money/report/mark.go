// Package report counts what happened in a window of days. Days and months that
// are over are summed once, in the background; a change that touches such a day
// marks it in its own transaction, and a marked day is read from its rows until
// it has been summed again. Reports are therefore exact to the last commit.
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

// openSince is the beginning of the first day that needs no mark.
func openSince(now clock.Time) clock.Time { return clock.At(dayOf(now.Plus(-openFor))) }

// lastDay is the last day that may be summed.
func lastDay(now clock.Time) time.Time { return dayOf(now.Plus(-summedFor)).AddDate(0, 0, -1) }

func dayOf(t clock.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
}

// Touch marks the day of a moment that something now written counts at.
func Touch(ctx context.Context, u *work.Unit, programID string, at clock.Time) error {
	if !at.Before(openSince(u.Now).Time) {
		return nil
	}
	return queries.ReportMark(ctx, u.Later(), db.ReportMarkParams{
		OrgID: u.OrgID, ProgramID: programID, Days: []time.Time{dayOf(at)},
	})
}

// TouchCommission marks the day that a commission counts at: its sale's, or its
// own where it has none or is a clawback (decisions, 199).
func TouchCommission(ctx context.Context, u *work.Unit, k db.Commission) error {
	if k.SaleID == nil || k.Kind == db.CommissionKindClawback {
		return Touch(ctx, u, k.ProgramID, k.CreatedAt)
	}
	return queries.ReportMarkSale(ctx, u.Later(), db.ReportMarkSaleParams{
		OrgID: k.OrgID, ProgramID: k.ProgramID, SaleID: *k.SaleID, OpenSince: openSince(u.Now),
	})
}

// TouchCustomer marks the days of everything that counts under a customer's
// partner or link, before these change or go.
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
