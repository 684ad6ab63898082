package script_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// world is what a browser can reach: Rail at rail.test, and pages of merchants at any
// other host. Under /_r/ each of these hands requests on to Rail, as the proxies of
// merchants do.
type world struct {
	t    *testing.T
	rail http.Handler
	port string

	mu     sync.Mutex
	pages  map[string]string // by host and path
	policy string            // the Content-Security-Policy of pages
	away   bool              // Rail answers nothing
	held   chan struct{}     // Rail answers when it is closed; nil for at once
	asked  []asked
}

// asked is a request that reached Rail.
type asked struct {
	path, host string
	body       map[string]any
	status     int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, rail: newDouble(t), pages: map[string]string{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	_, w.port, _ = strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	return w
}

// at returns the address of a page.
func (w *world) at(page string) string {
	host, path, _ := strings.Cut(page, "/")
	return "http://" + host + ":" + w.port + "/" + path
}

// tag returns the tag with further attributes. A page of its own origin loads it through
// the proxy.
func (w *world) tag(attributes string) string {
	return `<script async src="/_r/rail.js" data-rail="` + key + `" ` + attributes + `></script>`
}

// shop makes a page of shop.test with the tag.
func (w *world) shop(attributes, body string) {
	w.page("shop.test/", w.tag(attributes), body)
}

func (w *world) page(page, head, body string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pages[page] = "<!doctype html><title>x</title>" + head + "<body>" + body
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
	page, policy := w.pages[host+r.URL.Path], w.policy
	w.mu.Unlock()
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
	if away && path != "/rail.js" {
		panic(http.ErrAbortHandler)
	}
	if held != nil && path != "/rail.js" {
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
	if path != "/rail.js" && r.Method != http.MethodOptions {
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
