package hooks_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/process"
	"rail/server/inbound/connection"
)

// M is a JSON object.
type M = apitest.M

// large is the size of the largest accepted body.
const large = 2 << 20

// caller is a connection that has sent the head of an event.
type caller struct {
	net.Conn
	t testing.TB
}

// begin sends the head of an event from an address, with further header lines.
func begin(t testing.TB, s *apitest.Server, from, path string, size int, header string) caller {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n", path, size, header)
	require.NoError(t, err)
	return caller{conn, t}
}

// answer returns the server's answer, which may come before the body is sent.
func (c caller) answer() *http.Response {
	defer c.Close() // no response is pending
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(c.t, err, "the server waits for the body")
	require.NoError(c.t, res.Body.Close())
	return res
}

// TestHeadsAreRefusedFirst: a request without a signature, or with an expired one, is answered
// before its body arrives.
func TestHeadsAreRefusedFirst(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	at := func(d time.Duration) string { return strconv.FormatInt(s.Clock.Now().Add(d).Unix(), 10) }
	now, old, ahead := at(0), at(-6*time.Minute), at(6*time.Minute)
	sum := strings.Repeat("ab", 32)
	for processor, headers := range map[string][]string{
		connection.Stripe: {
			"", "Stripe-Signature: x\r\n", "Stripe-Signature: t=" + old + ",v1=" + sum + "\r\n",
			"Stripe-Signature: t=" + ahead + ",v1=" + sum + "\r\n", "Stripe-Signature: t=" + now + "\r\n",
		},
		connection.Paddle: {"", "Paddle-Signature: ts=" + old + ";h1=" + sum + "\r\n", "Paddle-Signature: h1=" + sum + "\r\n"},
		connection.Polar: {
			"", "webhook-id: a\r\nwebhook-timestamp: " + old + "\r\nwebhook-signature: v1,YQ==\r\n",
			"webhook-id: a\r\nwebhook-timestamp: soon\r\nwebhook-signature: v1,YQ==\r\n",
		},
		connection.Generic:      {"webhook-id: a\r\nwebhook-timestamp: " + now + "\r\n"},
		connection.LemonSqueezy: {"", "X-Signature: ab\r\n"},
		connection.Chargebee:    {"", "Authorization: Basic YTpi\r\n"},
	} {
		c := s.Connect(s.Program(), func(in *connection.Input) {
			if in.Processor = processor; processor != connection.Generic {
				in.Secret = "user:a secret of at least some length"
			}
		})
		for _, header := range headers {
			require.Equal(t, 400, begin(t, s, "127.0.0.1", "/hooks/"+processor+"/"+c.ID, large, header).answer().StatusCode,
				"%s %q", processor, header)
		}
	}
}

// TestSlowBodies: 300 unsigned bodies, each missing a byte, take little memory, even from many
// addresses. All are told to retry, and signed events are accepted meanwhile.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	first := apitest.Real(t)
	s := apitest.StartProcess(t, first, "RAIL_ADDRESS_RATE_LIMIT=25")
	c := first.Connect(first.Program())
	there := s.Connected(c.ID, c.Signing)
	const callers, addresses, places = 300, 20, 24
	header := fmt.Sprintf("webhook-id: a\r\nwebhook-timestamp: %d\r\nwebhook-signature: v1,YQ==\r\n", time.Now().Unix())
	junk := bytes.Repeat([]byte(" "), large-1)
	answers := make(chan *http.Response, callers)
	for i := range callers {
		from := fmt.Sprintf("127.0.0.%d", 2+i%addresses) // not that of the processor
		conn := begin(t, s.Server, from, "/hooks/generic/"+c.ID, large, header)
		t.Cleanup(func() { _ = conn.Close() })  // some hold a place until then
		go func() { _, _ = conn.Write(junk) }() // the server need not read it
		go func() {
			if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				answers <- res
			}
		}()
	}
	for _, size := range []int{10, 1 << 20, large - 100} {
		body, err := json.Marshal(M{"type": "nothing", "padding": strings.Repeat("x", size)})
		require.NoError(t, err)
		id := apitest.Unique("msg_")
		status := http.StatusTooManyRequests
		for tries := 0; tries < 5 && status == http.StatusTooManyRequests; tries++ { // as a processor repeats it
			status = there.SendRaw(body, id, time.Now(), c.Signing).Status
		}
		require.Equal(t, 200, status)
	}
	for range callers - places {
		res := <-answers
		require.Equal(t, 429, res.StatusCode)
		require.Equal(t, "1", res.Header.Get("Retry-After"))
	}
	mib, err := process.PeakMemory(s.Cmd.Process.Pid)
	if errors.Is(err, process.ErrNoMemory) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.Less(t, mib, 300, "MiB of memory, a fifth of the bodies")
}

// TestManyEventsOfOneAddress: events of a processor beyond the number of places and the address's
// limit are all accepted.
func TestManyEventsOfOneAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, func(c *config.Config) { c.AddressRateLimit = 5 })
	c := s.Connect(s.Program())
	body, err := json.Marshal(M{"type": "nothing", "padding": strings.Repeat("x", 100<<10)})
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			require.Equal(t, 200, c.SendRaw(body, apitest.Unique("msg_"), s.Clock.Now().Time, c.Signing).Status)
		})
	}
	all.Wait()
}
