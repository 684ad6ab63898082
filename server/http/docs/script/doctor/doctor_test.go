package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/http/docs/script"
)

const (
	key    = "rail_pub_4fT9xQ2mZ7kLw8Rb1Vn6Yc3Hd5Jg0PsA"
	onSite = "http://shop.example/_r"
	beside = "http://rail.acme.example"
)

// site answers for every host. It is Rail on rail.* and below /_r, and a shop elsewhere.
type site struct {
	page    string
	policy  string // of the page
	refuses string // the error code of Rail for the key; "" for none
	keeps   bool   // a proxy removes Rail's headers
	lost    bool   // a proxy answers in place of Rail
	scripts http.Handler
}

func newSite(page string) *site {
	e := echo.New()
	script.Register(e, func(string, echo.HandlerFunc) {})
	return &site{page: page, scripts: e}
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, proxied := strings.CutPrefix(r.URL.Path, "/_r")
	switch {
	case !proxied && !strings.HasPrefix(r.Host, "rail."):
		s.shop(w, r)
	case path == "/t/me" && s.lost:
		http.NotFound(w, r)
	case path == "/t/me":
		s.me(w, r)
	default:
		r.URL.Path = path
		s.scripts.ServeHTTP(w, r)
	}
}

func (s *site) shop(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		if s.policy != "" {
			w.Header().Set("Content-Security-Policy", s.policy)
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, s.page)
	case "/moved":
		http.Redirect(w, r, "/", http.StatusFound)
	case "/round":
		http.Redirect(w, r, "/round", http.StatusFound)
	case "/huge":
		fmt.Fprint(w, s.page)
		for range 3 {
			fmt.Fprint(w, strings.Repeat(" ", 1<<20))
		}
		fmt.Fprint(w, s.page)
	default:
		http.NotFound(w, r)
	}
}

func (s *site) me(w http.ResponseWriter, r *http.Request) {
	switch {
	case s.refuses == "origin_not_allowed":
		w.WriteHeader(http.StatusForbidden)
	case s.refuses != "":
		w.WriteHeader(http.StatusUnauthorized)
	case !s.keeps:
		w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		fallthrough
	default:
		w.WriteHeader(http.StatusNoContent)
		return
	}
	fmt.Fprintf(w, `{"error":{"code":%q,"message":"no."}}`, s.refuses)
}

// at examines an address. All hosts resolve to the site.
func (s *site) at(t *testing.T, address string, p Program) Report {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	way := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	t.Cleanup(way.CloseIdleConnections)
	return examine(t.Context(), way, address, p)
}

// found returns the findings with a state, one on each line.
func (r Report) found(s State) string {
	var lines []string
	for _, f := range r.Findings {
		if f.State == s {
			lines = append(lines, f.Check+": "+f.Text+" "+f.Fix)
		}
	}
	return strings.Join(lines, "\n")
}

// TestInOrder: a page with a correct tag is OK, with or without a proxy.
func TestInOrder(t *testing.T) {
	t.Parallel()
	s := newSite("<head>" + script.Tag(onSite, key))
	s.policy = "default-src 'none'; script-src 'self'; connect-src 'self'"
	r := s.at(t, "http://shop.example/moved", Program{ID: "prg_1", Keys: []string{key}, Params: []string{"ref"}})
	require.True(t, r.OK)
	require.Equal(t, "http://shop.example/", r.URL)
	require.Empty(t, r.found(Wrong)+r.found(Advice))
	var checks []string
	for _, f := range r.Findings {
		checks = append(checks, f.Check)
	}
	require.Equal(t, []string{"page", "tag", "integrity", "policy", "hosts", "proxy", "cookie", "program"}, checks)

	r = newSite(script.Tag("http://rail.shop.example", key)).at(t, "http://www.shop.example/", Program{})
	require.True(t, r.OK)
	require.Contains(t, r.found(Advice), "is not the page's host")
	require.Contains(t, r.found(OK), "Rail's cookie belongs to shop.example")

	r = newSite(script.Tag(beside, key)).at(t, "http://shop.example/", Program{})
	require.True(t, r.OK)
	require.Contains(t, r.found(Advice), "Rail's cookie belongs to acme.example, and the page to shop.example")
}

// TestWrong: the report names each fault and the way to fix it.
func TestWrong(t *testing.T) {
	t.Parallel()
	own, other := script.Tag(onSite, key), script.Tag(beside, key)
	for name, c := range map[string]struct {
		page    string
		change  func(*site)
		program Program
		path    string
		want    string
	}{
		"no such page":     {page: own, path: "nothing", want: "page: The page answers 404."},
		"a round":          {page: own, path: "round", want: "page: The page answers 302."},
		"no tag":           {page: "<p>nothing</p>", want: "tag: The page has no tag"},
		"a comment":        {page: "<!-- " + own + " -->", want: "tag: The page has no tag"},
		"two tags":         {page: own + own, want: "tag: The page has 2 tags"},
		"no key":           {page: `<script async src="/_r/rail.js"></script>`, want: `tag: data-rail is ""`},
		"a secret key":     {page: `<script data-rail="rail_live_x" src="/_r/rail.js"></script>`, want: "which is not a publishable key"},
		"no source":        {page: `<script data-rail="` + key + `"></script>`, want: "tag: The tag has no src"},
		"no address":       {page: `<script async data-rail="` + key + `" src="https://%zz/rail.js"></script>`, change: func(s *site) { s.policy = "script-src *" }, want: "The script cannot be fetched"},
		"another release":  {page: strings.Replace(own, script.Named(), "/rail-00000000.js", 1), want: "answers 404. Paste the tag"},
		"another script":   {page: strings.Replace(own, "sha384-", "sha384-x", 1), want: "integrity: The browser blocks the script: its content"},
		"not to be read":   {page: strings.Replace(other, ` crossorigin="anonymous"`, "", 1), want: "integrity: The browser blocks the script: it may not"},
		"no script":        {page: strings.Replace(own, "/_r"+script.Named(), "/", 1), want: "is text/html, not a script. Check that the proxy"},
		"a foreign domain": {page: strings.Replace(own, "data-rail", `data-domain="acme.example" data-rail`, 1), want: "cookie: data-domain is acme.example"},
		"a public suffix":  {page: strings.Replace(own, "data-rail", `data-domain="example" data-rail`, 1), want: "cookie: data-domain is example"},
		"script policy": {
			page: other, change: func(s *site) { s.policy = "script-src 'self' https:; connect-src *" },
			want: "policy: script-src blocks the script: 'self' https: Add http://rail.acme.example to script-src",
		},
		"report policy": {
			page: own, change: func(s *site) { s.policy = "script-src 'self'; default-src 'none'" },
			want: "policy: default-src blocks the script's requests to http://shop.example/_r/t: 'none' Add 'self' to connect-src",
		},
		"a policy in the page": {
			page: `<meta http-equiv=content-security-policy content="default-src 'none'">` + own, want: "policy: default-src blocks the script:",
		},
		"a host too few": {
			page: own, change: func(s *site) { s.refuses = "origin_not_allowed" },
			want: "hosts: The key does not allow pages of http://shop.example: no. Create a key for this host: rail pubkey create --program PROGRAM_ID --host shop.example",
		},
		"a revoked key": {
			page: own, change: func(s *site) { s.refuses = "api_key_revoked" }, want: "hosts: Rail does not accept the key: no.",
		},
		"a lost path": {
			page: own, change: func(s *site) { s.lost = true }, want: "proxy: http://shop.example/_r/t/me answers 404, and not as Rail does.",
		},
		"lost headers": {
			page: other, change: func(s *site) { s.keeps = true }, want: "proxy: Browsers hide Rail's responses from the page",
		},
		"another program": {page: own, program: Program{ID: "prg_2", Keys: []string{"x"}}, want: "program: The key does not belong to prg_2"},
		"another parameter": {
			page: own, program: Program{ID: "prg_2", Keys: []string{key}, Params: []string{"ref", "via"}},
			want: `program: The program's links may use the parameter via, which the tag does not read. Add data-params="ref,via"`,
		},
	} {
		s := newSite(c.page)
		if c.change != nil {
			c.change(s)
		}
		r := s.at(t, "http://shop.example/"+c.path, c.program)
		require.False(t, r.OK, name)
		require.Contains(t, r.found(Wrong), c.want, name)
	}
}

// TestBounds: Examine reads a page up to a limit, and reports a host that does not answer.
func TestBounds(t *testing.T) {
	t.Parallel()
	r := newSite(script.Tag(onSite, key)).at(t, "http://shop.example/huge", Program{})
	require.Contains(t, r.found(OK), fmt.Sprintf("has %d bytes", 2<<20))
	require.True(t, r.OK, "Examine ignores the second tag, which is beyond the limit")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	r = Examine(t.Context(), gone.URL, Program{})
	require.False(t, r.OK)
	require.Equal(t, gone.URL, r.URL)
	require.Contains(t, r.found(Wrong), "page: The page cannot be fetched")
}

// TestAdvice: a tag that works gets advice.
func TestAdvice(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]string{
		`<script async src="/_r/rail.js" data-rail="` + key + `">`:                "The tag accepts any script",
		`<script async src="/_r` + script.Named() + `" data-rail="` + key + `">`:  "but no integrity",
		strings.Replace(script.Tag(onSite, key), script.Named(), script.Path, 1):  "only today's script",
		strings.Replace(script.Tag(onSite, key), "<script async ", "<script ", 1): "The page waits for the script",
	} {
		r := newSite(tag).at(t, "http://shop.example/", Program{})
		require.True(t, r.OK, tag)
		require.Contains(t, r.found(Advice), want)
	}
}

// TestSources compares addresses with sources of a Content-Security-Policy.
func TestSources(t *testing.T) {
	t.Parallel()
	self := mustParse(t, "https://shop.example/page")
	for _, c := range []struct {
		source, address string
		allowed         bool
	}{
		{"*", "https://a.example/", true},
		{"'self'", "https://shop.example/x", true},
		{"'self'", "https://shop.example:8443/x", false},
		{"https:", "https://a.example/", true},
		{"https:", "http://a.example/", false},
		{"http:", "https://a.example/", true},
		{"a.example", "https://a.example/x", true},
		{"a.example", "http://a.example/x", false},
		{"a.example", "https://b.a.example/x", false},
		{"a.example", "https://a.example:444/x", false},
		{"a.example:*", "https://a.example:444/x", true},
		{"a.example:443", "https://a.example/x", true},
		{"*.a.example", "https://b.a.example/x", true},
		{"*.a.example", "https://a.example/x", false},
		{"http://a.example", "https://a.example/x", true},
		{"https://a.example/t/", "https://a.example/t/c", true},
		{"https://a.example/t", "https://a.example/t/c", false},
		{"'none'", "https://a.example/", false},
		{"'unsafe-inline'", "https://a.example/", false},
	} {
		require.Equal(t, c.allowed, matches(c.source, mustParse(t, c.address), self), c)
	}
	x := &examination{page: page{url: self}, tag: tag{"nonce": "abc", "integrity": "sha384-x"}}
	for list, allowed := range map[string]bool{
		"'nonce-abc'": true, "'nonce-abd'": false, "'sha384-x'": true, "'strict-dynamic' *": false,
		"'strict-dynamic' 'nonce-abc'": true,
	} {
		require.Equal(t, allowed, x.allows(strings.Fields(list), mustParse(t, "https://rail.example/rail.js")), list)
	}
	require.Len(t, policiesOf("script-src a; script-src b, ; connect-src c"), 2)
	require.Equal(t, []string{"a"}, policiesOf("script-src a; script-src b")[0]["script-src"])
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	return u
}
