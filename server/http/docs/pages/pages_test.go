package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func get(t *testing.T, ready Ready, path string) *httptest.ResponseRecorder {
	t.Helper()
	return accepting(t, ready, path, "")
}

func accepting(t *testing.T, ready Ready, path, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	e := echo.New()
	Register(e, ready, few)
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	e.ServeHTTP(w, r)
	return w
}

func up(context.Context) error { return nil }

func few(context.Context) []Check {
	return []Check{{"database", ""}, {"job send-mail", "no success for 2m0s, every 5s"}}
}

func TestProbes(t *testing.T) {
	down := func(context.Context) error { return errors.New("the database is away") }
	for _, c := range []struct {
		ready  Ready
		path   string
		status int
		body   string
	}{
		{up, "/healthz", 200, `{"status":"ok"}`},
		{down, "/healthz", 200, `{"status":"ok"}`},
		{up, "/readyz", 200, `{"status":"ok"}`},
		{up, "/readyz?verbose", 200, "[+]database ok\n[-]job send-mail failed: no success for 2m0s, every 5s\nreadyz check passed"},
		{down, "/readyz?verbose", 503, "[+]database ok\n[-]job send-mail failed: no success for 2m0s, every 5s\nreadyz check failed"},
		{down, "/readyz", 503, `{"status":"unavailable","reason":"the database is away"}`},
	} {
		w := get(t, c.ready, c.path)
		if w.Code != c.status || strings.TrimSpace(w.Body.String()) != c.body {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
}

func TestDocsLoadNothingFromElsewhere(t *testing.T) {
	page := get(t, up, "/docs").Body.String()
	links := regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) < 3 {
		t.Fatalf("links: %v", links)
	}
	for _, l := range links {
		if l[1] == "/llms-full.txt" || l[1] == "/docs/guides" { // other packages serve these
			continue
		}
		if w := get(t, up, l[1]); w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d", l[1], w.Code)
		}
	}
}

func TestScalarUnpacks(t *testing.T) {
	w, plain := accepting(t, up, "/docs/scalar-1.72.1.js", "gzip, zstd"), get(t, up, "/docs/scalar-1.72.1.js")
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Error("not marked as gzip")
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil || len(all) < 3_000_000 || !bytes.Equal(all, plain.Body.Bytes()) ||
		plain.Header().Get("Content-Encoding") != "" {
		t.Errorf("%d bytes, %v; plain %d", len(all), err, plain.Body.Len())
	}
}

func TestRootLeadsToDocs(t *testing.T) {
	if w := get(t, up, "/"); w.Code != http.StatusFound || w.Header().Get("Location") != "/docs" {
		t.Errorf("%d %s", w.Code, w.Header().Get("Location"))
	}
}
