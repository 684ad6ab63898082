package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/wait"
	"rail/server/outbound/webhook/verify"
)

// arrived is a request received by the local program.
type arrived struct {
	header http.Header
	body   []byte
}

// sink is a local program that refuses the first event.
func sink(t *testing.T) (url string, got chan arrived) {
	t.Helper()
	got = make(chan arrived, 100)
	first := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // the test fails on a short body
		got <- arrived{r.Header, body}
		if first {
			first = false
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/hooks", got
}

// listening runs `rail listen` and returns its output and messages, once it has begun.
func (r rail) listening(args ...string) (out *screen, end func()) {
	r.Helper()
	ctx, stop := context.WithCancel(r.Context())
	out, status := &screen{}, make(chan int, 1)
	go func() {
		status <- Run(ctx, &Env{Out: out, Err: out, Clock: r.now, Environ: r.environ}, append([]string{"listen"}, args...))
	}()
	r.says(out, `signed with whsec_\S+`)
	return out, func() {
		stop()
		require.Zero(r, <-status, out.text())
	}
}

// says waits until something was printed.
func (r rail) says(out *screen, pattern string) {
	r.Helper()
	wait.Until(r, func() bool { return regexp.MustCompile(pattern).MatchString(out.text()) }, "%s: %s", pattern, out.text())
}

// passes advances the server's time, since a key has its rate limit.
func (r rail) passes() {
	tick := time.NewTicker(100 * time.Millisecond)
	ctx := r.Context()
	go func() {
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			r.now.Advance(200 * time.Millisecond)
		}
	}()
}

// TestListen: events arrive in order, signed with the shown secret, again after a refusal, and through a restart
// of the server; earlier events and other types do not.
func TestListen(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	r.now = clock.NewManual(time.Now())
	r.passes()
	r.environ["RAIL_ADDR"] = "127.0.0.1:" + freePort(t)
	_, end := r.serving()
	r.must("demo") // before the start
	url, got := sink(t)
	out, stop := r.listening("--forward-to", url, "--events", "affiliate.created,sale.created", "--print-body")
	secret := regexp.MustCompile(`whsec_\S+`).FindString(out.text())
	next := func(kind, attempt string) {
		t.Helper()
		select {
		case a := <-got:
			require.Contains(t, string(a.body), `"type":"`+kind+`"`)
			require.Equal(t, attempt, a.header.Get("Rail-Attempt"))
			require.NoError(t, verify.Signature(a.header, a.body, secret, r.now.Now().Time))
			require.NoError(t, verify.Standard(a.header, a.body, secret, r.now.Now().Time))
		case <-time.After(30 * time.Second):
			t.Fatal(out.text())
		}
	}
	r.must("demo")
	next("affiliate.created", "1")
	next("affiliate.created", "2")
	next("sale.created", "1")
	r.says(out, `affiliate\.created +evt_\w+  200  \d+ ms, attempt 2\n\{"id":"evt_`)
	end()
	r.says(out, "The server is unreachable; waiting for it: ")
	_, end = r.serving()
	r.says(out, "The server is back")
	r.must("demo")
	next("affiliate.created", "1")
	next("sale.created", "1")
	stop()
	again, stop := r.listening("--forward-to", url)
	require.Contains(t, again.text(), secret, "the same at every start")
	stop()
	end()
}

// TestRefusalBounds: a Retry-After from the server or a proxy is bounded.
func TestRefusalBounds(t *testing.T) {
	t.Parallel()
	for text, rest := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "86400": maxRest, "Wed, 21 Oct 2026 07:28:00 GMT": 0,
	} {
		res := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {text}}}
		require.Equal(t, max(listenPoll, rest), pauseAfter(refusal(res, []byte("<html>"))), text)
	}
}

// Wrong usage of listen and trigger is distinguished from a server's refusal.
func TestListenRefused(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"This API key is not known."}}`))
	}))
	t.Cleanup(api.Close)
	for _, c := range []struct {
		args   string
		status int
		says   string
	}{
		{"listen --forward-to localhost:3000", 2, "--forward-to"},
		{"listen --forward-to http://localhost:1 --events sale.creatd", 2, "did you mean sale.created?"},
		{"listen --forward-to http://localhost:1 --url http://localhost:1", 2, "a remote server needs its own API key"},
		{"trigger sale.created --forward-to http://localhost:1", 2, "there is no API key: give --key, or set RAIL_API_KEY"},
		{"listen --forward-to http://localhost:1 --url rail.example --key k", 2, "--url must be"},
		{"listen --forward-to http://localhost:1 --url " + api.URL + " --key k", 1, "answers 401: This API key is not known."},
		{"trigger sale.creatd --forward-to http://localhost:1", 2, "did you mean sale.created?"},
		{"trigger sale.created", 2, "give --forward-to or --endpoint"},
		{"trigger sale.created --forward-to http://127.0.0.1:1 --key k", 1, "connection was refused"},
		{"trigger sale.created --endpoint whe_1 --key k --url " + api.URL, 1, "answers 401"},
		{"demo --key k --url " + api.URL, 1, "A program, here without a holding period: the server answers 401"},
	} {
		status, _, errs := r.run(strings.Fields(c.args)...)
		require.Equal(t, c.status, status, c.args)
		require.Contains(t, errs, c.says, c.args)
	}
}

// TestTrigger: the example of every type arrives, signed as by listen.
func TestTrigger(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	url, got := sink(t)
	status, _, errs := r.run("trigger", "sale.created", "--forward-to", url, "--key", "k")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "The receiver answered 500.")
	<-got
	for _, kind := range eventTypes() {
		sent := r.object("trigger", kind, "--forward-to", url, "--key", "k")
		a := <-got
		require.EqualValues(t, 200, sent["status"])
		require.Contains(t, string(a.body), `{"id":"evt_test_`)
		require.NoError(t, verify.Signature(a.header, a.body, secretOf("k"), r.now.Now().Time))
	}
}

// TestTriggerEndpoint: the server sends it to a program's endpoint.
func TestTriggerEndpoint(t *testing.T) {
	t.Parallel()
	r := newRail(t)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, _ := io.ReadAll(q.Body) // the test fails on a short body
		if q.URL.Path != "/v1/webhook_endpoints/whe_1/ping" || string(body) != `{"event_type":"sale.created"}` {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(`{"event_id":"evt_test_1","response_code":200,"duration_ms":8,"request_body":"{}"}`))
	}))
	t.Cleanup(api.Close)
	sent := r.object("trigger", "sale.created", "--endpoint", "whe_1", "--key", "k", "--url", api.URL)
	require.EqualValues(t, 200, sent["status"])
	require.Equal(t, "evt_test_1", sent["id"])
}

// TestDemo pastes the output of demo into a shell, and opens the portal at its end.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("no " + name)
		}
	}
	r := newRail(t)
	r.environ["RAIL_ADDR"] = "127.0.0.1:" + freePort(t)
	_, end := r.serving()
	printed := r.must("demo")
	require.Contains(t, printed, "# The partner's earnings: 10.00 USD. Portal: http://")
	require.NotContains(t, printed, "rail_live_", "keys are not shown")
	cmd := exec.CommandContext(t.Context(), "bash", "-euc", `curl() { command curl --fail "$@"; echo; }`+"\n"+printed)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"due_minor":1000`)
	res, err := http.Get(regexp.MustCompile(`http\S+/portal/sso/\S+`).FindString(printed))
	require.NoError(t, err)
	defer res.Body.Close() // only read
	require.Equal(t, "/portal", res.Request.URL.Path)
	var calls struct{ Data []demoCall }
	require.NoError(t, json.Unmarshal([]byte(r.must("demo", "--json")), &calls))
	require.Len(t, calls.Data, len(demoSteps))
	end()
}

// TestNoProgressAmongLinesToPaste: demo shows progress only on a terminal that does not have its lines.
func TestNoProgressAmongLinesToPaste(t *testing.T) {
	t.Parallel()
	file, terminal := &progress{}, &progress{before: "\r"}
	for _, c := range []struct {
		err  *progress
		out  bool // a terminal
		want bool
	}{{file, false, false}, {file, true, false}, {terminal, true, false}, {terminal, false, true}} {
		env := &Env{progress: c.err, Terminal: c.out}
		require.Equal(t, c.want, command{pasted: true}.showsProgress(env), "%v", c)
		require.True(t, command{}.showsProgress(env))
	}
}
