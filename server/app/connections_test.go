package app

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/wait"
)

// TestConnectionsAreBounded: connections beyond the limit are closed at once; others continue, and closing one
// makes room.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		most, ofAddress int
		proxies         []netip.Prefix
	}{
		"in all": {3, 9, nil}, "of one address": {9, 3, nil},
		"of a proxy": {3, 1, []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bound := newConnections(c.most, c.ofAddress, c.proxies, slog.New(slog.DiscardHandler))
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "ok")
			}))
			s.Config.ConnState = bound.follow
			s.Start()
			t.Cleanup(s.Close)
			var open []net.Conn
			for range 3 {
				open = append(open, dial(t, s))
				require.True(t, answers(open[len(open)-1]))
			}
			for range 3 {
				require.False(t, answers(dial(t, s)), "one too many")
			}
			require.True(t, answers(open[0]))
			require.NoError(t, open[0].Close())
			wait.Until(t, func() bool { return answers(dial(t, s)) })
			require.True(t, answers(open[1]))
		})
	}
}

func dial(t *testing.T, s *httptest.Server) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answers reports whether a request on the connection is answered.
func answers(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(30 * time.Second)) // fails only on a closed one, which the write then reports
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return false
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err == nil && res.StatusCode == http.StatusOK
}

// TestEveryListenerIsBounded: also the separate addresses of the console and the metrics.
func TestEveryListenerIsBounded(t *testing.T) {
	t.Parallel()
	a := &App{
		config: config.Config{ConsoleAddr: "127.0.0.1:0", MetricsAddr: "127.0.0.1:0"}, metrics: prometheus.NewRegistry(),
		log: slog.New(slog.DiscardHandler), handler: http.NotFoundHandler(),
	}
	l, err := Listen("RAIL_ADDR", "127.0.0.1:0")
	require.NoError(t, err)
	servers, err := a.listen(l)
	require.NoError(t, err)
	require.Len(t, servers, 3)
	for _, s := range servers {
		require.NoError(t, s.listener.Close())
		require.NotNil(t, s.ConnState)
	}
}
