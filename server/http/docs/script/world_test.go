package script_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

// world is what a browser can reach: Rail at rail.test, and pages of merchants at any
// other host. Under /_r/ each of these hands requests on to Rail, as the proxies of
// merchants do.
type world struct {
	*apitest.Server
	rail     http.Handler
	port     string
	program  string
	key, tag string // of shop.test, what is below it, and other.test

	mu     sync.Mutex
	hosts  map[string]http.Handler // servers of merchants
	pages  map[string]string       // by host and path
	policy string                  // the Content-Security-Policy of pages
	away   bool                    // Rail answers nothing
	held   chan struct{}           // Rail answers when it is closed; nil for at once
	asked  []asked
}

// asked is a request that reached Rail.
type asked struct {
	path, host string
	body       map[string]any
	status     int
}

// newWorld starts a server, whose clock is that of browsers, with the partners ada and bob.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, pgtest.DSN(t))
}

// newWorldOn is newWorld with a database.
func newWorldOn(t *testing.T, dsn string) *world {
	t.Helper()
	w := &world{pages: map[string]string{}}
	front := httptest.NewServer(w)
	t.Cleanup(front.Close)
	_, w.port, _ = strings.Cut(strings.TrimPrefix(front.URL, "http://"), ":")
	w.Server = apitest.On(t, dsn, clock.NewManual(clock.Real()), func(c *config.Config) {
		c.BaseURL = "http://rail.test:" + w.port
	})
	behind, err := url.Parse(w.URL)
	require.NoError(t, err)
	w.rail = httputil.NewSingleHostReverseProxy(behind)
	w.program = w.Program()
	ada := w.Partner(w.program, apitest.M{"handle": "ada"})
	w.Partner(w.program, apitest.M{"handle": "bob"})
	w.Must(http.StatusCreated, w.Post("/v1/coupons", apitest.M{"program_id": w.program, "code": "X20", "partner_id": ada}))
	key := w.Must(http.StatusCreated, w.Post("/v1/publishable_keys", apitest.M{
		"program_id": w.program, "allowed_hosts": []string{"shop.test", "*.shop.test", "other.test"}, "allow_leads": true,
	}))
	w.key, w.tag = key.String("key"), key.String("tag")
	return w
}

// at returns the address of a page.
func (w *world) at(page string) string {
	host, path, _ := strings.Cut(page, "/")
	return "http://" + host + ":" + w.port + "/" + path
}

// proxied returns the tag with further attributes, for pages that load it through the
// proxy of their own host.
func (w *world) proxied(attributes string) string {
	return `<script async src="/_r/rail.js" data-rail="` + w.key + `" ` + attributes + `></script>`
}

// shop makes a page of shop.test with the tag.
func (w *world) shop(attributes, body string) {
	w.page("shop.test/", w.proxied(attributes), body)
}

func (w *world) page(page, head, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[page] = "<!doctype html><title>x</title>" + head + "<body>" + body
}

// serve puts a server of a merchant in the place of a host's pages.
func (w *world) serve(host string, server http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts = map[string]http.Handler{host: server}
}

// behaves says how Rail behaves from now on.
func (w *world) behaves(away bool, held chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away, w.held = away, held
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	path, proxied := strings.CutPrefix(r.URL.Path, "/_r")
	if host == "rail.test" || proxied {
		w.hand(out, r, host, path)
		return
	}
	w.mu.Lock()
	server, page, policy := w.hosts[host], w.pages[host+r.URL.Path], w.policy
	w.mu.Unlock()
	if server != nil {
		server.ServeHTTP(out, r)
		return
	}
	if policy != "" {
		out.Header().Set("Content-Security-Policy", policy)
	}
	out.Header().Set("Content-Type", "text/html; charset=utf-8")
	io.WriteString(out, page)
}

// hand hands a request on to Rail, and notes it.
func (w *world) hand(out http.ResponseWriter, r *http.Request, host, path string) {
	w.mu.Lock()
	away, held := w.away, w.held
	w.mu.Unlock()
	if away && strings.HasPrefix(path, "/t/") {
		panic(http.ErrAbortHandler)
	}
	if held != nil && strings.HasPrefix(path, "/t/") {
		select {
		case <-held:
		case <-r.Context().Done():
			return
		}
	}
	sent, _ := io.ReadAll(r.Body)
	r.URL.Path, r.Body = path, io.NopCloser(strings.NewReader(string(sent)))
	got := httptest.NewRecorder()
	w.rail.ServeHTTP(got, r)
	note := asked{path: path, host: host, status: got.Code}
	_ = json.Unmarshal(sent, &note.body)
	w.mu.Lock()
	if strings.HasPrefix(path, "/t/") && r.Method != http.MethodOptions {
		w.asked = append(w.asked, note)
	}
	w.mu.Unlock()
	maps.Copy(out.Header(), got.Header())
	out.WriteHeader(got.Code)
	out.Write(got.Body.Bytes())
}

// requests returns what Rail was asked at a path.
func (w *world) requests(path string) []asked {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []asked
	for _, a := range w.asked {
		if a.path == path {
			out = append(out, a)
		}
	}
	return out
}
