package cli

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/wait"
)

// recordsOf parses a server's output: lines of JSON objects.
func recordsOf(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var v map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &v), line)
		all = append(all, v)
	}
	return all
}

// logged returns the first record with a message.
func logged(records []map[string]any, message string) map[string]any {
	for _, r := range records {
		if text, _ := r["msg"].(string); strings.Contains(text, message) {
			return r
		}
	}
	return nil
}

// TestEveryLineIsJSON: with a JSON log a server writes nothing else, no link to the first user, and durations
// have their unit.
func TestEveryLineIsJSON(t *testing.T) {
	r := newRail(t)
	r.environ["RAIL_LOG_FORMAT"], r.environ["RAIL_URL"] = "json", "https://rail.example"
	ctx, stop := context.WithCancel(t.Context())
	var out, errs screen
	status := make(chan int, 1)
	go func() {
		status <- Run(ctx, &Env{Out: &out, Err: &errs, Clock: r.now, Environ: r.environ}, []string{"serve"})
	}()
	wait.Until(t, func() bool {
		at := logged(recordsOf(t, errs.whole()), "Rail listens")
		if at == nil {
			return false
		}
		res, err := http.Get(at["url"].(string) + "/docs")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	url := r.object("user", "first-link")["url"]
	require.Contains(t, url, "/console/start/")
	stop()
	require.Zero(t, <-status)
	require.Empty(t, out.text())
	records := recordsOf(t, errs.text())
	require.Equal(t, true, logged(records, "Rail listens")["console_has_no_user"])
	require.NotContains(t, errs.text(), "/console/start/")
	require.Equal(t, "WARN", logged(records, "RAIL_URL is not a variable")["level"])
	require.NotNil(t, logged(records, "PostgreSQL runs as process"))
	request := logged(records, "request")
	require.IsType(t, 0.0, request["took_ms"])
	require.Less(t, request["took_ms"], 60_000.0)
	require.NotContains(t, errs.text(), `"took":`)

	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	r.environ["RAIL_ADDR"] = taken.Addr().String()
	for _, args := range []string{"serve", "migrate up"} {
		_, out, errs := r.run(strings.Fields(args)...)
		require.Empty(t, out)
		require.NotEmpty(t, recordsOf(t, errs), args)
	}
	r.environ["RAIL_DB_MAX_CONNS"], r.environ["RAIL_ADRR"] = "many", "x"
	_, _, wrong := r.run("serve")
	require.Equal(t, "ERROR", recordsOf(t, wrong)[0]["level"])
	require.Len(t, recordsOf(t, wrong), 1, "however many mistakes")
}

// TestLinkOnTerminalsAlone: only a terminal gets a link that creates an owner.
func TestLinkOnTerminalsAlone(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	var out screen
	env := &Env{Out: &out, Err: &out, Clock: r.now, Environ: r.environ}
	require.NoError(t, withDatabase(t.Context(), env, func(d *database) error { return greet(t.Context(), env, d) }))
	require.NotContains(t, out.text(), "/console/start/")
	require.Contains(t, out.text(), "has no user yet: rail user first-link")
	link := strings.TrimSpace(r.must("user", "first-link"))
	require.Regexp(t, `^http://\S+/console/start/\w+$`, link)
	r.must("org", "create", "--name", "Acme")
	require.NotEqual(t, link, strings.TrimSpace(r.must("user", "first-link")))
	r.must("user", "create", "--email", "ada@shop.example", "--name", "Ada", "--role", "owner")
	status, _, errs := r.run("user", "first-link")
	require.Equal(t, 1, status)
	require.Contains(t, errs, "the console has users")
}
