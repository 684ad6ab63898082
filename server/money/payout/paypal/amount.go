package paypal

import (
	"fmt"
	"slices"
	"strings"

	"rail/server/locale/currency"
	"rail/server/money/payout"
)

// money is an amount as PayPal writes it, such as 12.34 USD or 1200 HUF.
type money struct {
	Currency string `json:"currency"`
	Value    string `json:"value"`
}

// currencies has the currencies of PayPal's documentation of payouts.
var currencies = strings.Fields(
	"AUD BRL CAD CHF CZK DKK EUR GBP HKD HUF ILS JPY MXN MYR NOK NZD PHP PLN SEK SGD THB TWD USD")

// whole are the currencies that PayPal pays in whole units, although ISO 4217 gives them decimals.
var whole = []string{"HUF", "TWD"}

// toPay returns the amount of a transfer, or a payout.Refusal that holds for every submission.
func toPay(t payout.Transfer) (money, error) {
	if !slices.Contains(currencies, t.Currency) {
		return money{}, payout.Refusal{
			Always:  true,
			Code:    "currency_not_supported",
			Message: fmt.Sprintf("PayPal does not pay %s: pay it another way and mark it as paid.", t.Currency),
		}
	}
	value := currency.Decimal(t.AmountMinor, t.Currency)
	if t.AmountMinor <= 0 {
		return money{}, payout.Refusal{Always: true, Code: "amount_not_payable", Message: "PayPal pays positive amounts only."}
	}
	if slices.Contains(whole, t.Currency) {
		units, part, _ := strings.Cut(value, ".")
		if strings.Trim(part, "0") != "" {
			return money{}, payout.Refusal{Always: true, Code: "amount_not_payable", Message: fmt.Sprintf(
				"PayPal pays %s in whole units, and %s is not one: pay it another way and mark it as paid.", t.Currency, value,
			)}
		}
		value = units
	}
	return money{Currency: t.Currency, Value: value}, nil
}

// equals reports whether the amount is the transfer's, with any number of decimals.
func (m money) equals(t payout.Transfer) bool {
	minor, ok := currency.Minor(m.Value, m.Currency)
	return ok && m.Currency == t.Currency && minor == t.AmountMinor
}

// fee returns the amount as a fee; nil if it is absent or cannot be read.
func (m *money) fee() *payout.Fee {
	if m == nil || !currency.Valid(m.Currency) {
		return nil
	}
	minor, ok := currency.Minor(m.Value, m.Currency)
	if !ok || minor < 0 {
		return nil
	}
	return &payout.Fee{AmountMinor: minor, Currency: m.Currency}
}
