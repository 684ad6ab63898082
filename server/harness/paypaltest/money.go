package paypaltest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Money is an amount as PayPal writes it, such as 12.34 USD or 1200 JPY.
type Money struct {
	Currency string `json:"currency"`
	Value    string `json:"value"`
}

var forms = map[int]*regexp.Regexp{
	0: regexp.MustCompile(`^(0|[1-9][0-9]{0,11})$`),
	2: regexp.MustCompile(`^(0|[1-9][0-9]{0,11})\.[0-9]{2}$`),
}

// minor returns a positive amount in the smallest unit that PayPal knows of the currency.
func (m Money) minor() (int64, bool) {
	places, ok := decimals[m.Currency]
	if !ok || !forms[places].MatchString(m.Value) {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.Replace(m.Value, ".", "", 1), 10, 64)
	return n, err == nil && n > 0
}

// money returns an amount in the smallest unit as PayPal writes it.
func money(currency string, minor int64) Money {
	if decimals[currency] == 0 {
		return Money{currency, strconv.FormatInt(minor, 10)}
	}
	return Money{currency, fmt.Sprintf("%d.%02d", minor/100, minor%100)}
}

// feeOf returns 2 % of an amount, rounded up.
func feeOf(minor int64) int64 { return (minor + 49) / 50 }
