package handlers

import (
	"context"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/locale/currency"
	"rail/server/money/report"
	"rail/server/opt"
	"rail/server/work"
)

// RetrieveReportCohorts returns the customers of a program by the month of their first sale (decisions, 458).
func (s *Server) RetrieveReportCohorts(ctx context.Context,
	r api.RetrieveReportCohortsRequestObject) (api.RetrieveReportCohortsResponseObject, error) {
	u, p := work.From(ctx), r.Params
	prog, err := u.Program(ctx, p.ProgramID)
	if err != nil {
		return nil, err
	}
	today, months := u.Now.DayIn(clock.StoredZone(prog.TimeZone)), reportMonths
	if p.Months != nil {
		months = int(*p.Months)
	}
	q := report.Query{
		OrgID: u.OrgID, ProgramID: prog.ID, PartnerID: p.PartnerID, Zone: prog.TimeZone, To: today,
		From:     clock.MonthOf(today).AddDate(0, 1-months, 0),
		Currency: prog.Currency, ProgramCurrency: prog.Currency,
		Attribution: opt.Value((*report.Attribution)(p.Attribution)),
	}
	if err := directOf(q); err != nil {
		return nil, err
	}
	if p.Currency != nil {
		if q.Currency, err = currency.Parse(*p.Currency); err != nil {
			return nil, err
		}
	}
	if err := u.Check(ctx, prog.ID, work.PartnerRef("partner_id", p.PartnerID)); err != nil {
		return nil, err
	}
	found, err := report.Cohorts(ctx, u, q)
	return api.RetrieveReportCohorts200JSONResponse{
		Object: "report_cohorts", Currency: q.Currency, From: day(q.From), To: day(q.To), Rows: toCohortRows(found),
	}, err
}

// toCohortRows returns a row for each month of each cohort.
func toCohortRows(cohorts []report.Cohort) []api.ReportCohortRow {
	out := []api.ReportCohortRow{}
	for _, c := range cohorts {
		for since, f := range c.Since {
			out = append(out, api.ReportCohortRow{
				Cohort: day(c.Month), Month: day(c.Month.AddDate(0, since, 0)), MonthsSince: int64(since),
				Customers: f.Customers, Sales: f.Sales, Refunded: f.Refunded, RevenueMinor: f.RevenueMinor,
				RetentionBps: report.Bps(f.Customers, c.Since[0].Customers),
			})
		}
	}
	return out
}
