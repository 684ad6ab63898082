package story

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// proxy passes requests to the server, and loses the first two answers to the creation of a tag: it cuts the connection
// after the server has answered. It answers the first retrieval of a program with 503 itself.
type proxy struct {
	url string
	mu  sync.Mutex
	got []*http.Request
}

var retrieval = regexp.MustCompile(`^/v1/programs/prg_\w+$`)

func newProxy(t *testing.T, server string) *proxy {
	t.Helper()
	target, err := url.Parse(server)
	require.NoError(t, err)
	p := &proxy{}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tries := p.record(r)
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/v1/tags" && tries <= 2:
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case r.Method == http.MethodGet && retrieval.MatchString(r.URL.Path) && tries == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	p.url = web.URL
	return p
}

// record notes a request, and returns how many with its method and path there were.
func (p *proxy) record(r *http.Request) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, r)
	return len(p.of(r.Method, r.URL.Path))
}

// of returns the requests with a method and a path. The caller has the lock, or no request is in flight.
func (p *proxy) of(method, path string) []*http.Request {
	var out []*http.Request
	for _, r := range p.got {
		if r.Method == method && r.URL.Path == path {
			out = append(out, r)
		}
	}
	return out
}

// check checks what passed: every request names the client and the version of the contract, every POST has a key, the
// retries of one POST have the same key, and the pages had the asked length.
func (p *proxy) check(t *testing.T, agent string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	keys, posts := map[string]string{}, 0 // the requests by key
	for _, r := range p.got {
		name := r.Method + " " + r.URL.Path
		require.True(t, strings.HasPrefix(r.UserAgent(), agent), "%s: %s", name, r.UserAgent())
		require.Equal(t, "2026-08-21", r.Header.Get("X-Rail-Version"), name)
		if r.Method == http.MethodPost {
			key := r.Header.Get("Idempotency-Key")
			require.NotEmpty(t, key, name)
			keys[key] += name + "\n"
			posts++
		}
	}
	tags := p.of(http.MethodPost, "/v1/tags")
	require.Len(t, tags, 3)
	require.Equal(t, strings.Repeat("POST /v1/tags\n", 3), keys[tags[0].Header.Get("Idempotency-Key")])
	require.Len(t, keys, posts-2)
	pages := p.of(http.MethodGet, "/v1/sales")
	require.Len(t, pages, 3)
	for _, r := range pages {
		require.Equal(t, "2", r.URL.Query().Get("limit"))
	}
}
