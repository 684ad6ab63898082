package statementpdf

import (
	"cmp"
	"image/color"
	"strings"

	"rail/server/clock"
	"rail/server/http/site/branding"
	"rail/server/locale"
	"rail/server/money/statement"
)

// methods are the names of payout methods.
var methods = map[string]string{
	"paypal": "PayPal", "wise": "Wise", "bank_transfer": "Bank transfer", "wire": "Wire transfer", "crypto": "Crypto",
}

// Facts are the lines at the top of a signed statement.
func Facts(l *locale.Locale, d statement.Document) []Fact {
	in := l.In(clock.StoredZone(d.Program.TimeZone))
	day := func(t clock.Time) string { return in.Day(t.Time) }
	out := []Fact{
		{l.T("Statement number"), d.Number},
		{l.T("Issued on"), day(d.IssuedAt)},
		{l.T("From"), party(d.Seller.Name, "", d.Seller.Address, d.Seller.TaxIDs)},
	}
	if d.Program.Name != d.Seller.Name {
		out = append(out, Fact{l.T("Program"), d.Program.Name})
	}
	country := ""
	if d.Partner.CountryCode != nil {
		country = l.Country(*d.Partner.CountryCode)
	}
	out = append(out,
		Fact{l.T("To"), party(d.Partner.Name, country, d.Partner.Address, d.Partner.TaxIDs)},
		Fact{l.T("Period ending"), day(d.Payout.PeriodEnd)},
		Fact{l.T("Paid on"), day(d.Payout.PaidAt)},
	)
	if d.Payout.Method != nil {
		out = append(out, Fact{l.T("Method"), l.Said(cmp.Or(methods[*d.Payout.Method], *d.Payout.Method))})
	}
	if d.Payout.ExternalID != nil {
		out = append(out, Fact{l.T("Reference"), *d.Payout.ExternalID})
	}
	out = append(out, Fact{l.T("Payout number"), d.Payout.ID})
	if d.Corrects != nil {
		out = append(out, Fact{l.T("Replaces"), *d.Corrects})
	}
	return out
}

// party describes a company or a person in one line each.
func party(name, country string, address *string, taxIDs []string) string {
	lines := []string{name}
	if address != nil {
		lines = append(lines, *address)
	}
	if country != "" {
		lines = append(lines, country)
	}
	return strings.Join(append(lines, taxIDs...), "\n")
}

// Title is the heading of a signed statement: that of a self-billing invoice if it is one.
func Title(l *locale.Locale, d statement.Document) string {
	if d.SelfBilling != nil {
		return d.SelfBilling.Words
	}
	return l.T("Payout statement")
}

// Notes are the lines about VAT.
func Notes(l *locale.Locale, d statement.Document) (out []string) {
	if d.SelfBilling == nil {
		return nil
	}
	for _, vat := range d.SelfBilling.VAT {
		out = append(out, l.T("%s. Net amount %s, VAT %s (%s).", vat.Words,
			l.Money(vat.NetMinor, d.Payout.Currency), l.Money(vat.TaxMinor, d.Payout.Currency), l.Percent(vat.RateBPS)))
	}
	return out
}

// Undone reports that the payment of a statement was undone, and which statement corrects it, or "".
func Undone(l *locale.Locale, correctedBy string) string {
	if correctedBy != "" {
		return l.T("This payment was undone. Statement %s corrects this one.", correctedBy)
	}
	return l.T("This payment was undone. This statement is no longer valid.")
}

// Void marks the sheet of a statement whose payment was undone.
func (s *Sheet) Void(correctedBy string) { s.Alert, s.End = Undone(s.Locale, correctedBy), "" }

// Of is the sheet of a signed statement with the ids of its sales. A language that the typeface cannot draw is
// replaced by English.
func Of(l *locale.Locale, d statement.Document, lines []statement.Line, accent color.RGBA) Sheet {
	if !branding.Drawn(l.T("Payout statement")) {
		l = locale.English
	}
	in := l.In(clock.StoredZone(d.Program.TimeZone))
	s := Sheet{
		Locale: l,
		Made:   d.IssuedAt,
		Accent: accent,
		From:   d.Seller.Name,
		Title:  Title(l, d),
		Sum:    l.Money(d.Payout.AmountMinor, d.Payout.Currency),
		Facts:  Facts(l, d),
		Notes:  Notes(l, d),
		Widths: []float64{30, 106, 38},
		Long:   1,
		Head:   []string{l.T("Date"), l.T("Sale"), l.T("Amount")},
		Foot:   []string{l.T("Amount"), "", l.Money(d.Payout.AmountMinor, d.Payout.Currency)},
	}
	for _, line := range lines {
		sale := line.CommissionID
		if line.SaleID != nil {
			sale = *line.SaleID
		}
		s.Rows = append(s.Rows, []string{
			in.Day(line.OccurredAt.Time), sale, l.Money(line.AmountMinor, line.Currency),
		})
	}
	if lines == nil {
		s.End = l.T("%d more are in the table (CSV).", d.LinesCount)
	}
	return s
}
