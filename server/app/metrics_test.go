package app

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
)

// scrape returns the metrics of a server as Prometheus reads them.
func scrape(t *testing.T, a *App) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.metricsHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

// running is a server whose jobs have had a round.
func running(t *testing.T) *App {
	t.Helper()
	a := newApp(t, pgtest.New(t), nil)
	a.BuiltAs("v1.2.3")
	ctx, stop := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- a.Serve(ctx, l) }()
	t.Cleanup(func() { stop(); require.NoError(t, <-served) })
	wait.Until(t, func() bool {
		text := scrape(t, a)
		return strings.Contains(text, `rail_job_seconds_count{job="send-mail"}`) && strings.Contains(text, "rail_webhook_queue 0")
	}, "no job has run")
	return a
}

func TestMetricsListenApart(t *testing.T) {
	a := newApp(t, pgtest.New(t), nil)
	get(a, "/v1/openapi.json")
	require.Equal(t, http.StatusNotFound, get(a, "/metrics").Code)
	require.Contains(t, scrape(t, a), `rail_requests_total{operation="retrieveOpenAPIDocument",status="200",via=""} 1`)
	a.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/hooks/stripe/pco_1", nil))
	require.Contains(t, scrape(t, a), `rail_requests_total{operation="receiveProcessorEvent",status="404",via=""} 1`,
		"what is refused is counted")
}

// TestEveryRouteIsAnOperation: only unknown paths are counted without an operation.
func TestEveryRouteIsAnOperation(t *testing.T) {
	a := newApp(t, pgtest.New(t), nil)
	seen := map[string]bool{}
	for _, r := range a.echo.Routes() {
		if r.Method == http.MethodGet && !strings.HasPrefix(r.Path, "/v1/") && !seen[r.Path] {
			seen[r.Path] = true
			get(a, strings.NewReplacer(":slug", "AAAAAAA", ":token", "x", "/*", "/x").Replace(r.Path))
		}
	}
	text := scrape(t, a)
	require.NotContains(t, text, `operation="-"`, "a route has no name")
	for _, want := range []string{"portal", "console", "docs", "joinPage", "shortLink", "file", "probe", "mailPage"} {
		assert.Contains(t, text, `operation="`+want+`"`)
	}
	get(a, "/no/such/page")
	require.Contains(t, scrape(t, a), `operation="-",status="404",via=""} 1`)
}

func TestMetricsOfEverything(t *testing.T) {
	a := running(t)
	text := scrape(t, a)
	for _, want := range []string{
		`rail_build_info{go_version="go1.`, `rail_webhook_deliveries_total{outcome="delivered"} 0`, "rail_webhook_queue 0",
		"rail_webhook_oldest_seconds 0", "rail_webhook_endpoints_disabled 0", `rail_mails_total{outcome="sent"} 0`,
		"rail_mail_queue 0", "rail_mail_oldest_seconds 0", `rail_job_last_success_timestamp_seconds{job="send-mail"} 1.`,
		`rail_job_failures_total{job="fold-balances"} 0`, `rail_job_period_seconds{job="sum-reports"} 30`,
		"rail_ledger_unfolded 0", "rail_report_sums_dirty 0", "rail_database_bytes ", "rail_archive_behind_seconds 0", "rail_database_up 1",
		`rail_payouts{status="failed"} 0`, `rail_payouts_attention{attention="unconfirmed"} 0`, "rail_payout_oldest_seconds 0",
		"rail_payout_rails_failing 0", "rail_payout_rails_without_funds 0", "rail_inbox_queue 0", "rail_inbox_oldest_seconds 0", "rail_inbox_waiting 0", "rail_inbox_failed 0",
		`rail_batches_total{kind="transactions"}`, `rail_batch_requests_total{kind="reads"}`,
		`rail_batch_retries_total{kind="reads"}`, "rail_db_connections ",
	} {
		assert.Contains(t, text, "\n"+want)
	}
	for _, m := range regexp.MustCompile(`(?m)^rail_\w+\{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
		require.NotRegexp(t, `"(org|prg|part|wep|key)_`, m[1], "an id makes a series each")
	}
}

// TestPromtoolTakesTheMetrics: promtool accepts names, units and help.
func TestPromtoolTakesTheMetrics(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian's package prometheus has it)")
	}
	a := running(t)
	get(a, "/docs")
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(scrape(t, a))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

// TestMetricsWithoutTheDatabase: a scrape returns the process's own metrics soon.
func TestMetricsWithoutTheDatabase(t *testing.T) {
	pool := pgtest.New(t)
	a := newApp(t, pool, nil)
	pool.Close()
	began := time.Now()
	text := scrape(t, a)
	require.Less(t, time.Since(began), 30*time.Second)
	require.Contains(t, text, "rail_database_up 0")
	require.Contains(t, text, `rail_webhook_deliveries_total{outcome="failed"} 0`)
	require.NotContains(t, text, "rail_webhook_queue")
}
