package tracking_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/auth"
	"rail/server/harness/apitest"
	"rail/server/harness/wait"
)

const (
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	shop    = "https://shop.example"
)

// shopPage is a browser on pages of shop.example. It keeps the cookie that it received.
type shopPage struct {
	*apitest.Server
	program, key, keyID, cookie string
}

// newPage makes a program with the partner ada, and a key for shop.example.
func newPage(t *testing.T, more M) *shopPage {
	t.Helper()
	p := &shopPage{Server: apitest.New(t)}
	p.program = p.Program()
	p.Partner(p.program, M{"handle": "ada", "company_name": "Ada L.", "email": "ada@partners.example"})
	body := M{"program_id": p.program, "allowed_hosts": []string{"shop.example", "*.shop.example"}}
	maps.Copy(body, more)
	created := p.Must(201, p.Post("/v1/publishable_keys", body))
	p.key, p.keyID = created.String("key"), created.String("id")
	return p
}

// do sends a request as the page does, and stores the cookie.
func (p *shopPage) do(method, path string, body M, headers ...string) apitest.Answer {
	p.T.Helper()
	var sent any
	if body != nil {
		sent = body
	}
	base := []string{"Origin", shop, "User-Agent", firefox}
	if p.cookie != "" {
		base = append(base, "Cookie", "rail_v="+p.cookie)
	}
	a := p.Do(method, path, "", sent, append(base, headers...)...)
	for _, line := range a.Header.Values("Set-Cookie") {
		value, _, _ := strings.Cut(strings.TrimPrefix(line, "rail_v="), ";")
		p.cookie = value
	}
	return a
}

// visit reports a visit with a value.
func (p *shopPage) visit(value string, headers ...string) apitest.Answer {
	p.T.Helper()
	return p.do("POST", "/t/c", M{"key": p.key, "value": value, "url": shop + "/?ref=" + value}, headers...)
}

// clicks counts the recorded clicks.
func (p *shopPage) clicks() int64 {
	p.T.Helper()
	return p.Must(200, p.Get("/v1/clicks?program_id="+p.program)).Int("total_count")
}

// TestBrowserVisit: a visit of a page is a click with a referral. The cookie identifies the
// browser, and a repeat of the same visit is the same click.
func TestBrowserVisit(t *testing.T) {
	t.Parallel()
	p := newPage(t, nil)
	first := p.Must(201, p.visit("ADA"))
	require.Equal(t, shop, first.Header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", first.Header.Get("Access-Control-Allow-Credentials"))
	require.Equal(t, M{"name": "Ada L.", "handle": "ada"}, first.Body["partner"])
	require.Nil(t, first.Body["discount"])
	require.Equal(t, p.cookie, first.String("visitor"))
	click := p.Must(200, p.Get("/v1/clicks/"+first.String("click_id")))
	require.Equal(t, []any{first.String("referral_id"), shop + "/?ref=ADA", firefox},
		[]any{click.String("referral_id"), click.String("landing_url"), click.String("user_agent")})

	again := p.Must(200, p.visit("ada"))
	require.Equal(t, first.Body, again.Body)
	require.EqualValues(t, 1, p.clicks())
	p.Clock.Advance(time.Hour)
	later := p.Must(201, p.visit("ada"))
	require.Equal(t, first.String("referral_id"), later.String("referral_id"))
	require.EqualValues(t, 2, p.clicks())

	p.Must(201, p.Post("/v1/coupons", M{
		"program_id": p.program, "code": "ADA20", "partner_id": click.String("partner_id"),
	}))
	restored := p.Must(200, p.do("GET", "/t/me?key="+p.key, nil))
	require.Equal(t, later.String("click_id"), restored.String("click_id"))
	require.Equal(t, M{"code": "ADA20", "label": "ADA20"}, restored.Body["discount"])
	p.Clock.Advance(31 * 24 * time.Hour)
	require.Equal(t, 204, p.do("GET", "/t/me?key="+p.key, nil).Status, "expired")

	cookie := p.cookie
	p.cookie = ""
	require.Equal(t, 204, p.do("GET", "/t/me?key="+p.key, nil).Status)
	named := p.Must(201, p.do("POST", "/t/c?key="+p.key, M{"value": "ada", "visitor": cookie}))
	require.Equal(t, []string{cookie, cookie}, []string{named.String("visitor"), p.cookie}, "what the page kept itself")
	require.Equal(t, "https://shop.example/", p.Must(200, p.Get("/v1/clicks/"+named.String("click_id"))).String("landing_url"))
}

// TestBrowserCookie: the cookie's attributes depend on the page's host and the request's path.
func TestBrowserCookie(t *testing.T) {
	t.Parallel()
	p := newPage(t, M{"allowed_hosts": []string{"shop.example", "*.shop.co.uk", "localhost", "127.0.0.1"}})
	for name, c := range map[string]struct {
		headers  []string
		has, not []string
	}{
		"another site's": {nil, []string{"HttpOnly", "Secure", "SameSite=Lax", "Path=/", "Max-Age=2592000"}, []string{"Domain"}},
		"a proxied path": {
			[]string{"Sec-Fetch-Site", "same-origin", "Origin", "https://www.shop.co.uk"}, []string{"Domain=shop.co.uk", "Secure"}, nil,
		},
		"a host beside the page's": {
			[]string{"X-Forwarded-Host", "go.shop.example:443"}, []string{"Domain=shop.example"}, nil,
		},
		"a host of another domain": {[]string{"X-Forwarded-Host", "shop.example.org"}, nil, []string{"Domain"}},
		"an address": {
			[]string{"Sec-Fetch-Site", "same-origin", "Origin", "http://127.0.0.1:9"}, []string{"Secure"}, []string{"Domain"},
		},
		"a name without a point": {
			[]string{"Sec-Fetch-Site", "same-site", "Origin", "http://localhost:3000"}, []string{"Secure"}, []string{"Domain"},
		},
	} {
		p.cookie = ""
		got := p.Must(201, p.visit("ada", c.headers...)).Header.Get("Set-Cookie")
		for _, part := range c.has {
			require.Contains(t, got, part, name)
		}
		for _, part := range c.not {
			require.NotContains(t, got, part, name)
		}
	}
}

// TestBrowserRefusals: a wrong key, origin or body is refused.
func TestBrowserRefusals(t *testing.T) {
	t.Parallel()
	p := newPage(t, nil)
	for _, origin := range []string{
		"https://evil.example", "https://shop.example.evil.example", "https://evilshop.example", "null", "", "file:///x",
		"https://shop.example/x", "https://shop.example@evil.example",
	} {
		a := p.Refused(403, "origin_not_allowed", "", p.visit("ada", "Origin", origin))
		require.Empty(t, a.Header.Get("Access-Control-Allow-Origin"), origin)
	}
	p.Must(201, p.visit("ada", "Origin", "http://deep.www.shop.example:8080"))
	p.Refused(403, "origin_not_allowed", "", p.do("GET", "/t/me?key="+p.key, nil, "Origin", "https://evil.example"))
	for _, c := range []struct {
		body        M
		status      int
		code, param string
	}{
		{M{"value": "ada"}, 400, "parameter_missing", "key"},
		{M{"key": 7, "value": "ada"}, 400, "parameter_invalid", "key"},
		{M{"key": "rail_pub_x", "value": "ada"}, 401, "api_key_invalid", "key"},
		{M{"key": "rail_pub_" + auth.NewSlug(32), "value": "ada"}, 401, "api_key_invalid", "key"},
		{M{"key": p.key}, 400, "parameter_missing", "value"},
		{M{"key": p.key, "value": ""}, 400, "parameter_invalid", "value"},
		{M{"key": p.key, "value": "nobody"}, 404, "tracking_value_not_found", "value"},
		{M{"key": p.key, "value": "ada", "url": "nowhere"}, 400, "parameter_invalid", "url"},
		{M{"key": p.key, "value": "ada", "visitor": "x"}, 400, "parameter_invalid", "visitor"},
		{M{"key": p.key, "value": "ada", "amount_minor": 5}, 400, "parameter_unknown", "amount_minor"},
		{M{"key": p.key, "click_id": "clk_none"}, 404, "resource_not_found", "click_id"},
		{M{"key": p.key, "value": "ada", "program_id": "prg_none"}, 404, "resource_not_found", "program_id"},
	} {
		p.Refused(c.status, c.code, c.param, p.do("POST", "/t/c", c.body))
	}
	p.Refused(404, "resource_not_found", "program_id", p.do("GET", "/t/me?program_id=prg_none&key="+p.key, nil))
	p.Refused(413, "payload_too_large", "", p.do("POST", "/t/c?key="+p.key, M{"value": strings.Repeat("a", 41000)}))
	p.Refused(400, "parameter_invalid", "key", p.do("POST", "/t/c?key=rail_pub_y", M{"key": p.key, "value": "ada"}))
	p.Refused(400, "parameter_missing", "key", p.do("GET", "/t/me", nil))
	p.Refused(403, "insufficient_scope", "", p.do("POST", "/t/lead", M{"key": p.key, "email": "g@example.com"}))
	p.Must(200, p.Post("/v1/programs/"+p.program, M{"status": "paused"}))
	p.Refused(409, "program_paused", "", p.visit("ada"))
	p.Must(200, p.Delete("/v1/publishable_keys/"+p.keyID))
	wait.Until(t, func() bool { return p.visit("ada").Code() == "api_key_revoked" }, "a revoked key is taken")
}

// TestBrowserPreflight: preflight requests succeed for a host that the key allows. Without a
// key, they succeed for a host that any key allows.
func TestBrowserPreflight(t *testing.T) {
	t.Parallel()
	p := newPage(t, nil)
	other := p.Must(201, p.Post("/v1/publishable_keys", M{"program_id": p.program, "allowed_hosts": []string{"b.example:81"}}))
	for _, c := range []struct {
		path, origin string
		allowed      bool
	}{
		{"/t/c", "https://a.shop.example", true},
		{"/t/lead?key=" + p.key, shop, true},
		{"/t/c", "http://b.example:81", true},
		{"/t/c", "http://b.example", false},
		{"/t/c?key=" + other.String("key"), shop, false},
		{"/t/c?key=rail_pub_x", shop, false},
		{"/t/me", "https://evil.example", false},
		{"/t/me", "null", false},
	} {
		a := p.Do(http.MethodOptions, c.path, "", nil, "Origin", c.origin, "Access-Control-Request-Method", "POST")
		if !c.allowed {
			p.Refused(403, "origin_not_allowed", "", a)
			continue
		}
		require.Equal(t, []any{204, c.origin, "7200", "Content-Type"}, []any{
			a.Status, a.Header.Get("Access-Control-Allow-Origin"), a.Header.Get("Access-Control-Max-Age"),
			a.Header.Get("Access-Control-Allow-Headers"),
		})
	}
}

// TestHiddenPageLoads: a page load that no visitor sees creates no click and no cookie.
func TestHiddenPageLoads(t *testing.T) {
	t.Parallel()
	p := newPage(t, nil)
	for _, header := range [][]string{
		{"User-Agent", "Mozilla/5.0 (compatible; Googlebot/2.1)"}, {"User-Agent", "WhatsApp/2.2"},
		{"Sec-Purpose", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"User-Agent", "curl/8.0"},
	} {
		a := p.visit("ada", header...)
		require.Equal(t, 204, a.Status, header)
		require.Empty(t, a.Header.Get("Set-Cookie"))
	}
	require.Zero(t, p.clicks())
}

// TestBrowserTakesOver: a click handed over by another page or a short link belongs to the visitor.
// No new click is recorded.
func TestBrowserTakesOver(t *testing.T) {
	t.Parallel()
	p := newPage(t, nil)
	elsewhere := p.Click(p.program, "ada").String("id")
	got := p.Must(200, p.do("POST", "/t/c", M{"key": p.key, "click_id": elsewhere, "value": "ada"}))
	require.Equal(t, elsewhere, got.String("click_id"))
	require.EqualValues(t, 1, p.clicks())
	require.Equal(t, got.Body, p.Must(200, p.do("GET", "/t/me?key="+p.key, nil)).Body, "by the cookie alone")
	other := p.Program()
	p.Partner(other, M{"handle": "ada"})
	foreign := p.Click(other, "ada").String("id")
	p.Refused(404, "resource_not_found", "click_id", p.do("POST", "/t/c", M{"key": p.key, "click_id": foreign}))
	p.cookie = ""
	own := p.Must(201, p.do("POST", "/t/c", M{"key": p.key, "click_id": foreign, "value": "ada"}))
	require.NotEqual(t, foreign, own.String("click_id"), "the value counts then")
}

// TestBrowserLead: a lead from a page becomes a customer of the visit's partner, once. The
// responses do not reveal known customers.
func TestBrowserLead(t *testing.T) {
	t.Parallel()
	p := newPage(t, M{"allow_leads": true})
	lead := func(body M) apitest.Answer {
		body["key"] = p.key
		return p.do("POST", "/t/lead", body)
	}
	require.Equal(t, 204, lead(M{"email": "grace@example.com"}).Status, "nobody brought this visitor")
	visit := p.Must(201, p.visit("ada"))
	taken := p.Must(200, lead(M{"email": "grace@example.com", "identifier": "grace"}))
	require.Equal(t, M{
		"object": "browser_lead", "click_id": visit.String("click_id"), "referral_id": visit.String("referral_id"),
	}, taken.Body)
	customers := func() []M { return p.Must(200, p.Get("/v1/customers?program_id="+p.program)).Data() }
	require.Len(t, customers(), 1)
	require.Equal(t, []any{"grace@example.com", "link", visit.String("referral_id")},
		[]any{customers()[0]["email"], customers()[0]["tracked_by"], customers()[0]["referral_id"]})
	for _, existing := range []M{{"email": "GRACE@example.com"}, {"identifier": "grace"}, {"email": "ada@partners.example"}} {
		require.Equal(t, taken.Body, p.Must(200, lead(existing)).Body)
	}
	require.Len(t, customers(), 1, "known, or the partner itself")
	p.Must(201, p.Post("/v1/customers", M{"program_id": p.program, "partner_id": p.Partner(p.program), "identifier": "heidi"}))
	p.Must(200, lead(M{"identifier": "heidi", "email": "heidi@example.com"}))
	require.Len(t, customers(), 2, "known by the merchant's own server")
	p.Refused(400, "parameter_missing", "email", lead(M{}))
	p.Refused(404, "resource_not_found", "program_id", p.do("POST", "/t/lead?program_id=prg_none", M{
		"key": p.key, "email": "grace@example.com",
	}))
	p.Refused(400, "parameter_invalid", "email", lead(M{"email": "nobody"}))
}

// TestAttributionModel: if a visitor came through two partners, the customer belongs to the last
// one, or to the first one if the program is set so. The click in the request does not matter.
func TestAttributionModel(t *testing.T) {
	t.Parallel()
	for model, handle := range map[string]string{"last": "bob", "first": "ada"} {
		p := newPage(t, nil)
		bob := p.Partner(p.program, M{"handle": "bob"})
		require.Equal(t, "last", p.Must(200, p.Get("/v1/programs/"+p.program)).String("attribution_model"))
		p.Must(200, p.Post("/v1/programs/"+p.program, M{"attribution_model": model}))
		first := p.Must(201, p.visit("ada"))
		p.Clock.Advance(time.Minute)
		p.Must(201, p.visit("bob"))
		me := p.Must(200, p.do("GET", "/t/me?key="+p.key, nil))
		require.Equal(t, handle, me.Body["partner"].(M)["handle"], model)
		last := p.Must(200, p.Get("/v1/clicks?program_id="+p.program+"&partner_id="+bob)).Data()[0]["id"]
		customer := p.Must(201, p.Post("/v1/customers", M{"program_id": p.program, "click_id": last, "email": "g@example.com"}))
		require.Equal(t, model == "last", customer.String("partner_id") == bob, model)
		require.Equal(t, model == "first", customer.String("referral_id") == first.String("referral_id"), model)
	}
}

// TestReturnIsTheLastTouch: a visitor who comes back to a partner within an hour makes no second
// click, but belongs to that partner again, by a parameter or a short link. In a program with
// first-touch attribution nothing changes.
func TestReturnIsTheLastTouch(t *testing.T) {
	t.Parallel()
	p := newPage(t, M{"allow_leads": true})
	bob := p.Partner(p.program, M{"handle": "bob"})
	link := p.Must(201, p.Post("/v1/links", M{"program_id": p.program, "partner_id": bob, "destination_url": shop + "/"}))
	me := func() string {
		return p.Must(200, p.do("GET", "/t/me?key="+p.key, nil)).String("click_id")
	}
	short := link.String("short_url")
	guest := ""
	follow := func() string {
		a := p.Must(302, p.Do("GET", "/r/"+short[strings.LastIndex(short, "/")+1:], "", nil, "User-Agent", firefox, "Cookie", guest))
		if set := a.Header.Get("Set-Cookie"); set != "" {
			guest, _, _ = strings.Cut(set, ";")
		}
		_, click, _ := strings.Cut(a.Header.Get("Location"), "rail_click=")
		return p.Must(200, p.do("POST", "/t/c", M{"key": p.key, "click_id": click})).String("click_id")
	}
	ada := p.Must(201, p.visit("ada"))
	p.Clock.Advance(time.Minute)
	byLink := follow()
	require.Equal(t, byLink, me())
	for range 2 {
		p.Clock.Advance(time.Minute)
		require.Equal(t, ada.Body, p.Must(200, p.visit("ada")).Body)
		require.Equal(t, ada.String("click_id"), me())
		p.Clock.Advance(time.Minute)
		require.Equal(t, byLink, follow())
		require.Equal(t, byLink, me())
	}
	require.EqualValues(t, 2, p.clicks())
	p.Clock.Advance(time.Minute)
	p.Must(200, p.visit("ada"))
	p.Must(200, p.do("POST", "/t/lead", M{"key": p.key, "email": "grace@example.com"}))
	customers := p.Must(200, p.Get("/v1/customers?program_id="+p.program)).Data()
	require.Equal(t, ada.String("referral_id"), customers[0]["referral_id"])

	p.Must(200, p.Post("/v1/programs/"+p.program, M{"attribution_model": "first"}))
	require.Equal(t, ada.String("click_id"), follow(), "the first stands")
	require.Equal(t, ada.String("click_id"), me())
}

// TestRedirectHandsOver: a short link adds its click to the destination address, unless the program
// disables that.
func TestRedirectHandsOver(t *testing.T) {
	t.Parallel()
	p := newPage(t, nil)
	ada := p.Must(200, p.Get("/v1/partners?program_id="+p.program)).Data()[0]["id"]
	link := p.Must(201, p.Post("/v1/links", M{
		"program_id": p.program, "partner_id": ada, "destination_url": shop + "/sale#top",
	}))
	short := link.String("short_url")
	slug := "/r/" + short[strings.LastIndex(short, "/")+1:]
	to := p.Must(302, p.Do("GET", slug, "", nil, "User-Agent", firefox)).Header.Get("Location")
	require.Regexp(t, `^https://shop\.example/sale\?ref=ada&rail_click=clk_[0-9a-z]{26}#top$`, to)
	click := to[strings.Index(to, "clk_") : strings.Index(to, "clk_")+30]
	taken := p.Must(200, p.do("POST", "/t/c", M{"key": p.key, "click_id": click, "value": "ada"}))
	require.Equal(t, click, taken.String("click_id"))
	require.EqualValues(t, 1, p.clicks())
	robot := p.Must(302, p.Do("GET", slug, "", nil, "User-Agent", "curl/8.0")).Header.Get("Location")
	require.Equal(t, link.String("url"), robot)
	p.Must(200, p.Post("/v1/programs/"+p.program, M{"click_on_redirect": false}))
	require.Equal(t, link.String("url"),
		p.Must(302, p.Do("GET", slug, "", nil, "User-Agent", firefox)).Header.Get("Location"))
}
