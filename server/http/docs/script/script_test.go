package script_test

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/http/docs/script"
)

// most is the maximum size of the compressed script.
const most = 2700

// fetch requests a path as a page of another origin does.
func fetch(t *testing.T, s *apitest.Server, method, path string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("Origin", "https://shop.example")
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, body
}

func TestServed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	for path, cache := range map[string]string{
		"/rail.js": "public, max-age=3600", script.Named(): "public, max-age=31536000, immutable",
	} {
		got, body := fetch(t, s, http.MethodGet, path)
		require.Equal(t, http.StatusOK, got.StatusCode, path)
		h := got.Header
		require.Equal(t, []string{
			cache, "text/javascript; charset=utf-8", "nosniff", "cross-origin", "*",
		}, []string{
			h.Get("Cache-Control"), h.Get("Content-Type"), h.Get("X-Content-Type-Options"),
			h.Get("Cross-Origin-Resource-Policy"), h.Get("Access-Control-Allow-Origin"),
		}, path)
		sum := sha256.Sum256(body)
		require.Equal(t, script.Named(), "/rail-"+hex.EncodeToString(sum[:4])+".js")
		again, none := fetch(t, s, http.MethodGet, path, "If-None-Match", h.Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.StatusCode, path)
		require.Empty(t, none)
		require.Equal(t, "*", again.Header.Get("Access-Control-Allow-Origin"))
		head, none := fetch(t, s, http.MethodHead, path)
		require.Equal(t, http.StatusOK, head.StatusCode, path)
		require.Empty(t, none)
		require.Equal(t, h.Get("Content-Length"), head.Header.Get("Content-Length"))
		zipped, small := fetch(t, s, http.MethodGet, path, "Accept-Encoding", "gzip")
		require.Equal(t, "gzip", zipped.Header.Get("Content-Encoding"))
		require.LessOrEqual(t, len(small), most, "every page of every merchant loads it")
	}
	other, _ := fetch(t, s, http.MethodGet, "/rail-00000000.js")
	require.Equal(t, http.StatusNotFound, other.StatusCode)
}

// TestTag: the tag's hash and integrity match the served script.
func TestTag(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	_, body := fetch(t, s, http.MethodGet, script.Named())
	sum := sha512.Sum384(body)
	require.Equal(t, `<script async src="https://rail.example`+script.Named()+`" integrity="sha384-`+
		base64.StdEncoding.EncodeToString(sum[:])+`" crossorigin="anonymous" data-rail="rail_pub_1"></script>`,
		script.Tag("https://rail.example/", "rail_pub_1", "ref"))
	require.Contains(t, script.Tag("https://rail.example", "rail_pub_1", "via", "ref"), ` data-params="via,ref">`)
	require.Contains(t, script.Tag(`https://rail.example/"><b>`, "x"), `/&#34;&gt;&lt;b&gt;/rail-`)
}

// TestReleased: the name of each script has the hash of its content.
func TestReleased(t *testing.T) {
	t.Parallel()
	old, err := filepath.Glob("released/rail-*.js")
	require.NoError(t, err)
	for _, name := range append(old, "../../../../gen/script/rail.js") {
		body, err := os.ReadFile(name)
		require.NoError(t, err)
		sum := sha256.Sum256(body)
		want := "rail-" + hex.EncodeToString(sum[:4]) + ".js"
		require.True(t, filepath.Base(name) == want || "/"+want == script.Named(), "%s is %s", name, want)
		require.NotContains(t, string(body), "eval(", name)
	}
}
