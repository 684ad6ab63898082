package site

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/locale"
)

// testVisit records the steps of a request.
type testVisit struct {
	Visit
	signedIn bool
	steps    *[]string
}

var errSignedOut = errors.New("signed out")

func (v *testVisit) Identify() error {
	*v.steps = append(*v.steps, "identify")
	if !v.signedIn {
		return errSignedOut
	}
	v.Token = "session"
	return nil
}

func (v *testVisit) Enter() error {
	*v.steps = append(*v.steps, "enter "+v.PathValue("id"))
	return nil
}

func (v *testVisit) Fail(err error) error {
	status, _, _ := Explain(err)
	if errors.Is(err, errSignedOut) {
		status = http.StatusUnauthorized
	}
	return Failed(v, err, status, func() error { return v.NoContent(status) })
}

// testSite answers a request and returns the response, the steps and the path for the log.
func testSite(t *testing.T, r *http.Request, signedIn bool) (w *httptest.ResponseRecorder, steps []string, logged string) {
	t.Helper()
	s, err := New(Options{
		Path:    "/s",
		BaseURL: "https://rail.example",
		Clock:   clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)),
		Guard:   Guard{"test"},
		Timeout: time.Second,
		Locale:  func(accepted string) *locale.Locale { return locale.Of(accepted) },
	}, map[string]Route[*testVisit]{
		"GET /s/things/{id}":  {Do: func(v *testVisit) error { return v.String(200, v.Form.Value("name")) }},
		"POST /s/things/{id}": {Do: func(v *testVisit) error { return v.String(200, v.Form.Value("name")) }},
		"GET /s/open/{token...}": {Open: true, Do: func(v *testVisit) error {
			found, ok := Of[*testVisit](v.Ctx())
			require.True(t, ok && found == v)
			_, bounded := v.Ctx().Deadline()
			require.True(t, bounded)
			return v.NoContent(204)
		}},
		"POST /s/linked": {Open: true, Linked: true, Do: func(v *testVisit) error { return v.NoContent(204) }},
		"POST /s/broken": {Open: true, Linked: true, Do: func(*testVisit) error { return errors.New("broken") }},
	})
	require.NoError(t, err)
	w = httptest.NewRecorder()
	c := echo.New().NewContext(r, w)
	err = s.Serve(&testVisit{Visit: s.Visit(c), signedIn: signedIn, steps: &steps})
	require.Equal(t, w.Code >= 500, err != nil, "internal errors are returned")
	return w, steps, c.Path()
}

// TestSite checks the order of a request's steps, the refusals and the path that is logged.
func TestSite(t *testing.T) {
	t.Parallel()
	form := func(token string) string { return url.Values{"form_token": {token}, "name": {"Ada"}}.Encode() }
	good := form(Guard{"test"}.Token("session"))
	for _, c := range []struct {
		method, path, body, origin string
		signedIn                   bool
		status                     int
		steps, logged, allow       string
	}{
		{"GET", "/s/things/a", "", "", true, 200, "identify|enter a", "/s/things/:id", ""},
		{"HEAD", "/s/things/a", "", "", true, 200, "identify|enter a", "/s/things/:id", ""},
		{"GET", "/s/things/a", "", "", false, 401, "identify", "/s/things/:id", ""},
		{"POST", "/s/things/a", good, "", true, 200, "identify|enter a", "/s/things/:id", ""},
		{"POST", "/s/things/a", good, "", false, 401, "identify", "/s/things/:id", ""},
		{"POST", "/s/things/a", good, "https://evil.example", true, 403, "", "/s/things/:id", ""},
		{"POST", "/s/things/a", form("x"), "", true, 403, "identify", "/s/things/:id", ""},
		{"POST", "/s/linked", "", "", false, 204, "enter ", "/s/linked", ""},
		{"POST", "/s/linked", "", "https://evil.example", false, 403, "", "/s/linked", ""},
		{"GET", "/s/open/a/b", "", "", false, 204, "enter ", "/s/open/:token", ""},
		{"GET", "/s/open/", "", "", false, 204, "enter ", "/s/open/:token", ""},
		{"DELETE", "/s/things/a", "", "", true, 405, "", "/s/*", "GET, HEAD, POST"},
		{"GET", "/s/linked", "", "", true, 405, "", "/s/*", "POST"},
		{"GET", "/s/secret", "", "", true, 404, "", "/s/*", ""},
		{"GET", "/s//things/a", "", "", true, 404, "", "/s/*", ""},
		{"GET", "/s/things/../things/a", "", "", true, 404, "", "/s/*", ""},
		{"GET", "/s/open", "", "", true, 404, "", "/s/*", ""},
		{"POST", "/s/broken", "", "", true, 500, "enter ", "/s/broken", ""},
	} {
		r := httptest.NewRequest(c.method, "https://rail.example"+c.path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w, steps, logged := testSite(t, r, c.signedIn)
		name := c.method + " " + c.path
		require.Equal(t, []any{c.status, c.steps, c.logged, c.allow},
			[]any{w.Code, strings.Join(steps, "|"), logged, w.Header().Get("Allow")}, name)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "default-src 'none'", name)
	}
}
