package portal

import (
	"bytes"
	"net/http"
	"strings"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"

	"rail/server/http/site"
	"rail/server/money/payout"
)

// letters are those of the statement's font: Latin, Greek and Cyrillic.
var letters = func() *sfnt.Font {
	f, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		panic(err) // it is part of the binary
	}
	return f
}()

// drawn reports whether the statement's font has every letter of the texts.
func drawn(texts ...string) bool {
	var b sfnt.Buffer
	for _, r := range strings.Join(texts, "") {
		if at, err := letters.GlyphIndex(&b, r); err != nil || at == 0 {
			return false
		}
	}
	return true
}

// printable reports whether a statement of the commissions can be a PDF in the partner's
// language; the page to print can always be had.
func (v *visit) printable(rows []earned) bool {
	texts := []string{v.Locale.T("Statement of a payout"), v.program.Name, payout.NameOf(v.partner)}
	for _, k := range rows {
		texts = append(texts, k.Customer, k.Rule, k.Via)
	}
	return drawn(texts...)
}

// Measures of a statement in millimetres: DIN A4, upright.
const (
	margin    = 18.0
	lineHigh  = 5.5
	pageWidth = 210 - 2*margin
)

// statementColumns are the widths of a statement's columns.
var statementColumns = []float64{26, 22, 30, 66, 30}

// statementFile answers with the statement of a payout as a PDF.
func statementFile(v *visit) error {
	data, err := v.payoutPage(site.Turn{}, statementRows)
	if err != nil {
		return err
	}
	if !data.Printable {
		return v.Redirect(http.StatusSeeOther, "/portal/payout/statement?id="+data.ID)
	}
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.AddUTF8FontFromBytes("go", "", goregular.TTF)
	pdf.AddUTF8FontFromBytes("go", "B", gobold.TTF)
	pdf.SetMargins(margin, margin, margin)
	pdf.SetAutoPageBreak(true, margin)
	pdf.SetTitle(v.Locale.T("Statement of a payout"), true)
	pdf.SetLang(v.Locale.Language())
	pdf.SetCreationDate(v.Now.Time)
	pdf.SetModificationDate(v.Now.Time)
	pdf.AddPage()
	v.drawFacts(pdf, data)
	v.drawRows(pdf, data)
	var out bytes.Buffer
	if err := pdf.Output(&out); err != nil {
		return err
	}
	return site.SendFile(v, "payout-"+data.PeriodMonth.Format("2006-01")+"-"+data.Currency+".pdf", "application/pdf", out.Bytes())
}

// fact is a line about a payout.
type fact struct{ Name, Text string }

// facts are the lines at the top of a statement.
func (v *visit) facts(data payoutPage) []fact {
	l := v.Locale
	when := fact{l.T("Due on"), l.Day(data.DueAt.Time)}
	if data.PaidAt != nil {
		when = fact{l.T("Paid on"), l.Day(data.PaidAt.Time)}
	}
	out := []fact{
		{l.T("From"), v.program.Name}, {l.T("To"), payout.NameOf(v.partner)},
		{l.T("Period ending"), l.Day(data.PeriodEnd.Time)},
		{l.T("Status"), l.T(site.Words(string(data.Status), vocabulary))}, when,
	}
	if data.Method != nil {
		out = append(out, fact{l.T("Method"), l.Said(methodLabel(*data.Method))})
	}
	if data.ExternalID != nil {
		out = append(out, fact{l.T("Reference"), *data.ExternalID})
	}
	return append(out, fact{l.T("Payout number"), data.ID})
}

// drawFacts writes the head of a statement.
func (v *visit) drawFacts(pdf *fpdf.Fpdf, data payoutPage) {
	pdf.SetFont("go", "B", 18)
	pdf.CellFormat(pageWidth, 10, v.Locale.T("Statement of a payout"), "", 1, "L", false, 0, "")
	pdf.SetFont("go", "B", 14)
	pdf.CellFormat(pageWidth, 9, v.Locale.Money(data.AmountMinor, data.Currency), "", 1, "L", false, 0, "")
	pdf.Ln(2)
	for _, f := range v.facts(data) {
		pdf.SetFont("go", "", 9)
		pdf.CellFormat(45, lineHigh, f.Name, "", 0, "L", false, 0, "")
		pdf.MultiCell(pageWidth-45, lineHigh, f.Text, "", "L", false)
	}
	pdf.Ln(5)
}

// drawRows writes the commissions of a statement.
func (v *visit) drawRows(pdf *fpdf.Fpdf, data payoutPage) {
	l := v.Locale
	pdf.SetFont("go", "B", 9)
	v.drawRow(pdf, l.T("Sale"), l.T("Customer"), l.T("Sale amount"), l.T("How it’s calculated"), l.T("You earn"))
	pdf.SetFont("go", "", 9)
	for _, k := range data.Rows {
		sold := "–"
		if k.SaleMinor != nil {
			sold = l.Money(*k.SaleMinor, k.SaleCurrency)
		}
		how := strings.Trim(k.Rule+" · "+k.Via, " ·")
		v.drawRow(pdf, l.Day(k.At.Time), k.Customer, sold, how, l.Money(k.AmountMinor, k.Currency))
	}
	if data.Rest > 0 {
		pdf.MultiCell(pageWidth, lineHigh, l.T("%d more are in the table (CSV).", data.Rest), "", "L", false)
	}
	pdf.SetFont("go", "B", 9)
	v.drawRow(pdf, l.T("Amount"), "", "", "", l.Money(data.AmountMinor, data.Currency))
}

// drawRow writes a row, whose fourth text may take several lines.
func (v *visit) drawRow(pdf *fpdf.Fpdf, texts ...string) {
	lines := pdf.SplitText(texts[3], statementColumns[3]-2)
	high := lineHigh * float64(max(len(lines), 1))
	if _, all := pdf.GetPageSize(); pdf.GetY()+high > all-margin {
		pdf.AddPage()
	}
	x, y := pdf.GetXY()
	for i, text := range texts {
		pdf.SetXY(x, y)
		switch i {
		case 3:
			pdf.MultiCell(statementColumns[i], lineHigh, text, "", "L", false)
		case len(texts) - 1:
			pdf.CellFormat(statementColumns[i], lineHigh, text, "", 0, "R", false, 0, "")
		default:
			pdf.CellFormat(statementColumns[i], lineHigh, text, "", 0, "L", false, 0, "")
		}
		x += statementColumns[i]
	}
	pdf.SetDrawColor(200, 200, 200)
	pdf.Line(margin, y+high, margin+pageWidth, y+high)
	pdf.SetXY(margin, y+high)
}
