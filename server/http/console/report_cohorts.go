package console

import (
	"net/url"
	"slices"
	"strconv"

	"rail/gen/api"
	"rail/server/http/site"
	"rail/server/locale/currency"
)

const cohortsPath = "/reports/cohorts"

// cohortMonths are the options for the number of months; the first is the default.
var cohortMonths = []string{"12", "6", "24"}

// cohortPage holds the data of the page of cohorts.
type cohortPage struct {
	Filters            site.Filters
	Customers, Revenue cohortSheet
	Currency           string
	Table, Reports     string // addresses
}

// cohortSheet is a table of cohorts with a column for each number of months since the first sale.
type cohortSheet struct {
	Caption string
	Since   []int
	Rows    []cohortRow
}

// cohortRow is a month of first sales with a cell for each month since then.
type cohortRow struct {
	Month string
	Size  string // its customers
	Cells []string
}

// cohortsOf shows the customers by the month of their first sale: how many pay again, and how much.
func cohortsOf(v *visit) error {
	query := v.cohortsQuery()
	found, err := v.cohorts(query)
	if err != nil {
		return err
	}
	page := cohortPage{
		Currency: found.Currency, Reports: v.at(reportsPath), Table: v.at("/reports/cohorts.csv?" + query.Encode()),
		Filters: site.Filters{Path: v.at(cohortsPath), Label: "Cohorts", Inputs: []site.Input{
			choice("months", "Months", query, monthOptions()), choice("attribution", "Revenue", query, attributions),
		}},
	}
	v.fillCohorts(&page, found)
	return v.show(sheet{"cohorts", reportsPath, "Cohorts", page})
}

// cohorts returns the cohorts for the parameters of the page.
func (v *visit) cohorts(query url.Values) (*api.ReportCohorts, error) {
	months, err := strconv.Atoi(query.Get("months"))
	if err != nil {
		return nil, err
	}
	attribution := api.ReportAttribution(query.Get("attribution"))
	reply, err := v.console.api.RetrieveReportCohortsWithResponse(v.Ctx(), &api.RetrieveReportCohortsParams{
		ProgramID: v.program.ID, Months: new(api.ReportMonths(months)), Attribution: &attribution,
	})
	if err != nil {
		return nil, err
	}
	return reply.JSON200, nil
}

// cohortsQuery returns the parameters of the page. A value that is not an option counts as the default.
func (v *visit) cohortsQuery() url.Values {
	query := url.Values{"months": {v.QueryParam("months")}, "attribution": {v.QueryParam("attribution")}}
	if !slices.Contains(cohortMonths, query.Get("months")) {
		query.Set("months", cohortMonths[0])
	}
	if _, ok := revenueNames[query.Get("attribution")]; !ok {
		query.Set("attribution", string(api.ReportAttributionPartners))
	}
	return query
}

// choice is a list of options with the chosen one.
func choice(name, label string, query url.Values, options []site.Option) site.Input {
	return site.Input{Name: name, ID: name, Label: label, Type: "select", Value: query.Get(name), Options: options}
}

// monthOptions are the options for the number of months.
func monthOptions() (out []site.Option) {
	for _, n := range cohortMonths {
		out = append(out, site.Option{Value: n, Label: n + " months"})
	}
	return out
}

// fillCohorts arranges the rows as two tables.
func (v *visit) fillCohorts(page *cohortPage, found *api.ReportCohorts) {
	page.Customers.Caption = "Customers who paid again, by month of their first sale"
	page.Revenue.Caption = "Revenue net of refunds, by month of the first sale"
	for _, r := range found.Rows {
		retained, revenue := share(orAbsent(r.RetentionBps)), v.Locale.Money(r.RevenueMinor, found.Currency)
		row := cohortRow{Month: v.Locale.Month(r.Cohort.Time), Size: v.Locale.Count(r.Customers)}
		page.Customers.add(int(r.MonthsSince), row, retained)
		page.Revenue.add(int(r.MonthsSince), row, revenue)
	}
}

// add appends a cell to the last row, or to a new one in the first month.
func (c *cohortSheet) add(since int, row cohortRow, cell string) {
	if since == 0 {
		c.Rows = append(c.Rows, row)
	}
	if since == len(c.Since) {
		c.Since = append(c.Since, since)
	}
	last := &c.Rows[len(c.Rows)-1]
	last.Cells = append(last.Cells, cell)
}

// cohortTable sends the cohorts as a file, with amounts in the currency's unit and shares in percent.
func cohortTable(v *visit) error {
	found, err := v.cohorts(v.cohortsQuery())
	if err != nil {
		return err
	}
	rows := [][]string{{
		"Month of first sale", "Month", "Months since", "Customers", "Customers who paid again", "Sales",
		"Sales refunded in full", "Revenue (" + found.Currency + ")",
	}}
	for _, r := range found.Rows {
		rows = append(rows, []string{
			r.Cohort.Format("2006-01"),
			r.Month.Format("2006-01"),
			text(r.MonthsSince),
			text(r.Customers),
			share(orAbsent(r.RetentionBps)),
			text(r.Sales),
			text(r.Refunded),
			currency.Decimal(r.RevenueMinor, found.Currency),
		})
	}
	return site.SendCSV(v, "cohorts", rows)
}
