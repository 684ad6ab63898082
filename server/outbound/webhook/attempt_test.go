package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/outbound/webhook/vectors"
)

// direct dials without a guard: the sinks are on loopback.
var direct = (&net.Dialer{}).DialContext

func send(t *testing.T, url string) Outcome {
	t.Helper()
	c := NewClient("Rail", direct)
	defer c.Close()
	return c.Send(t.Context(),
		Message{
			URL: url, EventID: "evt_1", DeliveryID: "whd_1", Type: "sale.created", Attempt: 1, Body: []byte("{}"),
			Secrets: []string{vectors.Secret1},
		}, time.Now())
}

func serving(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// TestStatuses: every 2xx acknowledges, no other status does, and headers of the answer have no effect.
func TestStatuses(t *testing.T) {
	var elsewhere atomic.Int64
	second := serving(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for status := 200; status < 600; status++ {
		switch status {
		case 200, 201, 202, 204, 299, 300, 301, 302, 303, 307, 308, 400, 401, 404, 410, 422, 429, 451, 500, 502, 503, 504:
		default:
			continue
		}
		o := send(t, serving(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, value := range map[string]string{
				"Location": second, "Retry-After": "86400", "Set-Cookie": "a=b", "Alt-Svc": `h2="127.0.0.1:80"`,
				"Refresh": "0;url=" + second,
			} {
				w.Header().Set(name, value)
			}
			w.WriteHeader(status)
		}))
		require.Equal(t, status, o.Code)
		require.Equal(t, status < 300, o.Err == "", "%d: %s", status, o.Err)
	}
	require.Zero(t, elsewhere.Load(), "nobody follows a redirect")
}

// raw runs do for every connection.
func raw(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close() // a test's
				do(conn)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func request(c net.Conn) { _, _ = http.ReadRequest(bufio.NewReader(c)) }

// TestOddReceivers: receivers that refuse, disconnect, speak another protocol, or have no valid certificate or
// name fail, and the log explains why.
func TestOddReceivers(t *testing.T) {
	t.Parallel()
	selfSigned := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(selfSigned.Close)
	// A port without a listener that stays unused: a client holds it.
	taken, err := net.Dial("tcp", selfSigned.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	old := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10} // the refused version
	old.StartTLS()
	t.Cleanup(old.Close)
	for _, c := range []struct{ name, url, want string }{
		{"refused", "http://" + taken.LocalAddr().String(), "The connection was refused."},
		{
			"reset", raw(t, func(c net.Conn) { request(c); _ = c.(*net.TCPConn).SetLinger(0) }),
			"The connection was closed without an answer.",
		},
		{"closed", raw(t, request), "The connection was closed without an answer."},
		{"huge headers", raw(t, func(c net.Conn) {
			request(c)
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX: %s\r\n\r\n", strings.Repeat("x", 4<<20))
		}), "could not be read"},
		{"endless 103", raw(t, func(c net.Conn) {
			request(c)
			for range 10000 {
				if _, err := io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n\r\n"); err != nil {
					return
				}
			}
		}), "could not be read"},
		{"101", raw(t, func(c net.Conn) {
			request(c)
			_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			<-time.After(5 * time.Second) // it keeps the connection open
		}), "answered 101"},
		{"not HTTP", raw(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n"); request(c) }), "could not be read"},
		{
			"HTTP/0.9", raw(t, func(c net.Conn) { request(c); _, _ = io.WriteString(c, "<html>hello</html>") }),
			"could not be read",
		},
		{"self-signed", selfSigned.URL, "certificate is not valid"},
		{"TLS 1.1", old.URL, "TLS"},
		{"no such name", "http://nothing.invalid/", "did not resolve"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := send(t, c.url)
			require.Contains(t, o.Err, c.want)
			require.NotContains(t, o.Err, "127.0.0.1")
			require.Less(t, o.Took, Deadline)
		})
	}
}

// TestSlowReceivers: the ten seconds cover the whole attempt.
func TestSlowReceivers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		url        func(*testing.T) string
		least      time.Duration
	}{
		{"in time", "", func(t *testing.T) string {
			return serving(t, func(http.ResponseWriter, *http.Request) { <-time.After(8 * time.Second) })
		}, 8 * time.Second},
		{"too late", "10 seconds", func(t *testing.T) string {
			return serving(t, func(http.ResponseWriter, *http.Request) { <-time.After(15 * time.Second) })
		}, Deadline},
		{"never", "10 seconds", func(t *testing.T) string {
			return raw(t, func(c net.Conn) { request(c); <-time.After(15 * time.Second) })
		}, Deadline},
		{"drips", "", func(t *testing.T) string {
			return raw(t, func(c net.Conn) {
				request(c)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
				for range 15 {
					_, _ = io.WriteString(c, "x") // the client may have gone
					<-time.After(time.Second)
				}
			})
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := send(t, c.url(t))
			if c.want == "" {
				require.Empty(t, o.Err)
			}
			require.Contains(t, o.Err, c.want)
			require.GreaterOrEqual(t, o.Took, c.least)
			require.Less(t, o.Took, Deadline+4*time.Second)
		})
	}
}

// TestBigAnswers: an answer uses little memory, however long or compressed.
func TestBigAnswers(t *testing.T) {
	url := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Error("a compressed answer was asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		block := make([]byte, 1<<20)
		for range 200 {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	var before, after runtime.MemStats
	send(t, url)
	runtime.ReadMemStats(&before)
	o := send(t, url)
	runtime.ReadMemStats(&after)
	require.Empty(t, o.Err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// TestNoProxy: the environment's proxy settings are ignored.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	require.Empty(t, send(t, serving(t, func(http.ResponseWriter, *http.Request) {})).Err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := NewClient("Rail", direct)
	require.NotEmpty(t, c.Send(ctx, Message{URL: "http://127.0.0.1:1/"}, time.Now()).Err)
}
