package portal_test

import (
	"encoding/json"
	"html"
	"os"
	"regexp"
	"slices"
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

// TestLanguageIsChosen checks that a partner's choice takes precedence over the browser's language, and can be undone.
func TestLanguageIsChosen(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	partner := s.Partner(s.Program())
	b := signIn(s, partner)
	language := func() string {
		page := string(s.Must(200, b.ask("GET", "/portal/settings", nil, "Accept-Language", "fr")).Raw)
		return regexp.MustCompile(`<html lang="([^"]+)"`).FindStringSubmatch(page)[1]
	}
	require.Equal(t, "fr", language())
	b.moved("/portal/settings?done=profile", b.send("/portal/settings/profile", "language_code", "pt-BR"))
	require.Equal(t, "pt-BR", s.Get("/v1/partners/"+partner).String("language_code"))
	require.Equal(t, "pt-BR", language())
	b.says(422, "language tag", b.send("/portal/settings/profile", "language_code", "not a tag"))
	b.moved("/portal/settings?done=profile", b.send("/portal/settings/profile", "language_code", ""))
	require.Nil(t, s.Get("/v1/partners/" + partner).Body["language_code"])
	require.Equal(t, "fr", language())
	s.Refused(400, "parameter_invalid", "language_code", s.Post("/v1/partners/"+partner, M{"language_code": "x"}))
	s.Refused(400, "parameter_invalid", "language_code", s.Post("/v1/partners",
		M{"program_id": s.Program(), "email": "b@example.com", "language_code": "12"}))
}

// texts are the words of a page in a language.
func (b *browser) texts(path, language string) (out []string) {
	b.s.T.Helper()
	page := string(b.ask("GET", path, nil, "Accept-Language", language).Raw)
	require.Contains(b.s.T, page, `<html lang="`+language+`">`)
	// The words of a picture are cut in two; many countries have one name in several languages.
	page = regexp.MustCompile(`(?s)<svg.*?</svg>|<select id="(?:country|language)_code".*?</select>`).ReplaceAllString(page, "")
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
		for text, translation := range texts {
			out[text] = text == translation
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
	case "Northwind Notes", "Pricing page", "Brand guidelines", "Banner 728 × 90", "Banners", "PayPal", "IBAN", "mobile", "SVG", "USD", "Link Pricing page", "Lovelace", "ada", "Rail",
		"WhatsApp", "LinkedIn", "X", "Facebook":
		return true
	}
	if slices.ContainsFunc(locale.All(), func(l *locale.Locale) bool { return l.Name() == text }) {
		return true
	}
	return data.MatchString(strings.ReplaceAll(text, "\n", " "))
}
