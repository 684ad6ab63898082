// Package locale formats texts, numbers, amounts, dates and countries for a reader, in six
// languages.
//
// The English text in the code is the key of its translations: T finds them under messages/, one
// folder a language, with one file for each site. A sentence is one text with verbs of package fmt
// (%s, %d) for its parts, so that each language can place them. TestTexts finds all texts of the
// templates and the code, and fails if a language lacks one.
package locale

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
	"golang.org/x/text/unicode/norm"

	"rail/server/locale/currency"
)

// Locale is a language with its formats. The locales of All and Place are made once, so that they
// can be compared and used as map keys; In makes others, whose Base is one of them.
type Locale struct {
	words    language.Tag
	texts    *message.Printer
	figures  *message.Printer
	point    string // the decimal separator
	calendar *calendar
	zone     *time.Location // of days and times; nil for UTC
	base     *Locale        // the locale without a zone; nil for itself
}

// In returns the locale with days and times in a zone.
func (l *Locale) In(zone *time.Location) *Locale {
	out := *l
	out.zone, out.base = zone, l.Base()
	return &out
}

// Base returns the locale without a zone.
func (l *Locale) Base() *Locale { return cmp.Or(l.base, l) }

// Zone returns the time zone of the locale's days and times.
func (l *Locale) Zone() *time.Location { return cmp.Or(l.zone, time.UTC) }

// English is the default locale.
var English = of(language.English, language.English)

// languages lists the languages with texts.
var languages = []*Locale{
	English, of(language.German, language.German), of(language.French, language.French),
	of(language.Spanish, language.Spanish), of(language.BrazilianPortuguese, language.BrazilianPortuguese),
	of(language.Japanese, language.Japanese),
}

// places are locales with English words and a region's number and date formats, one for each format.
var places = []*Locale{
	English, of(language.English, language.AmericanEnglish), of(language.English, language.German),
	of(language.English, language.French), of(language.English, language.MustParse("de-CH")),
	of(language.English, language.MustParse("en-IN")),
}

var matcher = func() language.Matcher {
	tags := make([]language.Tag, len(languages))
	for i, l := range languages {
		tags[i] = l.words
	}
	return language.NewMatcher(tags)
}()

// of makes a locale with the words of a language and the formats of a region.
func of(words, place language.Tag) *Locale {
	l := &Locale{
		words: words, texts: message.NewPrinter(words, message.Catalog(texts)), figures: message.NewPrinter(place),
		calendar: calendars[words.String()],
	}
	l.point = strings.Trim(l.figures.Sprint(number.Decimal(0.5)), "05")
	if place == language.AmericanEnglish {
		l.calendar = &american
	}
	return l
}

// All returns the locales of all languages, English first.
func All() []*Locale { return slices.Clone(languages) }

// Of returns the locale of the first supported code, such as a partner's language, or the best one
// for a browser's Accept-Language.
func Of(accept string, codes ...string) *Locale {
	for _, code := range codes {
		if tag, err := language.Parse(code); err == nil {
			if _, i, sure := matcher.Match(tag); sure >= language.High {
				return languages[i]
			}
		}
	}
	accepted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil {
		return English
	}
	_, i, _ := matcher.Match(accepted...)
	return languages[i]
}

// IsTag reports whether a text is a language tag of BCP 47.
func IsTag(text string) bool {
	_, err := language.Parse(text)
	return err == nil
}

// Place returns the locale with English words and the formats that a browser's Accept-Language
// prefers. Unsupported formats become English ones.
func Place(accept string) *Locale {
	accepted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(accepted) == 0 {
		return English
	}
	if region, _ := accepted[0].Region(); region.String() == "US" && accepted[0].String() == "en-US" {
		return places[1]
	}
	const long = 1234567.5
	formatted := message.NewPrinter(accepted[0]).Sprint(number.Decimal(long))
	for _, l := range places {
		if l.figures.Sprint(number.Decimal(long)) == formatted {
			return l
		}
	}
	return English
}

// EnglishName returns the language's name in English.
func (l *Locale) EnglishName() string { return display.English.Languages().Name(l.words) }

// Dates returns the tag of the language and region whose dates look like the locale's, for a browser's formats.
func (l *Locale) Dates() string {
	switch {
	case l.words != language.English:
		return l.Language()
	case l.calendar == &american:
		return language.AmericanEnglish.String()
	}
	return language.BritishEnglish.String()
}

// Language returns the language's tag for the attribute lang, such as de or pt-BR.
func (l *Locale) Language() string { return l.words.String() }

// Name returns the language's name in that language.
func (l *Locale) Name() string { return display.Self.Name(l.words) }

// T returns a text in the reader's language. args fill its verbs; whole numbers get the language's
// format.
func (l *Locale) T(text string, args ...any) string { return l.texts.Sprintf(text, args...) }

// Said returns the translation of another's text, such as an error message, or the text itself if
// it has none.
func (l *Locale) Said(text string) string { return l.T(strings.ReplaceAll(text, "%", "%%")) }

// Money formats an amount in minor units with the code of its currency. Codes are unambiguous in
// every language; several currencies share signs such as $.
func (l *Locale) Money(minor int64, code string) string {
	return l.decimal(currency.Decimal(minor, code)) + " " + code
}

// signs are the signs of currencies that share them with no other.
var signs = map[string]string{"USD": "$", "EUR": "€", "GBP": "£", "INR": "₹", "JPY": "¥", "KRW": "₩"}

// briefFrom is the number of units of a currency from which Brief leaves out its decimals.
const briefFrom = 1000

// Brief formats an amount in minor units in short, for figures that are read at a glance: with the sign of the
// currency if it has one, and rounded to whole units from 1,000 units on.
func (l *Locale) Brief(minor int64, code string) string {
	unit := int64(math.Pow10(currency.Digits(code)))
	text := currency.Decimal(max(minor, -minor), code)
	if minor >= briefFrom*unit || minor <= -briefFrom*unit || minor%unit == 0 {
		text = strconv.FormatInt((max(minor, -minor)+unit/2)/unit, 10)
	}
	text = l.decimal(text)
	if sign, ok := signs[code]; ok {
		text = sign + text
	} else {
		text += " " + code
	}
	if minor < 0 {
		return "-" + text
	}
	return text
}

// Count formats a whole number.
func (l *Locale) Count(n int64) string { return l.decimal(strconv.FormatInt(n, 10)) }

// Percent formats a share in basis points: 1250 is 12.5 %.
func (l *Locale) Percent(basisPoints int64) string {
	sign, rest := "", basisPoints
	if rest < 0 {
		sign, rest = "-", -rest
	}
	part := strings.TrimRight(strconv.FormatInt(100+rest%100, 10)[1:], "0")
	text := sign + strconv.FormatInt(rest/100, 10)
	if part != "" {
		text += "." + part
	}
	return l.decimal(text) + " %"
}

// decimal formats a number that is given with a point. The minus sign is U+2212, which is as wide
// as a digit.
func (l *Locale) decimal(text string) string {
	sign := ""
	if strings.HasPrefix(text, "-") {
		sign, text = "−", text[1:]
	}
	whole, rest, _ := strings.Cut(text, ".")
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		whole = l.figures.Sprint(number.Decimal(n))
	}
	if rest != "" {
		rest = l.point + rest
	}
	return sign + whole + rest
}

// Country returns the name of a country by its upper-case code, or the code if it has none.
func (l *Locale) Country(code string) string {
	if name := renamed[code][l.Language()]; name != "" {
		return name
	}
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() {
		return code
	}
	return cmp.Or(display.Regions(l.words).Name(region), code)
}

// renamed has the names of countries whose name changed after the data of x/text, by code and language.
var renamed = map[string]map[string]string{
	"MK": {
		"en": "North Macedonia", "de": "Nordmazedonien", "fr": "Macédoine du Nord", "es": "Macedonia del Norte",
		"pt-BR": "Macedônia do Norte", "ja": "北マケドニア",
	},
	"SZ": {
		"en": "Eswatini", "de": "Eswatini", "fr": "Eswatini", "es": "Esuatini", "pt-BR": "Essuatíni", "ja": "エスワティニ",
	},
}

// Countries returns the codes of the countries of ISO 3166-1 in which people live, sorted by their names in the
// language.
func (l *Locale) Countries() []string {
	out, keys := []string{}, map[string]string{}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string([]rune{a, b})
			region, err := language.ParseRegion(code)
			if err != nil || !region.IsCountry() || region.Canonicalize().String() != code || region.ISO3() == "ZZZ" {
				continue
			}
			if !strings.Contains(notOffered, code) {
				out, keys[code] = append(out, code), plainLetters(l.Country(code))
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(keys[a], keys[b]) })
	return out
}

// notOffered lists codes that are in use but not countries of the standard, codes that were withdrawn, and uninhabited
// territories.
const notOffered = "AC CP CQ DG EA EU EZ IC QO TA UN XK " + "AN CS FQ NT PC SU YU " + "AQ BV GS HM TF UM"

// plainLetters returns a name without diacritics, to sort by.
func plainLetters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name))
}
