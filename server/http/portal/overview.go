package portal

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	gen "rail/gen/api"
	"rail/gen/db"
	"rail/server/program/partner"
)

// home is what the overview shows.
type home struct {
	Stats       db.PartnerStatsRow
	Balances    []gen.Balance
	WasPaid     bool
	Commissions []gen.Commission
	Earned      int64 // how many commissions there are
	Link        string
	Chart       chart
	Currency    string
	Steps       []section // what is left of the onboarding
}

func overview(v *visit) error {
	ctx := v.reading()
	h := home{Currency: v.program.Currency, Steps: v.steps()}
	var err error
	if h.Stats, err = v.counters(); err != nil {
		return err
	}
	if h.Link, err = v.ownLink(); err != nil {
		return err
	}
	balances, err := v.portal.Server.ListBalances(ctx, gen.ListBalancesRequestObject{Params: gen.ListBalancesParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(100)),
	}})
	if err != nil {
		return err
	}
	h.Balances = balances.(gen.ListBalances200JSONResponse).Data
	h.WasPaid = slices.ContainsFunc(h.Balances, func(b gen.Balance) bool { return b.PaidMinor > 0 })
	slices.SortStableFunc(h.Balances, func(a, b gen.Balance) int { // the program's own currency comes first
		return cmp.Compare(own(b, h.Currency), own(a, h.Currency))
	})
	latest, err := v.portal.Server.ListCommissions(ctx, gen.ListCommissionsRequestObject{Params: gen.ListCommissionsParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Limit: new(int64(5)),
	}})
	if err != nil {
		return err
	}
	found := latest.(gen.ListCommissions200JSONResponse)
	h.Commissions, h.Earned = found.Data, found.TotalCount
	if h.Chart, err = v.year(ctx); err != nil {
		return err
	}
	return v.show(http.StatusOK, "overview", "/portal", "Overview", h)
}

func own(b gen.Balance, currency string) int {
	if b.Currency == currency {
		return 1
	}
	return 0
}

// counters are what a partner has brought so far.
func (v *visit) counters() (db.PartnerStatsRow, error) {
	rows, err := queries.PartnerStats(v.ctx(), v.portal.Pool, db.PartnerStatsParams{
		Ids: []string{v.partner.ID}, OrgID: v.partner.OrgID,
	})
	if err != nil || len(rows) == 0 {
		return db.PartnerStatsRow{}, err
	}
	return rows[0], nil
}

// steps are what a new partner has still to do.
func (v *visit) steps() (out []section) {
	p := v.partner
	if p.CompletedOnboarding {
		return nil
	}
	if !partner.Named(p) {
		out = append(out, section{"/portal/settings#profile", "Save your name"})
	}
	if p.PayoutMethod == nil {
		out = append(out, section{"/portal/settings#payout", "Say how you want to be paid"})
	}
	return out
}

// year is the chart of the last twelve months.
func (v *visit) year(ctx context.Context) (chart, error) {
	now := v.now.UTC()
	from := time.Date(now.Year(), now.Month()-11, 1, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	by, months, none := gen.ReportDimensionPeriod, gen.ReportGranularityMonth, gen.ReportCompareNone
	found, err := v.portal.Server.RetrieveReport(ctx, gen.RetrieveReportRequestObject{Params: gen.RetrieveReportParams{
		ProgramID: v.program.ID, PartnerID: &v.partner.ID, Dimension: &by, Granularity: &months, Compare: &none, From: &from,
	}})
	if err != nil {
		return chart{}, err
	}
	return newChart(found.(gen.RetrieveReport200JSONResponse).Rows, v.program.Currency), nil
}
