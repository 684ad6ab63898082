package portal_test

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/http/site"
	"rail/server/jobs"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	partner := s.Partner(s.Program())
	path := link(s, partner)

	require.Empty(t, session(s.Must(200, visit(s, "HEAD", path))), "a look signs nobody in")
	for _, name := range []string{"Purpose", "Sec-Purpose", "X-Moz"} {
		require.Empty(t, session(s.Must(403, visit(s, "GET", path, name, "prefetch;prerender"))))
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS"} {
		require.Equal(t, "GET, HEAD", s.Must(405, visit(s, method, path)).Header.Get("Allow"))
	}
	first := s.Must(303, visit(s, "GET", path, "X-Forwarded-For", "203.0.113.9"))
	require.Equal(t, "/portal", first.Header.Get("Location"))
	cookies := (&http.Response{Header: first.Header}).Cookies()
	require.Len(t, cookies, 1)
	k := cookies[0]
	require.Equal(t, cookieName, k.Name)
	require.True(t, k.HttpOnly && k.Secure && k.SameSite == http.SameSiteLaxMode && k.Path == "/" && k.Domain == "" && k.MaxAge == 30*24*3600, "%v", k)
	var stored []byte
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT token_hash FROM portal_sessions").Scan(&stored))
	sum := sha256.Sum256([]byte(k.Value))
	require.Equal(t, sum[:], stored, "only a hash is stored")
	(&browser{s, k.Value}).get("/portal")
	var places int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM partner_addresses WHERE partner_id = $1 AND octet_length(ip_hash) = 16", partner).Scan(&places))
	require.Equal(t, 1, places, "where a partner was seen is for the risk checks, as a hash")

	used := s.Must(410, visit(s, "GET", path))
	require.Empty(t, session(used))
	unknown := []string{strings.Repeat("A", 43), "x", "", "a/b", strings.Repeat("A", 4000), "%00", "%ff"}
	for _, token := range unknown {
		require.Equal(t, string(used.Raw), string(s.Must(410, visit(s, "GET", "/portal/sso/"+token)).Raw), "%.50q", token)
	}
	older := link(s, partner)
	newer := link(s, partner)
	require.Equal(t, used.Raw, s.Must(410, visit(s, "GET", older)).Raw, "the newest link voids older ones")
	s.Must(303, visit(s, "GET", newer))
	(&browser{s, k.Value}).get("/portal") // a new link ends no session
}

func TestSignInLinksRunOut(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	partner := s.Partner(s.Program())
	for ttl, life := range map[int]time.Duration{0: 15 * time.Minute, 60: time.Minute, 3600: time.Hour} {
		body := M{}
		if ttl > 0 {
			body["ttl_seconds"] = ttl
		}
		path := link(s, partner, body)
		s.Clock.Advance(life - time.Second)
		s.Must(303, visit(s, "GET", path))
		path = link(s, partner, body)
		s.Clock.Advance(life)
		s.Must(410, visit(s, "GET", path))
	}
}

func TestOneLinkOneSession(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	path := link(s, s.Partner(s.Program()))
	statuses := make(chan int, 16)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			r, err := client.Get(s.URL + path)
			if err != nil {
				statuses <- 0
				return
			}
			_ = r.Body.Close()
			statuses <- r.StatusCode
		})
	}
	all.Wait()
	close(statuses)
	got := map[int]int{}
	for status := range statuses {
		got[status]++
	}
	require.Equal(t, map[int]int{303: 1, 410: 15}, got)
	var sessions int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM portal_sessions").Scan(&sessions))
	require.Equal(t, 1, sessions)
}

// TestSessionsEnd: by time, by signing out, and with the partner.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	out := func(b *browser) {
		t.Helper()
		for _, path := range paths {
			a := s.Must(401, b.ask("GET", path, nil))
			require.Contains(t, string(a.Raw), "not signed in")
			require.NotContains(t, string(a.Raw), "form_token")
			require.Contains(t, a.Header.Get("Set-Cookie"), "Max-Age=0")
		}
		s.Must(401, b.post("/portal/settings/notifications", url.Values{}))
	}
	late := signIn(s, s.Partner(program))
	for range 3 { // every use begins the thirty days anew
		s.Clock.Advance(30*24*time.Hour - time.Second)
		late.get("/portal")
	}
	s.Clock.Advance(30 * 24 * time.Hour)
	out(late)

	partner := s.Partner(program)
	here, there := signIn(s, partner), signIn(s, partner)
	here.says(200, "You are signed out", here.send("/portal/sign-out"))
	out(here)
	there.get("/portal")
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	out(there)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "active"}))
	out(there)
	waiting := link(s, partner)
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "suspended"}))
	s.Must(410, visit(s, "GET", waiting))
	s.Must(200, s.Post("/v1/partners/"+partner, M{"status": "active"}))
	s.Must(410, visit(s, "GET", waiting))

	gone := s.Partner(program)
	left := signIn(s, gone)
	s.Must(200, s.Delete("/v1/partners/"+gone))
	out(left)

	for _, cookie := range []string{"", "x", strings.Repeat("A", 43), strings.Repeat("A", 5000), "%00"} {
		s.Must(401, (&browser{s, cookie}).ask("GET", "/portal", nil))
	}
	s.Must(401, visit(s, "GET", "/portal"))
}

// TestSuspendedMeanwhile: a form that waits while its partner is suspended changes
// nothing.
func TestSuspendedMeanwhile(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	partner := s.Partner(s.Program())
	b := signIn(s, partner)
	token := b.token()
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE partners SET status = 'suspended' WHERE id = $1", partner)
	require.NoError(t, err)
	answers := make(chan int)
	for _, form := range []string{"profile", "notifications", "payout"} {
		go func() {
			answers <- b.post("/portal/settings/"+form, url.Values{"form_token": {token}, "first_name": {"Late"}, "method": {"paypal"}, "email": {"late@example.com"}}).Status
		}()
	}
	wait.ForLocks(t, s.Pool, "", 3)
	require.NoError(t, tx.Commit(t.Context()))
	for range 3 {
		require.Contains(t, []int{409, 422}, <-answers)
	}
	p := s.Get("/v1/partners/" + partner)
	require.Equal(t, []any{nil, nil, true}, []any{p.Body["first_name"], p.Body["payout_method"], p.Body["email_payout_paid"]})
}

// TestDevelopmentCookie: over plain http there is no __Host- and no Secure.
func TestDevelopmentCookie(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	a := s.Must(303, visit(s, "GET", link(s, s.Partner(s.Program()))))
	k := (&http.Response{Header: a.Header}).Cookies()[0]
	require.True(t, k.Name == "rail_portal" && k.Path == "/portal" && !k.Secure && k.HttpOnly && k.SameSite == http.SameSiteLaxMode, "%v", k)
}

func TestForeignFormsChangeNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	partner := s.Partner(program)
	b, other := signIn(s, partner), signIn(s, s.Partner(program))
	form := func(token string) url.Values { return url.Values{"form_token": {token}, "first_name": {"Mallory"}} }
	mine := b.token()
	require.NotEqual(t, mine, other.token())
	require.NotEqual(t, mine, b.token(), "pages are compressed: no secret stays the same")
	for _, c := range []struct {
		token   string
		headers []string
	}{
		{"", nil}, {"x", nil}, {other.token(), nil}, {b.cookie, nil}, {mine[:43], nil}, {mine[1:] + mine[:1], nil}, {mine + mine, nil},
		{mine, []string{"Sec-Fetch-Site", "cross-site"}}, {mine, []string{"Sec-Fetch-Site", "same-site"}}, {mine, []string{"Origin", "https://evil.example"}}, {mine, []string{"Origin", "null"}},
	} {
		b.says(403, "not sent from your page", b.post("/portal/settings/profile", form(c.token), c.headers...))
	}
	s.Must(403, b.post("/portal/sign-out", url.Values{}))
	for _, body := range []struct{ kind, text string }{
		{"application/json", `{"form_token":"` + mine + `","first_name":"x"}`}, {"text/plain", form(mine).Encode()}, {"multipart/form-data; boundary=x", "--x--"}, {"", form(mine).Encode()},
		{"application/x-www-form-urlencoded", "a=%zz"}, {"application/x-www-form-urlencoded", "form_token=" + mine + "&first_name=" + strings.Repeat("x", 140<<10)},
	} {
		s.Must(400, b.ask("POST", "/portal/settings/profile", body.text, "Content-Type", body.kind))
	}
	require.Nil(t, s.Get("/v1/partners/" + partner).Body["first_name"])
	for _, headers := range [][]string{nil, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "https://rail.example"}} {
		b.moved("/portal/settings?done=profile", b.post("/portal/settings/profile", form(mine), headers...))
	}
	require.Equal(t, "Mallory", s.Get("/v1/partners/"+partner).String("first_name"))
}

func TestHeadersAndPaths(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	b := signIn(s, s.Partner(s.Program()))
	check := func(a apitest.Answer) {
		t.Helper()
		require.Equal(t, "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			a.Header.Get("Content-Security-Policy"))
		require.Equal(t, "no-store", a.Header.Get("Cache-Control"))
		require.Equal(t, "same-origin", a.Header.Get("Referrer-Policy"))
		require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
		require.NotEmpty(t, a.Header.Get("Rail-Request-Id"))
		require.Empty(t, a.Header.Get("X-Rail-Version")+a.Header.Get("X-RateLimit-Limit"))
		if len(a.Raw) > 0 {
			require.Equal(t, "text/html; charset=UTF-8", a.Header.Get("Content-Type"))
			require.Contains(t, string(a.Raw), `<html lang="en">`)
			require.NotRegexp(t, `(?i)<[^>]+\s(style|on[a-z]+)=|<style|<script>|https?://[^"]*\.(css|js)`, string(a.Raw), "nothing inline, nothing from elsewhere")
		}
	}
	for _, path := range paths {
		check(s.Must(200, b.ask("GET", path, nil)))
		head := s.Must(200, b.ask("HEAD", path, nil))
		require.Empty(t, head.Raw)
		check(head)
		post := s.Must(405, b.ask("POST", path, nil))
		require.Equal(t, "GET, HEAD", post.Header.Get("Allow"))
		check(post)
	}
	check(s.Must(410, visit(s, "GET", "/portal/sso/x")))
	check(s.Must(401, visit(s, "GET", "/portal")))
	for _, path := range []string{"/portal/", "/portal/nothing", "/portal/settings/", "/portal/../portal/x", "/portal/assets/", "/portal/assets/frame.html", "/portal/customers/cus_1"} {
		check(s.Must(404, b.ask("GET", path, nil)))
	}
	get := s.Must(405, b.ask("GET", "/portal/settings/profile", nil))
	require.Equal(t, "POST", get.Header.Get("Allow"))
	check(get)
	for path, kind := range map[string]string{site.StylePath: "text/css; charset=utf-8", site.ScriptPath: "text/javascript; charset=utf-8"} {
		a := s.Must(200, visit(s, "GET", path))
		require.Equal(t, kind, a.Header.Get("Content-Type"))
		require.NotEmpty(t, a.Raw)
	}
	require.NotContains(t, s.Log(), "/portal/sso/x", "tokens are not logged")
}

// TestExpiredSignInsAreForgotten runs the clean-up.
func TestExpiredSignInsAreForgotten(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	program := s.Program()
	signIn(s, s.Partner(program))
	link(s, s.Partner(program))
	s.Clock.Advance(29 * 24 * time.Hour)
	later := signIn(s, s.Partner(program))
	link(s, s.Partner(program))
	s.Clock.Advance(24 * time.Hour)
	count := func(table string) (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	require.Equal(t, []int{2, 4}, []int{count("portal_sessions"), count("magic_links")})
	fresh := link(s, s.Partner(program))
	for _, j := range jobs.All(jobs.Deps{Pool: s.Pool, Clock: s.Clock, RetentionDays: 30}) {
		if j.Name == "clean-up" {
			require.NoError(t, j.Run(t.Context(), clock.At(s.Clock.Now().Time)))
		}
	}
	require.Equal(t, []int{1, 1}, []int{count("portal_sessions"), count("magic_links")})
	later.get("/portal")
	s.Must(303, visit(s, "GET", fresh))
}
