package portal

import (
	"time"

	"rail/server/http/site"
	"rail/server/locale/currency"
	"rail/server/locale/plain"
	"rail/server/opt"
)

// tableRows is how many commissions a table has at most, the newest; dates ask for older ones.
const tableRows = 10_000

// commissionTable answers with the commissions that are meant as a table.
func commissionTable(v *visit) error {
	a, _ := v.commissionFilterOf()
	return v.table("commissions", a)
}

// table answers with commissions as a file that spreadsheets read.
func (v *visit) table(name string, a commissionFilter) error {
	found, err := v.commissionRows(a, tableRows)
	if err != nil {
		return err
	}
	l := v.Locale
	rows := [][]string{{
		l.T("Sale"), l.T("Customer"), l.T("Sale amount"), l.T("Currency"), l.T("How it’s calculated"), l.T("Referred by"),
		l.T("Status"), l.T("Reason"), l.T("Amount"), l.T("Currency"), l.T("Payout"),
	}}
	for _, k := range found {
		sold := ""
		if k.SaleMinor != nil {
			sold = currency.Decimal(*k.SaleMinor, k.SaleCurrency)
		}
		rows = append(rows, []string{
			k.At.DayIn(l.Zone()).Format(time.DateOnly), k.Customer, sold, k.SaleCurrency, plain.Cell(k.Rule), plain.Cell(k.Via),
			string(k.Status), plain.Cell(k.Reason), currency.Decimal(k.AmountMinor, k.Currency), k.Currency,
			opt.Value(k.PayoutID),
		})
	}
	return site.SendCSV(v, name, rows)
}
