package static

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func text(body string) *Text {
	return New("text/plain; charset=utf-8", "public, max-age=300", func() ([]byte, error) { return []byte(body), nil })
}

func ask(t *testing.T, x *Text, accept, has string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	require.NoError(t, x.Serve(w, accept, has))
	return w
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("one and the same ", 100)
	x := text(body)
	for accept, want := range map[string]string{
		"": "", "identity": "", "br": "", "*": "", "gzip;q=0": "", "gzip; q=0.0, zstd;q=0": "", "gzip;q=x": "",
		"gzip;q=2": "",
		"gzip":     "gzip", "GZip": "gzip", "br, gzip;q=0.1": "gzip", "gzip, zstd;q=0.5": "gzip", "zstd;q=0, gzip": "gzip",
		"gzip, deflate, br, zstd": "zstd", "zstd, gzip": "zstd", "gzip;q=0.5,zstd;q=0.5": "zstd", "zstd": "zstd",
	} {
		w := ask(t, x, accept, "")
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, want, w.Header().Get("Content-Encoding"), accept)
		require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
		require.Equal(t, body, unpacked(t, want, w.Body), accept)
	}
	require.Empty(t, ask(t, text("short"), "gzip, zstd", "").Header().Get("Content-Encoding"))
}

func unpacked(t *testing.T, encoding string, in io.Reader) string {
	t.Helper()
	switch encoding {
	case "gzip":
		z, err := gzip.NewReader(in)
		require.NoError(t, err)
		in = z
	case "zstd":
		z, err := zstd.NewReader(in)
		require.NoError(t, err)
		defer z.Close()
		in = z
	}
	out, err := io.ReadAll(in)
	require.NoError(t, err)
	return string(out)
}

// TestETags: each encoding has a different ETag, and each of them yields a 304.
func TestETags(t *testing.T) {
	t.Parallel()
	x := text(strings.Repeat("one and the same ", 100))
	tags := map[string]bool{}
	for _, accept := range []string{"", "gzip", "zstd"} {
		tag := ask(t, x, accept, "").Header().Get("ETag")
		require.Regexp(t, `^"[0-9a-f]{24}(-gzip|-zstd)?"$`, tag)
		tags[tag] = true
		for _, has := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
			for _, other := range []string{"", "gzip", "zstd"} {
				w := ask(t, x, other, has)
				require.Equal(t, http.StatusNotModified, w.Code, has)
				require.Zero(t, w.Body.Len())
				require.Equal(t, "public, max-age=300", w.Header().Get("Cache-Control"))
				require.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
			}
		}
		for _, foreign := range []string{"", tag[1:], strings.Replace(tag, `"`, `"x`, 1), strings.Trim(tag, `"`)} {
			require.Equal(t, http.StatusOK, ask(t, x, accept, foreign).Code, foreign)
		}
	}
	require.Len(t, tags, 3)
}

func TestZipped(t *testing.T) {
	t.Parallel()
	packed, err := gzipped([]byte("plain"))
	require.NoError(t, err)
	x := Zipped("text/plain", "no-store", func() ([]byte, error) { return packed, nil })
	require.True(t, bytes.Equal(packed, ask(t, x, "gzip, zstd", "").Body.Bytes()))
	require.Equal(t, "plain", ask(t, x, "zstd", "").Body.String())
}
