package console

import (
	"net/http"
	"net/url"
	"strconv"

	"rail/gen/api"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/http/site/statementpdf"
	"rail/server/money/statement"
	"rail/server/opt"
)

var statementRoutes = map[string]route{
	"GET /console/p/{program}/payouts/totals":               {Do: yearTotals},
	"GET /console/p/{program}/payouts/totals.csv":           {Do: yearTable},
	"GET /console/p/{program}/payouts/statements/{id}":      {Do: statementPage},
	"GET /console/p/{program}/payouts/statements/{id}/pdf":  {Do: statementPDF},
	"GET /console/p/{program}/payouts/statements/{id}/json": {Do: statementJSON},
}

// shownLines bounds the lines of a statement on its page.
const shownLines = 1000

// statementPage shows the statement of a payout as a page to print.
func statementPage(v *visit) error {
	number := v.QueryParam("number")
	found, d, err := v.statement(number)
	if err != nil {
		return err
	}
	lines, undone, earlier, query := found.Lines, "", "", ""
	if number != "" {
		query = "?number=" + url.QueryEscape(number)
	}
	if found.Undone {
		undone = statementpdf.Undone(v.Locale, opt.Value(found.CorrectedBy))
	}
	if d.Corrects != nil {
		if _, _, err := v.statement(*d.Corrects); err == nil { // it may be about another payout
			earlier = "/payouts/statements/" + d.Payout.ID + "?number=" + url.QueryEscape(*d.Corrects)
		}
	}
	return v.show(sheet{"statement", "/payouts", "Statement " + d.Number, struct {
		statement.Document
		// Query is that of the files, Undone a sentence, Earlier the page of the replaced statement; "" for none.
		Query, Undone, Earlier string

		Title string
		Facts []statementpdf.Fact
		Notes []string
		KeyID string
		Lines []api.StatementLine
		Rest  int64
	}{
		d, query, undone, earlier,
		statementpdf.Title(v.Locale, d), statementpdf.Facts(v.Locale, d), statementpdf.Notes(v.Locale, d), found.KeyID,
		lines[:min(len(lines), shownLines)], d.LinesCount - int64(min(len(lines), shownLines)),
	}})
}

// statement reads the statement of the payout in the address; number is "" for the last one.
func (v *visit) statement(number string) (*api.PayoutStatement, statement.Document, error) {
	reply, err := v.console.api.RetrievePayoutStatementWithResponse(
		v.Ctx(), v.PathValue("id"), &api.RetrievePayoutStatementParams{ProgramID: &v.program.ID, Number: opt.OrNil(number)})
	if err != nil {
		return nil, statement.Document{}, err
	}
	d, err := statement.Read(reply.JSON200.Statement)
	return reply.JSON200, d, err
}

// statementPDF answers with the statement as a PDF.
func statementPDF(v *visit) error {
	return v.file("retrievePayoutStatement", "statement-"+v.PathValue("id")+".pdf", v.numbered(url.Values{"format": {"pdf"}}))
}

// statementJSON answers with the signed statement.
func statementJSON(v *visit) error {
	return v.file("retrievePayoutStatement", "statement-"+v.PathValue("id")+".json", v.numbered(url.Values{}))
}

// numbered adds the number of a statement in the address to a query.
func (v *visit) numbered(query url.Values) url.Values {
	if number := v.QueryParam("number"); number != "" {
		query.Set("number", number)
	}
	return query
}

// file answers with the result of an operation that reads the object in the address, as a file.
func (v *visit) file(operation, name string, query url.Values) error {
	query.Set("program_id", v.program.ID)
	r, err := v.get(operation, query, v.PathValue("id"))
	if err != nil {
		return err
	}
	res, err := v.console.localAPI.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // a buffer
	v.Response().Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return v.Stream(http.StatusOK, res.Header.Get("Content-Type"), res.Body)
}

// totalRows is how many rows a page of yearly totals has.
const totalRows = 50

// totalRow is the sum of a partner by one method in one currency.
type totalRow struct{ api.PayoutTotal }

// Way is the method in words.
func (r totalRow) Way() string { return method(r.Method) }

// year is the year in the address; the default is the current one.
func (v *visit) year() int {
	now := v.Today().Year()
	n, err := strconv.Atoi(v.QueryParam("year"))
	if err != nil || n < 2000 || n > now {
		return now
	}
	return n
}

// years link to the years since the program's beginning, the latest first.
func (v *visit) years() site.Tabs {
	first := v.program.CreatedAt.DayIn(clock.StoredZone(v.program.TimeZone)).Year()
	tabs := site.Tabs{Label: "Years"}
	for year := v.Today().Year(); year >= min(first, v.year()) && len(tabs.Links) < 10; year-- {
		tabs.Links = append(tabs.Links, site.Link{
			Path: v.at("/payouts/totals?year=" + strconv.Itoa(year)), Name: strconv.Itoa(year), Current: year == v.year(),
		})
	}
	return tabs
}

// yearTotals shows the payouts of a year by partner, method and currency.
func yearTotals(v *visit) error {
	year := v.year()
	skip, err := strconv.Atoi(v.QueryParam("skip"))
	if err != nil || skip < 0 || skip > 1_000_000 {
		skip = 0
	}
	reply, err := v.console.api.ListPayoutTotalsWithResponse(v.Ctx(), &api.ListPayoutTotalsParams{
		ProgramID: v.program.ID, Year: new(int64(year)), Limit: new(int64(totalRows)), Offset: new(int64(skip)),
	})
	if err != nil {
		return err
	}
	page := func(skip int) string {
		return v.at("/payouts/totals?year=" + strconv.Itoa(year) + "&skip=" + strconv.Itoa(max(skip, 0)))
	}
	rows := make([]totalRow, len(reply.JSON200.Data))
	for i, t := range reply.JSON200.Data {
		rows[i] = totalRow{t}
	}
	list := site.Listing{Rows: rows, Total: reply.JSON200.TotalCount}
	if skip > 0 {
		list.Newer = page(skip - totalRows)
	}
	if reply.JSON200.HasMore {
		list.Older = page(skip + totalRows)
	}
	return v.show(sheet{"payout-totals", "/payouts", "Yearly totals", struct {
		Tabs, Years site.Tabs
		Year        int
		Sums        []api.PayoutBatchTotal
		List        site.Listing
		Sheet       string
	}{
		v.payoutTabs("/payouts/totals"), v.years(), year, reply.JSON200.Totals, list,
		v.at("/payouts/totals.csv?year=" + strconv.Itoa(year)),
	}})
}

// yearTable answers with the totals of a year as a table.
func yearTable(v *visit) error {
	year := strconv.Itoa(v.year())
	return v.fileOf("listPayoutTotals", "payout-totals-"+year, url.Values{"program_id": {v.program.ID}, "year": {year}},
		[]field{
			plainField("Partner", "partner_name"),
			plainField("Email", "partner_email"),
			{"Country", fileRow.country},
			wordField("Method", "method"),
			amountField("Paid", "paid_minor"),
			currencyField,
			plainField("Payouts", "payouts"),
			plainField("Year", "year"),
			plainField("Partner ID", "partner_id"),
		})
}
