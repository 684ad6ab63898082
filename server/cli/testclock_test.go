package cli

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// timed sends a request about the test clock to a server, and returns the answer. now is its body, if there is one.
func (r rail) timed(printed, key, now string) string {
	r.Helper()
	address := regexp.MustCompile(`listens on (\S+)`).FindStringSubmatch(printed)[1]
	method, body := http.MethodGet, ""
	if now != "" {
		method, body = http.MethodPost, `{"now": "`+now+`"}`
	}
	req, err := http.NewRequestWithContext(r.Context(), method, address+"/v1/test_clock", strings.NewReader(body))
	require.NoError(r, err)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	require.NoError(r, err)
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	require.NoError(r, err)
	return string(out)
}

// TestServeWithTestClock follows a database of tests: its keys, its commands, a second server, and a restart.
func TestServeWithTestClock(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	r.must("org", "create", "--name", "Tests")
	key, _ := r.object("key", "create", "--scope", "write", "--test")["key"].(string)
	r.environ["RAIL_TEST_CLOCK"] = "1"
	printed, end := r.serving()
	require.Contains(t, r.stderr.text(), "RAIL_TEST_CLOCK is set: the API can move the time of this server")
	require.Contains(t, r.timed(printed, key, "2026-12-01T00:00:00Z"), `"now":"2026-12-01T00:00:00.000Z"`)

	status, _, errs := r.run("key", "create", "--scope", "read")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "takes no live API keys")
	require.Equal(t, "2026-12-01T00:00:00.000Z", r.object("key", "create", "--scope", "read", "--test")["created_at"])
	require.Equal(t, "2026-12-01T00:00:00.000Z", r.object("job", "run", "mature-commissions")["now"])
	require.Equal(t, "2027-01-01T00:00:00.000Z",
		r.object("job", "run", "mature-commissions", "--now", "2027-01-01T00:00:00Z")["now"])

	status, _, errs = r.run("serve")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "another server runs the test clock of this database")
	end()
	delete(r.environ, "RAIL_TEST_CLOCK")
	status, _, errs = r.run("serve")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "set RAIL_TEST_CLOCK=1, or use another database")
	r.environ["RAIL_TEST_CLOCK"] = "1"
	r.now.Advance(time.Hour)
	printed, _ = r.serving()
	require.Contains(t, r.timed(printed, key, ""), `"now":"2026-12-01T01:00:00.000Z"`)
}

// TestJobInFuture: without a test clock, no job runs ahead of the time.
func TestJobInFuture(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	status, _, errs := r.run("job", "run", "clean-up", "--now", r.now.Now().Plus(time.Second).String())
	require.Equal(t, 2, status)
	require.Contains(t, errs, "--now must not be in the future")
	at := r.now.Now().String()
	require.Equal(t, at, r.object("job", "run", "clean-up", "--now", at)["now"])
}

// TestTestClockNeedsTests: a database with a live key gets no test clock.
func TestTestClockNeedsTests(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	r.must("org", "create", "--name", "Acme")
	r.must("key", "create", "--scope", "read")
	r.environ["RAIL_TEST_CLOCK"] = "1"
	status, _, errs := r.run("serve")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "this one has live API keys (1)")
	require.Contains(t, errs, "use a new database, with test keys only")
}
