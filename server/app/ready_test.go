package app

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/jobs"
)

// TestReadinessInDetail: each part has its line, and a failing part does not affect requests.
func TestReadinessInDetail(t *testing.T) {
	pool, c := pgtest.New(t), clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC))
	a := newAppBy(t, c, pool, nil)
	fails := errors.New("FATAL: password of rail")
	a.jobs = []jobs.Job{
		{Name: "shaky", Every: 30 * time.Second, Run: func(context.Context, clock.Time) error { return fails }},
		{Name: "well", Every: time.Second, Run: func(context.Context, clock.Time) error { return nil }},
	}
	rounds := func() {
		for _, j := range a.jobs {
			a.runner.Round(t.Context(), j)
		}
	}
	rounds()
	w := get(a, "/readyz?verbose")
	require.Equal(t, "[+]database ok\n[+]schema ok\n[+]disk ok\n[+]memory ok\n[+]webhooks ok\n[+]mail ok\n[+]inbox ok\n"+
		"[+]mail server ok\n[+]job shaky ok\n[+]job well ok\n"+
		"readyz check passed\n", w.Body.String())
	require.Equal(t, "text/plain; charset=UTF-8", w.Header().Get("Content-Type"))

	c.Advance(6 * time.Minute)
	rounds()
	w = get(a, "/readyz?verbose")
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "[-]job shaky failed: no success for 6m0s, every 30s\n[+]job well ok\nreadyz check passed")
	require.NotContains(t, w.Body.String(), "FATAL", "nothing that anybody should not read")
	require.JSONEq(t, `{"status":"ok"}`, get(a, "/readyz").Body.String())

	_, err := pool.Exec(t.Context(), "UPDATE schema_migrations SET version = 1, dirty = true")
	require.NoError(t, err)
	w = get(a, "/readyz?verbose")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Regexp(t, `(?s)^\[\+\]database ok\n\[-\]schema failed: .*readyz check failed\n$`, w.Body.String())
	pool.Close()
	w = get(a, "/readyz?verbose")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "[-]database failed: the database is unreachable or has no tables\n[+]schema ok\n[+]disk ok\n[+]memory ok\n[-]job shaky")
}

// TestReadinessOfQueues: entries overdue for too long are reported.
func TestReadinessOfQueues(t *testing.T) {
	pool := pgtest.New(t)
	for _, sql := range []string{
		`INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', '2026-01-01')`,
		`INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, next_attempt_at, created_at)
		VALUES ('mail_1', 'org_1', 'x', 'x', 'a@b.example', '', '', 'queued', '2026-09-01T11:00:00Z', '2026-09-01')`,
	} {
		_, err := pool.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	a := newAppBy(t, clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)), pool, nil)
	require.Contains(t, get(a, "/readyz?verbose").Body.String(),
		"[+]webhooks ok\n[-]mail failed: what was due first has waited for 1h0m0s\n[+]inbox ok\n[+]mail server ok\n")
	_, err := pool.Exec(t.Context(), "UPDATE mails SET attempts = 1, created_at = '2026-09-01T11:30:00Z', next_attempt_at = '2026-09-01T14:00:00Z'")
	require.NoError(t, err)
	a = newAppBy(t, clock.NewManual(time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)), pool, nil)
	require.Contains(t, get(a, "/readyz?verbose").Body.String(), "[+]mail ok\n[+]inbox ok\n[-]mail server failed: it has taken no mail for 30m0s\n")
}
