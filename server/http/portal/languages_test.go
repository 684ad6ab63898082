package portal_test

import (
	"encoding/json"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/locale"
)

// TestLanguages: in every language each page says nothing in English.
func TestLanguages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Loopback)
	partner, _ := furnished(s)
	b := signIn(s, partner)
	for _, l := range locale.All()[1:] {
		same := unchanged(t, l.Language())
		for _, path := range append(paths, "/portal/nowhere") {
			spoken := map[string]bool{}
			for _, text := range b.texts(path, l.Language()) {
				spoken[text] = true
			}
			var english []string
			for _, text := range b.texts(path, "en") {
				if spoken[text] && !same[text] && !isData(text) {
					english = append(english, text)
				}
			}
			assert.Empty(t, english, "%s in %s", path, l.Language())
		}
	}
}

// texts are the words of a page in a language.
func (b *browser) texts(path, language string) (out []string) {
	b.s.T.Helper()
	page := string(b.ask("GET", path, nil, "Accept-Language", language).Raw)
	require.Contains(b.s.T, page, `<html lang="`+language+`">`)
	// The words of a picture are cut in two; many countries have one name in several languages.
	page = regexp.MustCompile(`(?s)<svg.*?</svg>|<select id="country_code".*?</select>`).ReplaceAllString(page, "")
	for _, found := range regexp.MustCompile(`>([^<>]+)<|(?:aria|data)-label="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		text := strings.TrimSuffix(strings.TrimSpace(html.UnescapeString(found[1]+found[2])), " · Northwind Notes")
		if regexp.MustCompile(`\pL{2}`).MatchString(text) {
			out = append(out, text)
		}
	}
	return out
}

// unchanged are the texts that a language has the same word for.
func unchanged(t *testing.T, language string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, site := range []string{"portal", "design"} {
		raw, err := os.ReadFile("../../locale/messages/" + language + "/" + site + ".json")
		require.NoError(t, err)
		var texts map[string]any
		require.NoError(t, json.Unmarshal(raw, &texts))
		for text, said := range texts {
			out[text] = text == said
		}
	}
	return out
}

// data are texts that no language changes: addresses, amounts, what an event looks like; and
// days, whose months some languages share with English.
var data = regexp.MustCompile(`^([\d., ]+ [A-Z]{3}|https?://\S+|\S+@\S+|[a-z_]+\.[a-z_.]+|\{.*|[\d:., ]+ kB|\pL+ \d{4}|\d+ \pL+ \d{4}.*)$`)

// isData reports whether a text is the same in every language.
func isData(text string) bool {
	switch text {
	case "Northwind Notes", "Pricing page", "Brand guidelines", "Banner 728 × 90", "Banners", "PayPal", "IBAN", "mobile", "SVG", "USD", "Link Pricing page", "Lovelace", "ada", "Rail":
		return true
	}
	return data.MatchString(strings.ReplaceAll(text, "\n", " "))
}
