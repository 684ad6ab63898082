package statement

import (
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

// ReverseCharge is the treatment of a service to a business in another country of the EU, which owes the VAT itself.
const ReverseCharge = "reverse_charge"

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
)

// selfBilling returns the words for a statement in the partner's language. Only a reverse charge is certain: it
// requires VAT ids of two countries of the EU.
func selfBilling(d Document, language *string) *SelfBilling {
	lang, _, _ := strings.Cut(strings.ToLower(opt.Value(language)), "-")
	if selfBilled[lang] == "" {
		lang = "en"
	}
	out := &SelfBilling{Words: selfBilled[lang], VAT: []VAT{}}
	seller, partner := vatCountry(d.Seller.TaxIDs), vatCountry(d.Partner.TaxIDs)
	if seller != "" && partner != "" && seller != partner {
		out.VAT = append(out.VAT, VAT{Treatment: ReverseCharge, Words: reversed[lang], NetMinor: d.Payout.AmountMinor})
	}
	return out
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
