// Package currency has the currencies of ISO 4217 and formats their amounts.
package currency

import (
	"strconv"
	"strings"

	"rail/server/problem"
)

// active lists the ISO 4217 codes in use, without XXX (no currency) and XTS (testing). BGN,
// withdrawn in 2026, remains so that its charges can be imported.
const active = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD " +
	"BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP " +
	"ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK " +
	"JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK " +
	"MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN " +
	"PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS " +
	"TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG " +
	"XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG"

var inUse = func() map[string]bool {
	codes := map[string]bool{}
	for code := range strings.FieldsSeq(active) {
		codes[code] = true
	}
	return codes
}()

// Valid reports whether code is an upper-case ISO 4217 code in use
// (decisions, 21).
func Valid(code string) bool { return inUse[code] }

// Normal returns s in upper case, and whether it is a code in use
// (decisions, 21).
func Normal(s string) (string, bool) {
	if len(s) != 3 {
		return s, false
	}
	s = strings.ToUpper(s)
	return s, Valid(s)
}

// Parse returns the code of the field currency in upper case, or a *problem.Error.
func Parse(text string) (string, error) {
	code, ok := Normal(text)
	if !ok {
		return "", problem.Invalid("currency", "currency must be an ISO 4217 code such as USD.")
	}
	return code, nil
}

// minorDigits holds the number of decimals of currencies that do not have two.
var minorDigits = map[string]int{
	"BIF": 0,
	"CLP": 0,
	"DJF": 0,
	"GNF": 0,
	"ISK": 0,
	"JPY": 0,
	"KMF": 0,
	"KRW": 0,
	"PYG": 0,
	"RWF": 0,
	"UGX": 0,
	"UYI": 0,
	"VND": 0,
	"VUV": 0,
	"XAF": 0,
	"XOF": 0,
	"XPF": 0,
	"BHD": 3,
	"IQD": 3,
	"JOD": 3,
	"KWD": 3,
	"LYD": 3,
	"OMR": 3,
	"TND": 3,
	"CLF": 4,
	"UYW": 4,
}

// Digits returns the number of decimals of a currency.
func Digits(currency string) int {
	if digits, ok := minorDigits[currency]; ok {
		return digits
	}
	return 2
}

// Decimal formats an amount in minor units as an exact decimal number in major units: 4999 USD is
// 49.99, 1000 JPY is 1000.
func Decimal(minor int64, currency string) string {
	digits := Digits(currency)
	sign, text := "", strconv.FormatInt(minor, 10)
	if minor < 0 {
		sign, text = "-", text[1:]
	}
	if digits == 0 {
		return sign + text
	}
	if missing := digits + 1 - len(text); missing > 0 {
		text = strings.Repeat("0", missing) + text
	}
	at := len(text) - digits
	return sign + text[:at] + "." + text[at:]
}

// maxDecimal bounds the length of an amount to parse.
const maxDecimal = 24

// Minor parses an amount in a currency's major unit and returns minor units: 49.99 USD is 4999. It
// accepts a decimal comma. It reports false for text that is not a number, has more decimals than
// the currency, or is too large.
func Minor(decimal, currency string) (int64, bool) {
	if len(decimal) > maxDecimal {
		return 0, false
	}
	whole, part, _ := strings.Cut(strings.Replace(decimal, ",", ".", 1), ".")
	digits := Digits(currency)
	if len(part) > digits || whole+part == "" || strings.ContainsAny(part, "+-") {
		return 0, false
	}
	minor, err := strconv.ParseInt(whole+part+strings.Repeat("0", digits-len(part)), 10, 64)
	if err != nil {
		return 0, false
	}
	return minor, true
}
