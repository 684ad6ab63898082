// Package statementpdf draws a statement as a PDF: a head with facts, and a table. It also has the facts of a signed
// statement for the pages and PDFs of console, portal and API.
package statementpdf

import (
	"bytes"
	"fmt"
	"image/color"
	"strings"
	"unicode/utf16"

	"codeberg.org/go-pdf/fpdf"

	"rail/server/clock"
	"rail/server/http/site/branding"
	"rail/server/locale"
)

// Sheet is a page of facts and a table.
type Sheet struct {
	Locale *locale.Locale
	Made   clock.Time
	Accent color.RGBA
	From   string // the company or program that pays
	Title  string
	Sum    string
	Alert  string // above the facts, or ""
	Facts  []Fact
	Notes  []string // below the facts
	// Widths are the columns in millimetres, Measure together. The text of the column Long may take several lines.
	Widths []float64
	Long   int
	Head   []string
	Rows   [][]string
	Foot   []string
	End    string // a line below the table, or ""
}

// Fact is a line about a payout.
type Fact struct{ Name, Text string }

// Measures in millimetres: DIN A4, upright.
const (
	margin   = 18.0
	lineHigh = 5.5
	rowHigh  = 7.5 // of a row with one line
	nameWide = 45.0
	// Measure is the width of the text.
	Measure = 210 - 2*margin
)

// typeface names the pages' typeface in PDFs.
const typeface = "inter"

// The colours of a sheet, from 0 to 255: the red and the other parts of an alert's ground, and greys.
const (
	alertRed  = 255
	alertTint = 215
	softText  = 96
	lineGrey  = 222
	tableGrey = 246
)

// PDF returns the sheet as a file.
func (s Sheet) PDF() ([]byte, error) {
	pdf := fpdf.New("P", "mm", "A4", "")
	pdf.AddUTF8FontFromBytes(typeface, "", branding.Regular)
	pdf.AddUTF8FontFromBytes(typeface, "B", branding.Bold)
	pdf.SetMargins(margin, margin, margin)
	pdf.SetAutoPageBreak(true, margin)
	pdf.SetTitle(s.Title, true)
	pdf.SetLang(s.Locale.Language())
	pdf.SetCreationDate(s.Made.Time)
	pdf.SetModificationDate(s.Made.Time)
	pdf.AddPage()
	s.drawHead(pdf)
	s.drawRows(pdf)
	var out bytes.Buffer
	err := pdf.Output(&out)
	return out.Bytes(), err
}

// drawHead writes a line in the accent colour, the names, the sum and the facts.
func (s Sheet) drawHead(pdf *fpdf.Fpdf) {
	red, green, blue := int(s.Accent.R), int(s.Accent.G), int(s.Accent.B)
	pdf.SetFillColor(red, green, blue)
	pdf.Rect(0, 0, Measure+2*margin, 4, "F")
	pdf.SetTextColor(red, green, blue)
	pdf.SetFont(typeface, "B", 12)
	pdf.MultiCell(Measure, 7, legible(s.From), "", "L", false)
	pdf.SetTextColor(0, 0, 0)
	pdf.Ln(3)
	pdf.SetFont(typeface, "B", 20)
	pdf.CellFormat(Measure*2/3, 10, legible(s.Title), "", 0, "L", false, 0, "")
	pdf.CellFormat(Measure/3, 10, legible(s.Sum), "", 1, "R", false, 0, "")
	pdf.Ln(3)
	if s.Alert != "" {
		pdf.SetFillColor(alertRed, alertTint, alertTint)
		pdf.SetFont(typeface, "B", 11)
		pdf.MultiCell(Measure, 9, legible(s.Alert), "", "L", true)
		pdf.Ln(3)
	}
	for _, f := range s.Facts {
		pdf.SetFont(typeface, "", 9)
		pdf.SetTextColor(softText, softText, softText)
		pdf.CellFormat(nameWide, lineHigh, legible(f.Name), "", 0, "L", false, 0, "")
		pdf.SetTextColor(0, 0, 0)
		pdf.MultiCell(Measure-nameWide, lineHigh, legible(f.Text), "", "L", false)
	}
	for _, note := range s.Notes {
		pdf.Ln(2)
		pdf.MultiCell(Measure, lineHigh, legible(note), "", "L", false)
	}
	pdf.Ln(6)
}

// drawRows writes the table.
func (s Sheet) drawRows(pdf *fpdf.Fpdf) {
	pdf.SetFillColor(tableGrey, tableGrey, tableGrey)
	pdf.Rect(margin, pdf.GetY(), Measure, rowHigh, "F")
	pdf.SetFont(typeface, "B", 9)
	s.drawRow(pdf, s.Head)
	pdf.SetFont(typeface, "", 9)
	for _, row := range s.Rows {
		s.drawRow(pdf, row)
	}
	if s.End != "" {
		pdf.MultiCell(Measure, lineHigh, legible(s.End), "", "L", false)
	}
	pdf.SetFont(typeface, "B", 9)
	s.drawRow(pdf, s.Foot)
}

// drawRow writes a row.
func (s Sheet) drawRow(pdf *fpdf.Fpdf, texts []string) {
	lines := pdf.SplitText(legible(texts[s.Long]), s.Widths[s.Long]-2)
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
		case s.Long:
			pdf.MultiCell(s.Widths[i], lineHigh, legible(text), "", "L", false)
		case len(texts) - 1:
			pdf.CellFormat(s.Widths[i], lineHigh, legible(text), "", 0, "R", false, 0, "")
		default:
			pdf.CellFormat(s.Widths[i], lineHigh, legible(text), "", 0, "L", false, 0, "")
		}
		x += s.Widths[i]
	}
	pdf.SetDrawColor(lineGrey, lineGrey, lineGrey)
	pdf.Line(margin, top+high, margin+Measure, top+high)
	pdf.SetXY(margin, top+high)
}

// legible writes letters that the typeface lacks as JSON escapes them, so that they can be recovered.
func legible(text string) string {
	if branding.Drawn(strings.ReplaceAll(text, "\n", "")) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || branding.Drawn(string(r)):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
