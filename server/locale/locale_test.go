package locale

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFigures: amounts, numbers and days in each language's format.
func TestFigures(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 14, 7, 0, 0, time.UTC)
	for _, c := range []struct {
		code                                   string
		dollars, yen, share, day, month, place string
	}{
		{"en", "−1,234,567.89 USD", "40,377 JPY", "12.5 %", "5 Mar 2026", "March 2026", "Germany"},
		{"de", "−1.234.567,89 USD", "40.377 JPY", "12,5 %", "5. März 2026", "März 2026", "Deutschland"},
		{"fr", "−1\u00a0234\u00a0567,89 USD", "40\u00a0377 JPY", "12,5 %", "5 mars 2026", "mars 2026", "Allemagne"},
		{"es", "−1.234.567,89 USD", "40.377 JPY", "12,5 %", "5 mar 2026", "marzo de 2026", "Alemania"},
		{"pt", "−1.234.567,89 USD", "40.377 JPY", "12,5 %", "5 de mar. de 2026", "março de 2026", "Alemanha"},
		{"ja", "−1,234,567.89 USD", "40,377 JPY", "12.5 %", "2026年3月5日", "2026年3月", "ドイツ"},
	} {
		l := Of("", c.code)
		require.Equal(t, c.dollars, l.Money(-123456789, "USD"), c.code)
		require.Equal(t, c.yen, l.Money(40377, "JPY"), c.code)
		require.Equal(t, c.share, l.Percent(1250), c.code)
		require.Equal(t, c.day, l.Day(at), c.code)
		require.Equal(t, c.month, l.Month(at), c.code)
		require.Equal(t, c.place, l.Country("DE"), c.code)
	}
	require.Equal(t, "5 Mar 2026, 14:07", English.Moment(at))
	require.Equal(t, []string{"0.05 %", "−0.5 %", "20 %", "100 %"},
		[]string{English.Percent(5), English.Percent(-50), English.Percent(2000), English.Percent(10000)})
	require.Equal(t, "ZZZ", English.Country("ZZZ"))
}

// TestCountries checks that every offered country has a name, and that none was withdrawn.
func TestCountries(t *testing.T) {
	t.Parallel()
	for _, l := range languages {
		all := l.Countries()
		require.Greater(t, len(all), 235, l.Language())
		seen := map[string]bool{}
		for _, code := range all {
			name := l.Country(code)
			require.NotEmpty(t, name)
			require.NotEqual(t, code, name, l.Language())
			require.False(t, seen[name], "%s has two countries called %s", l.Language(), name)
			seen[name] = true
		}
		for _, code := range []string{"AN", "CS", "YU", "NT", "PC", "FQ", "SU", "AQ", "BV"} {
			require.NotContains(t, all, code)
		}
		require.Equal(t, l == English, l.Country("MK") == "North Macedonia", l.Language())
	}
}

// TestOf: a partner's language takes precedence over the browser's.
func TestOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ accept, code, want string }{
		{"", "", "en"}, {"de-CH,fr;q=0.5", "", "de"}, {"pt-PT", "", "pt-BR"}, {"nl,ja;q=0.5", "", "ja"}, {"zh", "", "en"},
		{"de", "fr", "fr"}, {"de", "fr-CA", "fr"}, {"de", "nl", "de"}, {"de", "not a code", "de"}, {";;;q", "", "en"},
	} {
		require.Equal(t, c.want, Of(c.accept, c.code).Language(), "%s %s", c.accept, c.code)
	}
}

// TestPlace: the console has English words and the browser's formats.
func TestPlace(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	for accept, want := range map[string]string{
		"": "1,234.50 EUR 5 Mar 2026", "en-GB": "1,234.50 EUR 5 Mar 2026", "en-US,de": "1,234.50 EUR Mar 5, 2026",
		"de-AT": "1\u00a0234,50 EUR 5 Mar 2026", "it": "1.234,50 EUR 5 Mar 2026", "nl": "1.234,50 EUR 5 Mar 2026", "pl": "1\u00a0234,50 EUR 5 Mar 2026",
		"de-CH": "1’234.50 EUR 5 Mar 2026", "ar": "1,234.50 EUR 5 Mar 2026", ";;": "1,234.50 EUR 5 Mar 2026",
	} {
		l := Place(accept)
		require.Equal(t, want, l.Money(123450, "EUR")+" "+l.Day(at), accept)
		require.Equal(t, "en", l.Language())
		require.Equal(t, strings.Contains(want, "Mar 5"), l.Dates() == "en-US", accept)
	}
	require.Equal(t, []string{"en-GB", "fr", "French"}, []string{English.Dates(), Of("fr").Dates(), Of("fr").EnglishName()})
	require.Equal(t, "12,34,567", Place("hi").Count(1234567))
}

// TestVerbatim: another's text is not a format string.
func TestVerbatim(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Kopieren", Of("", "de").Said("Copy"))
	require.Equal(t, "100 % of %d, 5%", Of("", "de").Said("100 % of %d, 5%"))
}
