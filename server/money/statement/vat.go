package statement

import (
	"math/big"
	"slices"
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

// euPrefixes begin the VAT ids of the member states of the EU.
var euPrefixes = strings.Fields(
	"AT BE BG CY CZ DE DK EE EL ES FI FR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK")

// vatCountry returns the prefix of the first VAT id of the EU.
func vatCountry(taxIDs []string) string {
	for _, id := range taxIDs {
		id = compact(id)
		if len(id) >= 8 && slices.Contains(euPrefixes, id[:2]) && strings.ContainsAny(id[2:], "0123456789") {
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
