package portal

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"rail/gen/db"
	"rail/server/http/design"
	"rail/server/locale"
	"rail/server/money/report"
	"rail/server/page"
	"rail/server/program/partner"
)

const (
	// currencies bounds the balances on the overview, one of each currency.
	currencies = 100
	// recentCommissions is how many of the last commissions the overview shows.
	recentCommissions = 5
)

// home is what the overview shows.
type home struct {
	Stats       db.PartnerStatsRow
	Balances    []db.BalancePageRow
	WasPaid     bool
	Commissions []db.Commission
	Earned      int64 // how many commissions there are
	Link        string
	Chart       design.Chart
	Currency    string
	Steps       []section // what is left of the onboarding
}

// overview is the page that a partner signs in to.
func overview(v *visit) error {
	ctx, u := v.ctx(), v.unit()
	h := home{Currency: v.program.Currency, Steps: v.steps()}
	var err error
	if h.Stats, err = v.counters(); err != nil {
		return err
	}
	if h.Link, err = v.ownLink(); err != nil {
		return err
	}
	all := page.In(v.program.ID, new(int64(currencies)), nil, nil)
	balances, err := page.Of(ctx, u, all, db.BalanceList{PartnerID: &v.partner.ID})
	if err != nil {
		return err
	}
	h.Balances = balances.Rows
	h.WasPaid = slices.ContainsFunc(h.Balances, func(b db.BalancePageRow) bool { return b.PaidMinor > 0 })
	slices.SortStableFunc(h.Balances, func(a, b db.BalancePageRow) int { // the program's own currency comes first
		return cmp.Compare(own(b, h.Currency), own(a, h.Currency))
	})
	newest := page.In(v.program.ID, new(int64(recentCommissions)), nil, nil)
	latest, err := page.Of(ctx, u, newest, db.CommissionList{PartnerID: &v.partner.ID})
	if err != nil {
		return err
	}
	h.Commissions, h.Earned = latest.Rows, latest.Total
	if h.Chart, err = v.year(); err != nil {
		return err
	}
	return v.show(http.StatusOK, "overview", "/portal", "Overview", h)
}

// own ranks a balance: 1 for the program's own currency, 0 for another.
func own(b db.BalancePageRow, currency string) int {
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
	// No row: the partner was deleted since the session was read.
	if err != nil || len(rows) == 0 {
		return db.PartnerStatsRow{}, err
	}
	return rows[0], nil
}

// steps are what a new partner has still to do.
// They end with the onboarding for good, even if a name is taken away later.
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
// It begins on the first of a month in UTC, so that every bar but the last is whole.
func (v *visit) year() (design.Chart, error) {
	now := v.now.UTC()
	answers, err := report.Read(v.ctx(), v.unit(), report.Query{
		OrgID: v.partner.OrgID, ProgramID: v.program.ID, PartnerID: &v.partner.ID, By: report.Period, Bucket: "month",
		From:     time.Date(now.Year(), now.Month()-11, 1, 0, 0, 0, 0, time.UTC),
		To:       time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC),
		Currency: v.program.Currency, ProgramCurrency: v.program.Currency,
	})
	if err != nil {
		return design.Chart{}, err
	}
	return design.BarChart(months(v.locale, answers[0].Rows, v.program.Currency)), nil
}

// months are the figures of a report by month; the chart draws the commissions.
func months(l *locale.Locale, rows []report.Row, currency string) design.Figures {
	f := design.Figures{
		Caption: l.T("Commissions, customers and clicks by month"), Head: l.T("Month"),
		Columns: []design.Column{
			{Name: l.T("Commissions"), Text: func(v int64) string { return l.Money(v, currency) }, Drawn: true},
			{Name: l.T("Customers"), Text: l.Count}, {Name: l.T("Clicks"), Text: l.Count},
		},
	}
	for _, r := range rows {
		row := design.Row{Name: r.Key, Values: []int64{r.CommissionsMinor, r.Customers, r.Clicks}}
		if day, err := time.Parse(time.DateOnly, r.Key); err == nil {
			row.Name, row.Short = l.Month(day), l.ShortMonth(day)
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}
