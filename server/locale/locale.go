// Package locale says things as their reader is used to: words in one of six languages,
// and numbers, amounts, dates and countries in the way of the place.
//
// A text is written in English where it is used and is its own key: T finds the
// translation under messages/, one folder a language, with one file for each site. A sentence is one text, whose parts
// stand in it as verbs of package fmt (%s, %d), so that a language can put them where it
// needs them. TestTexts finds every text of the templates and the code, and fails where a
// language lacks one.
package locale

import (
	"cmp"
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

// Locale is how a reader is spoken to. There are few, made once, so that they can be
// compared and be the keys of maps; In makes others, whose Base is one of them.
type Locale struct {
	words    language.Tag
	texts    *message.Printer
	figures  *message.Printer
	point    string // between a whole number and its fraction
	calendar *calendar
	zone     *time.Location // of its days and times; nil for UTC
	base     *Locale        // the locale without a zone; nil for itself
}

// In returns the locale with days and times in a zone.
func (l *Locale) In(zone *time.Location) *Locale {
	out := *l
	out.zone, out.base = zone, l.Base()
	return &out
}

// Base returns the locale as it was before In.
func (l *Locale) Base() *Locale { return cmp.Or(l.base, l) }

// Zone returns the time zone of the locale's days and times.
func (l *Locale) Zone() *time.Location { return cmp.Or(l.zone, time.UTC) }

// English is the default language.
var English = of(language.English, language.English)

// languages are the languages of the texts.
var languages = []*Locale{
	English, of(language.German, language.German), of(language.French, language.French),
	of(language.Spanish, language.Spanish), of(language.BrazilianPortuguese, language.BrazilianPortuguese),
	of(language.Japanese, language.Japanese),
}

// places are English words with the figures of a place, one for each way to write them.
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

// of makes a locale with the words of a language and the figures of a place.
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

// Of returns the locale of the first code that is one of a language known here, such as a
// partner's, and otherwise what a browser accepts, by its Accept-Language.
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

// Place returns English words with the figures of the place that a browser prefers, by
// its Accept-Language. Places that write them in none of the ways known here get English
// ones.
func Place(accept string) *Locale {
	accepted, _, err := language.ParseAcceptLanguage(accept)
	if err != nil || len(accepted) == 0 {
		return English
	}
	if region, _ := accepted[0].Region(); region.String() == "US" && accepted[0].String() == "en-US" {
		return places[1]
	}
	const long = 1234567.5
	asked := message.NewPrinter(accepted[0]).Sprint(number.Decimal(long))
	for _, l := range places {
		if l.figures.Sprint(number.Decimal(long)) == asked {
			return l
		}
	}
	return English
}

// Language is the language's tag, as in the attribute lang: de, or pt-BR.
func (l *Locale) Language() string { return l.words.String() }

// Name is the language's own name, for who chooses one.
func (l *Locale) Name() string { return display.Self.Name(l.words) }

// T is a text in the reader's language. args fill its verbs; whole numbers among them are
// written as the language does.
func (l *Locale) T(text string, args ...any) string { return l.texts.Sprintf(text, args...) }

// Said translates a text from elsewhere, such as an error message. An unknown text does not
// change.
func (l *Locale) Said(text string) string { return l.T(strings.ReplaceAll(text, "%", "%%")) }

// Money is an amount in minor units with the code of its currency, which is the same in
// every language: signs such as $ are those of several.
func (l *Locale) Money(minor int64, code string) string {
	return l.decimal(currency.Decimal(minor, code)) + " " + code
}

// Count is a whole number.
func (l *Locale) Count(n int64) string { return l.decimal(strconv.FormatInt(n, 10)) }

// Percent is a share in basis points: 1250 is 12.5 %.
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

// decimal writes a number, given with a point, as the place does. The minus sign is
// U+2212, which is as wide as a digit.
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

// Country is the name of a country by its code in capitals, or the code where it has none.
func (l *Locale) Country(code string) string {
	region, err := language.ParseRegion(code)
	if err != nil || !region.IsCountry() {
		return code
	}
	return display.Regions(l.words).Name(region)
}

// Countries are the codes of all countries of ISO 3166-1, by their names in the language.
func (l *Locale) Countries() []string {
	out, keys := []string{}, map[string]string{}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string([]rune{a, b})
			if region, err := language.ParseRegion(code); err == nil && region.IsCountry() && !reserved[code] &&
				region.Canonicalize().String() == code && region.ISO3() != "ZZZ" {
				out, keys[code] = append(out, code), plainLetters(l.Country(code))
			}
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(keys[a], keys[b]) })
	return out
}

// reserved are codes that are no countries of the standard, though they are used for some.
var reserved = map[string]bool{
	"AC": true, "CP": true, "CQ": true, "DG": true, "EA": true, "EU": true, "EZ": true, "IC": true, "QO": true, "TA": true,
	"UN": true, "XK": true,
}

// plainLetters is a name without the marks of its letters, to sort by.
func plainLetters(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(name))
}
