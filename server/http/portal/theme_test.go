package portal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// TestThemesInABrowser checks pages with unusual colours, typefaces and corners on a phone and on a desktop, in light and
// in dark mode. The level and the leaderboard are on them.
func TestThemesInABrowser(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	program := s.Program()
	s.Flow(program, M{"branches": []any{apitest.Branch(3500, apitest.Condition("partner.customers_count", "gte", 3))}})
	var partner string
	for range 5 {
		partner = s.Partner(program, M{"first_name": "Ada", "last_name": "Lovelace"})
		s.Sale(program, s.Customer(program, partner))
	}
	b := browsertest.New(t, s.URL)
	b.Open(link(s, partner))
	for _, theme := range []M{
		{"accent_color": "#ffd400", "second_color": "#ffd400", "typeface": "rounded", "corners": "round", "leaderboard": true},
		{"accent_color": "#0a0a0a", "second_color": "#f2f2f2", "typeface": "serif", "corners": "square"},
	} {
		s.Must(200, s.Post("/v1/programs/"+program+"/portal", theme))
		b.Open("/portal")
		b.Reads("Leaderboard")
		b.Reads("2 more customers until you earn 35 %")
		rounded := theme["typeface"] == "rounded"
		loaded := browsertest.Eval[bool](b, `document.fonts.ready.then(() => [...document.fonts].some(f => f.family === 'Nunito' && f.status === 'loaded'))`)
		require.Equal(t, rounded, loaded)
		radius := browsertest.Eval[string](b, `getComputedStyle(document.querySelector('.card')).borderRadius`)
		require.Equal(t, map[bool]string{true: "20px", false: "0px"}[rounded], radius)
		b.Accessible("/portal", "/portal/settings")
	}
	b.Silent()
}
