package rules

import "strings"

// active is the list of ISO 4217 codes in use, without XXX (no currency) and
// XTS (testing). BGN, withdrawn in 2026, stays so that its charges can still be
// imported.
const active = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD " +
	"BTN BWP BYN BZD CAD CDF CHE CHF CHW CLF CLP CNY COP COU CRC CUP CVE CZK DJF DKK DOP DZD EGP " +
	"ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK " +
	"JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK " +
	"MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN " +
	"PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS " +
	"TMT TND TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAD XAF XAG " +
	"XAU XBA XBB XBC XBD XCD XCG XDR XOF XPD XPF XPT XSU XUA YER ZAR ZMW ZWG"

var currencies = set(strings.Fields(active))

func set(values []string) map[string]bool {
	m := make(map[string]bool, len(values))
	for _, v := range values {
		m[v] = true
	}
	return m
}

// ValidCurrency tells whether code is an upper-case ISO 4217 code in use
// (decisions, 21).
func ValidCurrency(code string) bool { return currencies[code] }

// NormalCurrency returns s in upper case, and whether it is a code in use
// (decisions, 21).
func NormalCurrency(s string) (string, bool) {
	if len(s) != 3 {
		return s, false
	}
	s = strings.ToUpper(s)
	return s, ValidCurrency(s)
}
