package portal

import (
	"errors"
	"net/http"
	"strings"

	"rail/server/http/site"
	"rail/server/http/site/branding"
	"rail/server/http/site/statementpdf"
	"rail/server/money/payout"
	"rail/server/problem"
)

// printable reports whether a statement of the commissions can be a PDF in the partner's
// language; the page to print can always be had.
func (v *visit) printable(rows []commissionRow) bool {
	texts := []string{v.Locale.T("Payout statement"), v.program.Name, payout.NameOf(v.partner)}
	for _, k := range rows {
		texts = append(texts, k.Customer, k.Rule, k.Via)
	}
	return branding.Drawn(texts...)
}

// statementFile answers with the statement of a payout as a PDF.
func statementFile(v *visit) error {
	data, err := v.payoutPage(site.Turn{}, statementRows)
	if err != nil {
		return err
	}
	if !data.Printable {
		return v.Redirect(http.StatusSeeOther, "/portal/payout/statement?id="+data.ID)
	}
	file, err := v.sheet(data).PDF()
	if err != nil {
		return err
	}
	name := "payout-" + data.PeriodMonth.Format("2006-01") + "-" + data.Currency + ".pdf"
	return site.SendFile(v, name, "application/pdf", file)
}

// sheet is the statement of a payout as a PDF shows it.
func (v *visit) sheet(data payoutPage) statementpdf.Sheet {
	l := v.Locale
	s := statementpdf.Sheet{
		Locale: l,
		Made:   v.Now,
		Accent: site.Accent(v.accent),
		From:   v.program.Name,
		Title:  data.Title,
		Sum:    l.Money(data.AmountMinor, data.Currency),
		Facts:  data.Facts,
		Notes:  data.Notes,
		Widths: []float64{26, 22, 30, 66, 30},
		Long:   3,
		Head:   []string{l.T("Sale"), l.T("Customer"), l.T("Sale amount"), l.T("How it’s calculated"), l.T("You earn")},
		Foot:   []string{l.T("Amount"), "", "", "", l.Money(data.AmountMinor, data.Currency)},
	}
	for _, k := range data.Rows {
		sold := "–"
		if k.SaleMinor != nil {
			sold = l.Money(*k.SaleMinor, k.SaleCurrency)
		}
		how := strings.Trim(k.Rule+" · "+k.Via, " ·")
		s.Rows = append(s.Rows, []string{l.Day(k.At.Time), k.Customer, sold, how, l.Money(k.AmountMinor, k.Currency)})
	}
	if data.Rest > 0 {
		s.End = l.T("%d more are in the table (CSV).", data.Rest)
	}
	return s
}

// issued adds the signed statement of a paid payout to its page.
func (v *visit) issued(data *payoutPage) error {
	data.Title, data.Facts = v.Locale.T("Payout statement"), v.facts(*data)
	if data.PaidAt == nil {
		return nil
	}
	found, err := payout.Statement(v.Ctx(), v.unit(), data.ID, "")
	if p, ok := errors.AsType[*problem.Error](err); ok && p.Code == problem.PayoutNotPaid {
		return nil // rows that no payment has made, such as those of an import
	}
	if err != nil {
		return err
	}
	data.Number, data.Title = found.Number, statementpdf.Title(v.Locale, found.Document)
	data.Notes = statementpdf.Notes(v.Locale, found.Document)
	data.Facts = statementpdf.Facts(v.Locale, found.Document)
	return nil
}

// statementJSON answers with the signed statement of a payout, for programs that verify it.
func statementJSON(v *visit) error {
	data, err := v.payoutPage(site.Turn{}, 0)
	if err != nil {
		return err
	}
	found, err := payout.Statement(v.Ctx(), v.unit(), data.ID, "")
	if err != nil {
		return err
	}
	file, err := found.Signed()
	if err != nil {
		return err
	}
	return site.SendFile(v, found.Number+".json", "application/json", file)
}

// facts are the lines at the top of a statement that is not signed.
func (v *visit) facts(data payoutPage) (out []statementpdf.Fact) {
	l := v.Locale
	add := func(name, text string) { out = append(out, statementpdf.Fact{Name: name, Text: text}) }
	add(l.T("From"), v.program.Name)
	add(l.T("To"), payout.NameOf(v.partner))
	add(l.T("Period ending"), l.Day(data.PeriodEnd.Time))
	add(l.T("Status"), l.T(site.Words(string(data.Status), vocabulary)))
	if data.PaidAt != nil {
		add(l.T("Paid on"), l.Day(data.PaidAt.Time))
	} else {
		add(l.T("Due on"), l.Day(data.DueAt.Time))
	}
	if data.Method != nil {
		add(l.T("Method"), l.Said(methodLabel(*data.Method)))
	}
	if data.ExternalID != nil {
		add(l.T("Reference"), *data.ExternalID)
	}
	add(l.T("Payout number"), data.ID)
	return out
}
