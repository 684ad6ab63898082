package redirect

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/worktest"
	"rail/server/problem"
	"rail/server/program/tracking"
	"rail/server/secret"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const browser = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"

// fixture is a tenant with a short link of its partner ann.
type fixture struct {
	*worktest.Tenant
	links *Redirector
	link  db.Link
	log   strings.Builder
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	keeper, err := secret.New([32]byte{1})
	require.NoError(t, err)
	x := &fixture{Tenant: worktest.New(t)}
	x.links = New(Options{
		Tracking: tracking.Service{Keeper: keeper}, Pool: x.Pool, Clock: clock.NewManual(x.Now.Time),
		Log: slog.New(slog.NewTextHandler(&x.log, nil)), Address: func(echo.Context) string { return "203.0.113.9" },
		Secure: true,
	})
	ann := x.Partner("ann")
	x.Must(func(ctx context.Context, u *work.Unit) (err error) {
		x.link, err = tracking.CreateLink(ctx, u, tracking.LinkInput{
			ProgramID: x.Program.ID, PartnerID: ann.ID, DestinationURL: "https://shop.example/sale", Value: new("summer"),
		})
		return err
	})
	return x
}

// get requests a slug as a browser, unless change modifies the request.
func (x *fixture) get(
	handler echo.HandlerFunc, slug string, change ...func(*http.Request),
) (*httptest.ResponseRecorder, error) {
	x.Helper()
	r := httptest.NewRequest(http.MethodGet, "/r/"+slug, nil)
	r.Header.Set("User-Agent", browser)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	c := echo.New().NewContext(r, w)
	c.SetParamNames("slug")
	c.SetParamValues(slug)
	return w, handler(c)
}

// follow requests the link's slug, and expects a redirect with the partner's value.
func (x *fixture) follow(handler echo.HandlerFunc, change ...func(*http.Request)) *httptest.ResponseRecorder {
	x.Helper()
	w := x.redirected(handler, change...)
	require.Equal(x, "https://shop.example/sale?ref=summer", w.Header().Get("Location"))
	return w
}

// redirected requests the link's slug, and expects a redirect.
func (x *fixture) redirected(handler echo.HandlerFunc, change ...func(*http.Request)) *httptest.ResponseRecorder {
	x.Helper()
	w, err := x.get(handler, *x.link.ShortSlug, change...)
	require.NoError(x, err)
	require.Equal(x, http.StatusFound, w.Code)
	require.Equal(x, "private, no-store", w.Header().Get("Cache-Control"))
	return w
}

func (x *fixture) clicks() []string {
	x.Helper()
	return worktest.Rows[string](x.Tenant, "SELECT concat_ws(' ', landing_url, user_agent) FROM clicks")
}

// A visit is a click by the cookie's visitor; a returning visitor has the same referral.
func TestRedirect(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	set := x.follow(x.links.Redirect).Result().Cookies()
	require.Equal(t, []string{"https://shop.example/sale?ref=summer " + browser}, x.clicks())
	require.Len(t, set, 1)
	k := set[0]
	require.Regexp(t, visitorToken, k.Value)
	require.Equal(t, []any{visitorCookie, "/r/", true, true, http.SameSiteLaxMode},
		[]any{k.Name, k.Path, k.HttpOnly, k.Secure, k.SameSite})
	again := x.follow(x.links.Redirect, func(r *http.Request) { r.AddCookie(k) })
	require.Empty(t, again.Result().Cookies())
	require.Len(t, x.clicks(), 1, "within the hour it is the same click")
	require.Equal(t, []int64{1}, worktest.Rows[int64](x.Tenant, "SELECT count(*) FROM referrals"))
	odd := x.follow(x.links.Redirect, func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: visitorCookie, Value: "' OR 1=1"})
	})
	require.Len(t, odd.Result().Cookies(), 1, "what is no token is replaced")
	require.Len(t, x.clicks(), 2)
	require.Empty(t, x.log.String())
}

// TestShortDomain: the browser sends the cookie back to the address of short links, wherever a proxy serves them.
func TestShortDomain(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	for _, c := range []struct {
		base, short, path string
		secure            bool
	}{
		{"https://rail.example", "", "/r/", true},
		{"https://rail.example", "https://go.example", "/", true},
		{"http://rail.internal", "https://go.example/", "/", true},
		{"https://rail.example", "http://go.example/to/", "/to/", false},
	} {
		x.links.Secure = strings.HasPrefix(c.base, "https:")
		x.links.ShortURL = tracking.ShortBase(c.base, c.short)
		k := x.follow(x.links.Redirect).Result().Cookies()[0]
		require.Equal(t, []any{c.path, c.secure}, []any{k.Path, k.Secure}, c)
	}
}

// Every request is redirected, but a request that does not show the page is not a visit.
func TestNoVisit(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Method = http.MethodHead },
		header("Purpose", "prefetch"),
		header("Sec-Purpose", "Prefetch;prerender"),
		header("X-Moz", "prefetch"),
		header("User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1)"),
		header("User-Agent", "facebookexternalhit/1.1"),
		header("User-Agent", "curl/8.5.0"),
	} {
		require.Empty(t, x.follow(x.links.Redirect, change).Result().Cookies())
	}
	require.Empty(t, x.follow(x.links.Forward).Result().Cookies(), "of an address that asks too often")
	require.Empty(t, x.clicks())
	x.follow(x.links.Redirect, header("User-Agent", "Mozilla/5.0 Botany/1.0"))
	require.Len(t, x.clicks(), 1, "only a word that ends in bot is a robot's")
}

// Every known link redirects. A deleted link still counts clicks, one of a paused program or a
// suspended partner does not. That of a suspended partner adds no value.
func TestStates(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	for _, c := range []struct {
		set    string
		clicks int
		to     string
	}{
		{"UPDATE links SET deleted_at = now()", 1, "https://shop.example/sale?ref=summer"},
		{"UPDATE partners SET status = 'suspended'", 1, "https://shop.example/sale"},
		{"UPDATE partners SET status = 'active'", 2, "https://shop.example/sale?ref=summer"},
		{"UPDATE programs SET status = 'paused'", 2, "https://shop.example/sale?ref=summer"},
	} {
		x.Exec(c.set)
		require.Equal(t, c.to, x.redirected(x.links.Redirect).Header().Get("Location"), c.set)
		require.Len(t, x.clicks(), c.clicks, c.set)
	}
}

// A visitor is redirected even if the click cannot be recorded.
func TestRecordingFails(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	x.Exec("ALTER TABLE clicks RENAME TO gone")
	x.follow(x.links.Redirect)
	require.Contains(t, x.log.String(), "cannot record the click of a short link")
	require.Contains(t, x.log.String(), x.link.ID)
}

// What cannot be a slug costs no query: the pool is closed.
func TestUnknown(t *testing.T) {
	t.Parallel()
	x := newFixture(t)
	requireNoLink := func(slug string) {
		_, err := x.get(x.links.Redirect, slug)
		var p *problem.Error
		require.ErrorAs(t, err, &p)
		require.Equal(t, problem.RouteNotFound, p.Code)
	}
	requireNoLink("nosuchslug")
	x.Pool.Close()
	for _, slug := range []string{"a-b", "%00", strings.Repeat("a", 33)} {
		requireNoLink(slug)
	}
	_, err := x.get(x.links.Redirect, "nosuchslug")
	require.Error(t, err)
	var p *problem.Error
	require.NotErrorAs(t, err, &p)
}
