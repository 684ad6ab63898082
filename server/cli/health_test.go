package cli

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHealth: a container's health check relies on the status.
func TestHealth(t *testing.T) {
	answer := http.StatusOK
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(answer)
		_, _ = w.Write([]byte(`{"reason":"the database is away at ` + r.URL.Path + `"}`))
	}))
	t.Cleanup(web.Close)
	r := newRail(t)
	r.environ["RAIL_ADDR"] = strings.TrimPrefix(web.URL, "http://")
	require.Equal(t, "ok\n", r.must("health"))
	require.Equal(t, "ok\n", r.must("health", "--url", web.URL+"/healthz"))
	answer = http.StatusServiceUnavailable
	status, _, errs := r.run("health")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "answers 503: ")
	require.Contains(t, errs, "/readyz")
	web.Close()
	status, _, _ = r.run("health")
	require.Equal(t, 1, status)
	r.environ["RAIL_ADDR"] = "127.0.0.1:0"
	status, _, errs = r.run("health")
	require.Equal(t, 2, status)
	require.Contains(t, errs, "give --url")
	_, err := os.Stat(r.environ["RAIL_DATA_DIR"])
	require.ErrorIs(t, err, os.ErrNotExist, "a health check makes no data directory")
}

// TestHealthOfAServer checks a real server on its own port.
func TestHealthOfAServer(t *testing.T) {
	r := newRail(t)
	printed, end := r.serving()
	base := regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(printed)[1]
	require.Equal(t, "ok\n", r.must("health", "--url", base+"/readyz"))
	end()
	status, _, _ := r.run("health", "--url", base+"/readyz")
	require.Equal(t, 1, status)
}

func TestLocalAddress(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0:8080": "http://127.0.0.1:8080", ":8080": "http://127.0.0.1:8080", "[::]:80": "http://127.0.0.1:80",
		"127.0.0.1:1": "http://127.0.0.1:1", "[::1]:2": "http://[::1]:2", "rail:3": "http://rail:3",
	} {
		got, err := localAddress(addr, false)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, addr := range []string{"", "8080", "host:", "host:0"} {
		_, err := localAddress(addr, true)
		require.Error(t, err, addr)
	}
}

// A server with https is asked by its certificate's name; other servers need a valid certificate.
func TestHealthByTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.ServerName != "rail.example" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	require.NoError(t, ask(t.Context(), s.URL, "rail.example"))
	require.ErrorContains(t, ask(t.Context(), s.URL, ""), "certificate")
	at, err := localAddress(":8443", true)
	require.NoError(t, err)
	require.Equal(t, "https://127.0.0.1:8443", at)
}
