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

// world serves all hosts of the tests: Rail at rail.test, and merchants' pages at every
// other host. Under /_r/ every merchant's host is a proxy for Rail.
type world struct {
	*apitest.Server
	rail     http.Handler
	port     string
	program  string
	key, tag string // for shop.test, its subdomains, and other.test

	mu     sync.Mutex
	hosts  map[string]http.Handler // merchants' servers
	pages  map[string]string       // by host and path
	policy string                  // the Content-Security-Policy of pages
	away   bool                    // Rail does not answer
	gate   chan struct{}           // Rail answers after it is closed; nil for at once
	log    []request
}

// request is a request that reached Rail.
type request struct {
	path, host string
	body       map[string]any
	status     int
}

// newWorld starts a server with the partners ada and bob. Its clock starts at the browsers' time.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, pgtest.DSN(t))
}

// newWorldOn is newWorld with a given database.
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

// at returns the URL of a page.
func (w *world) at(page string) string {
	host, path, _ := strings.Cut(page, "/")
	return "http://" + host + ":" + w.port + "/" + path
}

// proxied returns a tag that loads the script through the page's own host, with additional
// attributes.
func (w *world) proxied(attributes string) string {
	return `<script async src="/_r/rail.js" data-rail="` + w.key + `" ` + attributes + `></script>`
}

// shop sets the home page of shop.test, with the tag.
func (w *world) shop(attributes, body string) {
	w.page("shop.test/", w.proxied(attributes), body)
}

func (w *world) page(page, head, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[page] = "<!doctype html><title>x</title>" + head + "<body>" + body
}

// serve replaces the pages of a host by a merchant's server.
func (w *world) serve(host string, server http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts = map[string]http.Handler{host: server}
}

// setRail sets whether and when Rail answers.
func (w *world) setRail(away bool, gate chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.away, w.gate = away, gate
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	host, _, _ := strings.Cut(r.Host, ":")
	path, proxied := strings.CutPrefix(r.URL.Path, "/_r")
	if host == "rail.test" || proxied {
		w.forward(out, r, host, path)
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

// forward forwards a request to Rail and logs it.
func (w *world) forward(out http.ResponseWriter, r *http.Request, host, path string) {
	w.mu.Lock()
	away, gate := w.away, w.gate
	w.mu.Unlock()
	if away && strings.HasPrefix(path, "/t/") {
		panic(http.ErrAbortHandler)
	}
	if gate != nil && strings.HasPrefix(path, "/t/") {
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
	}
	sent, _ := io.ReadAll(r.Body)
	r.URL.Path, r.Body = path, io.NopCloser(strings.NewReader(string(sent)))
	got := httptest.NewRecorder()
	w.rail.ServeHTTP(got, r)
	entry := request{path: path, host: host, status: got.Code}
	_ = json.Unmarshal(sent, &entry.body)
	w.mu.Lock()
	if strings.HasPrefix(path, "/t/") && r.Method != http.MethodOptions {
		w.log = append(w.log, entry)
	}
	w.mu.Unlock()
	maps.Copy(out.Header(), got.Header())
	out.WriteHeader(got.Code)
	out.Write(got.Body.Bytes())
}

// requests returns the requests that Rail received at a path.
func (w *world) requests(path string) []request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []request
	for _, a := range w.log {
		if a.path == path {
			out = append(out, a)
		}
	}
	return out
}
