package portal

import (
	"bytes"
	"net/http"
	"strings"

	"codeberg.org/go-pdf/fpdf"

	"rail/server/http/site"
	"rail/server/http/site/look"
	"rail/server/money/payout"
)

// printable reports whether a statement of the commissions can be a PDF in the partner's
// language; the page to print can always be had.
func (v *visit) printable(rows []earned) bool {
	texts := []string{v.Locale.T("Payout statement"), v.program.Name, payout.NameOf(v.partner)}
	for _, k := range rows {
		texts = append(texts, k.Customer, k.Rule, k.Via)
	}
	return look.Drawn(texts...)
}

// Measures of a statement in millimetres: DIN A4, upright.
const (
	margin    = 18.0
	lineHigh  = 5.5
	rowHigh   = 7.5 // of a row with one line
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
	pdf.AddUTF8FontFromBytes(typeface, "", look.Regular)
	pdf.AddUTF8FontFromBytes(typeface, "B", look.Bold)
	pdf.SetMargins(margin, margin, margin)
	pdf.SetAutoPageBreak(true, margin)
	pdf.SetTitle(v.Locale.T("Payout statement"), true)
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

// typeface names the pages' typeface in PDFs.
const typeface = "inter"

// The greys of a statement, from 0 to 255.
const (
	softText  = 96
	lineGrey  = 222
	tableGrey = 246
)

// drawFacts writes the head of a statement: a line in the program's colour, its name, the amount and the facts.
func (v *visit) drawFacts(pdf *fpdf.Fpdf, data payoutPage) {
	accent := site.Accent(v.accent)
	red, green, blue := int(accent.R), int(accent.G), int(accent.B)
	pdf.SetFillColor(red, green, blue)
	pdf.Rect(0, 0, pageWidth+2*margin, 4, "F")
	pdf.SetTextColor(red, green, blue)
	pdf.SetFont(typeface, "B", 12)
	pdf.MultiCell(pageWidth, 7, v.program.Name, "", "L", false)
	pdf.SetTextColor(0, 0, 0)
	pdf.Ln(3)
	pdf.SetFont(typeface, "B", 20)
	pdf.CellFormat(pageWidth/2, 10, v.Locale.T("Payout statement"), "", 0, "L", false, 0, "")
	pdf.CellFormat(pageWidth/2, 10, v.Locale.Money(data.AmountMinor, data.Currency), "", 1, "R", false, 0, "")
	pdf.Ln(3)
	for _, f := range v.facts(data) {
		pdf.SetFont(typeface, "", 9)
		pdf.SetTextColor(softText, softText, softText)
		pdf.CellFormat(45, lineHigh, f.Name, "", 0, "L", false, 0, "")
		pdf.SetTextColor(0, 0, 0)
		pdf.MultiCell(pageWidth-45, lineHigh, f.Text, "", "L", false)
	}
	pdf.Ln(6)
}

// drawRows writes the commissions of a statement.
func (v *visit) drawRows(pdf *fpdf.Fpdf, data payoutPage) {
	pdf.SetFillColor(tableGrey, tableGrey, tableGrey)
	pdf.Rect(margin, pdf.GetY(), pageWidth, rowHigh, "F")
	l := v.Locale
	pdf.SetFont(typeface, "B", 9)
	v.drawRow(pdf, l.T("Sale"), l.T("Customer"), l.T("Sale amount"), l.T("How it’s calculated"), l.T("You earn"))
	pdf.SetFont(typeface, "", 9)
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
	pdf.SetFont(typeface, "B", 9)
	v.drawRow(pdf, l.T("Amount"), "", "", "", l.Money(data.AmountMinor, data.Currency))
}

// drawRow writes a row, whose fourth text may take several lines.
func (v *visit) drawRow(pdf *fpdf.Fpdf, texts ...string) {
	lines := pdf.SplitText(texts[3], statementColumns[3]-2)
	high := lineHigh*float64(max(len(lines), 1)) + rowHigh - lineHigh
	if _, all := pdf.GetPageSize(); pdf.GetY()+high > all-margin {
		pdf.AddPage()
	}
	x, y := pdf.GetXY()
	top := y
	y += (rowHigh - lineHigh) / 2
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
	pdf.SetDrawColor(lineGrey, lineGrey, lineGrey)
	pdf.Line(margin, top+high, margin+pageWidth, top+high)
	pdf.SetXY(margin, top+high)
}
