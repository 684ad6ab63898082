package portal_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/wait"
)

// framing lets pages of hosts frame the portal of a program.
func framing(s *apitest.Server, program string, hosts ...string) {
	s.T.Helper()
	hosts = append([]string{}, hosts...)
	s.Must(200, s.Post("/v1/programs/"+program+"/portal", M{"embed_hosts": hosts}))
}

// embed asks for an embed token and returns the path that it opens.
func embed(s *apitest.Server, body M) string {
	s.T.Helper()
	u, err := url.Parse(s.Must(201, s.Post("/v1/embed_tokens", body)).String("url"))
	require.NoError(s.T, err)
	return u.Path
}

// TestEmbed: the merchant's own user sees the portal within the merchant's page: framed by the
// hosts of the program alone, without a cookie, for an hour, and only the user's own.
func TestEmbed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	ada := M{"program_id": program, "partner": M{"email": "ada@example.com", "first_name": "Ada"}}
	s.Refused(400, "parameter_invalid", "program_id", s.Post("/v1/embed_tokens", ada))
	framing(s, program, "app.acme.example", "*.shop.example", "localhost:3000")
	path := embed(s, ada)
	require.Equal(t, 1, countOf(s, program, "affiliate.created"), "enrolled on the way")
	require.NotEqual(t, path, embed(s, ada))
	require.Equal(t, 1, countOf(s, program, "affiliate.created"), "and once")

	page := s.Must(200, visit(s, "GET", path))
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "frame-ancestors https://app.acme.example:* "+
		"https://*.shop.example:* https://localhost:3000 http://localhost:3000")
	require.Empty(t, page.Header.Get("Set-Cookie"))
	require.Contains(t, string(page.Raw), `href="`+path+`/links"`)
	require.NotContains(t, string(page.Raw), `="/portal`)
	require.NotContains(t, string(page.Raw), "Sign out")
	for _, path := range append(paths[1:], "/portal/settings") {
		s.Must(200, visit(s, "GET", strings.Replace(path, "/portal", embed(s, ada), 1)))
	}
	token := tokens.FindStringSubmatch(string(s.Must(200, visit(s, "GET", path+"/settings")).Raw))
	form := url.Values{"form_token": {token[1]}, "first_name": {"Augusta"}}.Encode()
	kind := []string{"Content-Type", "application/x-www-form-urlencoded"}
	saved := s.Must(303, s.Do("POST", path+"/settings/profile", "", form, kind...))
	require.Equal(t, path+"/settings?done=profile", saved.Header.Get("Location"))
	s.Must(403, s.Do("POST", path+"/settings/profile", "", form, append(kind, "Sec-Fetch-Site", "cross-site")...))
	require.NotContains(t, s.Log(), strings.TrimPrefix(path, "/embed/"), "tokens are not logged")

	secret := strings.TrimPrefix(path, "/embed/")
	s.Must(401, (&browser{s, secret}).ask("GET", "/portal", nil)) // no cookie
	b := signIn(s, s.Partner(program))
	s.Must(410, visit(s, "GET", "/embed/"+b.cookie)) // and a cookie is no token
	for _, end := range []string{"/sign-out", "//sign-out", "/./sign-out", "/../portal/again", "//again", "/sso/" + b.cookie, "/sign-in"} {
		s.Must(410, s.Do("POST", path+end, "", form, kind...))
	}
	s.Clock.Advance(time.Hour)
	s.Must(410, visit(s, "GET", path))
}

// TestEmbedRefuses: one of both, of the program, and active.
func TestEmbedRefuses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program, other := s.Program(), s.Program()
	framing(s, program, "app.acme.example")
	partner := s.Partner(program)
	for _, body := range []M{
		{"program_id": program},
		{"program_id": program, "partner_id": partner, "partner": M{"email": "ada@example.com"}},
	} {
		s.Refused(400, "parameter_invalid", "partner_id", s.Post("/v1/embed_tokens", body))
	}
	s.Refused(404, "resource_not_found", "partner_id",
		s.Post("/v1/embed_tokens", M{"program_id": program, "partner_id": "part_01kb2m4q8e7v9t3n5x6c0d1f2g"}))
	s.Refused(400, "invalid_reference", "partner_id",
		s.Post("/v1/embed_tokens", M{"program_id": program, "partner_id": s.Partner(other)}))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	s.Refused(409, "partner_not_active", "", s.Post("/v1/embed_tokens", M{"program_id": program, "partner_id": partner}))
	for _, path := range []string{"/embed/", "/embed/x", "/embed/" + strings.Repeat("A", 43), "/embed/x/nothing"} {
		require.Contains(t, []int{404, 410}, visit(s, "GET", path).Status)
	}
	loader := s.Must(200, visit(s, "GET", "/embed.js"))
	require.Equal(t, "cross-origin", loader.Header.Get("Cross-Origin-Resource-Policy"))
	require.Less(t, len(loader.Raw), 2000)
}

// TestEmbedIsNoPage checks that a text in the place of a token is not in the page.
func TestEmbedIsNoPage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for _, path := range []string{"/embed/%22%3E%3Cmeta%20http-equiv=refresh%3E/x", "/embed/%22%3Ex", "/embed/%00/links", "/embed/%ff"} {
		page := visit(s, "GET", path)
		require.Equal(t, 410, page.Status, path)
		require.NotContains(t, string(page.Raw), "meta http-equiv")
		require.NotContains(t, string(page.Raw), "/embed/")
	}
}

// TestEmbedEnds: a program that takes its hosts back ends the frames, in which payout details cannot be changed.
func TestEmbedEnds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	framing(s, program, "app.acme.example")
	path := embed(s, M{"program_id": program, "partner_id": s.Partner(program)})
	settings := string(s.Must(200, visit(s, "GET", path+"/settings")).Raw)
	require.NotContains(t, settings, "/settings/payout")
	framing(s, program)
	s.Must(410, visit(s, "GET", path))
}

// TestInAFrame shows the portal within a page of another origin, which the program must allow.
func TestInAFrame(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	partner, _ := furnished(s)
	program := s.Get("/v1/partners/" + partner).String("program_id")
	var path string
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><title>Acme</title><link rel="icon" href="data:,"><style>body{--rail-main:#7a1f6b}</style>`+
			`<h1>Your account</h1><div data-rail-embed="%s%s"></div><script src="%[1]s/embed.js"></script>`, s.URL, path)
	}))
	defer page.Close()
	framing(s, program, strings.TrimPrefix(page.URL, "http://"))
	path = embed(s, M{"program_id": program, "partner_id": partner})
	b := browsertest.New(t, page.URL)
	b.Do(chromedp.EmulateViewport(900, 900))
	height := func() int {
		return browsertest.Eval[int](b, "parseInt(document.querySelector('iframe').style.height) || 0")
	}
	b.Open("/")
	wait.Until(t, func() bool { return height() > 600 })
	b.Picture("embedded")
	b.Silent()

	framing(s, program, "elsewhere.example")
	refused := browsertest.New(t, page.URL)
	refused.Open("/")
	require.Contains(t, strings.Join(browsertest.Eval[[]string](refused,
		"performance.getEntriesByType('resource').map(e => e.name)"), " "), "/embed.js")
	require.Zero(t, browsertest.Eval[int](refused, "parseInt(document.querySelector('iframe').style.height) || 0"))
}
