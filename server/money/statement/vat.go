package statement

import (
	"math/big"
	"regexp"
	"strings"

	"rail/server/opt"
)

// SelfBilling has the words and the VAT lines of a self-billing invoice. VAT is empty where Rail cannot decide on it.
type SelfBilling struct {
	Words string `json:"words"`
	VAT   []VAT  `json:"vat"`
}

// VAT is a line about VAT: the treatment, its words on the invoice, and the amounts in minor units.
type VAT struct {
	Treatment string `json:"treatment"`
	Words     string `json:"words"`
	RateBPS   int64  `json:"rate_bps"`
	NetMinor  int64  `json:"net_minor"`
	TaxMinor  int64  `json:"tax_minor"`
}

// The treatments. ReverseCharge is of a service to a business in another country of the EU, which owes the VAT itself.
// Standard is of a service at home: the payout includes the VAT of the program's rate.
const (
	ReverseCharge = "reverse_charge"
	Standard      = "standard"
)

// The words that Article 226 of Directive 2006/112/EC requires, in the languages of the portal. Other languages get
// the English ones.
var (
	selfBilled = map[string]string{
		"de": "Gutschrift", "fr": "Autofacturation", "es": "Facturación por el destinatario", "pt": "Autofaturação",
		"en": "Self-billing",
	}
	reversed = map[string]string{
		"de": "Steuerschuldnerschaft des Leistungsempfängers", "fr": "Autoliquidation",
		"es": "Inversión del sujeto pasivo", "pt": "Autoliquidação", "en": "Reverse charge",
	}
	included = map[string]string{
		"de": "Mehrwertsteuer enthalten", "fr": "TVA comprise", "es": "IVA incluido", "pt": "IVA incluído",
		"en": "VAT included",
	}
)

// selfBilling returns the words for a statement in the partner's language. VAT ids of two countries of the EU mean a
// reverse charge, and those of one country the rate at home, if the program states it.
func selfBilling(d Document, language *string, rate *int64) *SelfBilling {
	lang, _, _ := strings.Cut(strings.ToLower(opt.Value(language)), "-")
	if selfBilled[lang] == "" {
		lang = "en"
	}
	out := &SelfBilling{Words: selfBilled[lang], VAT: []VAT{}}
	seller, partner := vatCountry(d.Seller.TaxIDs), vatCountry(d.Partner.TaxIDs)
	switch {
	case seller == "" || partner == "":
	case seller != partner:
		out.VAT = append(out.VAT, VAT{Treatment: ReverseCharge, Words: reversed[lang], NetMinor: d.Payout.AmountMinor})
	case rate != nil:
		line := VAT{Treatment: Standard, Words: included[lang], RateBPS: *rate}
		line.TaxMinor = includedTax(d.Payout.AmountMinor, *rate)
		line.NetMinor = d.Payout.AmountMinor - line.TaxMinor
		out.VAT = append(out.VAT, line)
	}
	return out
}

// includedTax returns the tax in a gross amount, in minor units, rounded half up. rate is in basis points of the net.
func includedTax(gross, rate int64) int64 {
	of := big.NewInt(10_000 + rate)
	tax := new(big.Int).Mul(big.NewInt(2*rate), big.NewInt(gross))
	return tax.Add(tax, of).Div(tax, of.Lsh(of, 1)).Int64()
}

// vatIDs are the forms of VAT ids in the member states of the EU, as the VIES service of the Commission lists them.
// Other tax ids begin with the same letters, such as an Italian tax code.
var vatIDs = regexp.MustCompile(`^(?:ATU\d{8}|BE[01]\d{9}|BG\d{9,10}|CY\d{8}[A-Z]|CZ\d{8,10}|DE\d{9}|DK\d{8}|EE\d{9}|` +
	`EL\d{9}|ES[A-Z0-9]\d{7}[A-Z0-9]|FI\d{8}|FR[A-Z0-9]{2}\d{9}|HR\d{11}|HU\d{8}|IE\d{7}[A-Z]{1,2}|IE\d[A-Z]?\d{5}[A-Z]|` +
	`IT\d{11}|LT(?:\d{9}|\d{12})|LU\d{8}|LV\d{11}|MT\d{8}|NL\d{9}B\d{2}|PL\d{10}|PT\d{9}|RO\d{2,10}|SE\d{12}|SI\d{8}|` +
	`SK\d{10})$`)

// vatCountry returns the prefix of the first VAT id of the EU.
func vatCountry(taxIDs []string) string {
	for _, id := range taxIDs {
		if id = compact(id); vatIDs.MatchString(id) {
			return id[:2]
		}
	}
	return ""
}

// compact returns a tax id in upper case without separators.
func compact(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(id))
}
