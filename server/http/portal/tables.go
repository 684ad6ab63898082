package portal

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/locale/currency"
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
	found, err := v.earned(a, tableRows)
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
			k.At.DayIn(l.Zone()).Format(time.DateOnly), k.Customer, sold, k.SaleCurrency, cell(k.Rule), cell(k.Via),
			string(k.Status), cell(k.Reason), currency.Decimal(k.AmountMinor, k.Currency), k.Currency, opt.Value(k.PayoutID),
		})
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.WriteAll(rows) // to a buffer
	return v.file(name+".csv", "text/csv; charset=utf-8", out.Bytes())
}

// file answers with something to keep.
func (v *visit) file(name, kind string, body []byte) error {
	v.Response().Header().Set(echo.HeaderContentDisposition, `attachment; filename="`+name+`"`)
	return v.Blob(http.StatusOK, kind, body)
}

// cell is a text of others in a table: a spreadsheet shows it, and takes it for no formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
