package app

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
	"rail/server/http/docs/mailpages"
	"rail/server/http/docs/script"
)

func TestMain(m *testing.M) {
	// Pebble's validator, which waits and refuses at random like a busy authority, can only be configured by
	// variables.
	_, _ = os.Setenv("PEBBLE_VA_NOSLEEP", "1"), os.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	pgtest.Main(m)
}

func newApp(t *testing.T, pool *pgxpool.Pool, change func(*config.Config)) *App {
	t.Helper()
	return newAppBy(t, clock.System{}, pool, change)
}

func newAppBy(t *testing.T, now clock.Clock, pool *pgxpool.Pool, change func(*config.Config)) *App {
	t.Helper()
	cfg, err := config.Load(map[string]string{"RAIL_DATA_DIR": t.TempDir()})
	require.NoError(t, err)
	if change != nil {
		change(&cfg)
	}
	a, err := New(cfg, pool, now, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return a
}

func get(a *App, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

func TestReadinessFollowsTheSchema(t *testing.T) {
	pool := pgtest.New(t)
	a := newApp(t, pool, nil)
	require.Equal(t, http.StatusOK, get(a, "/readyz").Code)
	_, err := pool.Exec(t.Context(), "UPDATE schema_migrations SET version = version + 1")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, get(a, "/readyz").Code, "the next release only adds")
	_, err = pool.Exec(t.Context(), "UPDATE schema_floor SET version = (SELECT version FROM schema_migrations)")
	require.NoError(t, err)
	w := get(a, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Contains(t, w.Body.String(), "newer than this program")
	require.Equal(t, http.StatusOK, get(a, "/healthz").Code)
}

func TestReadinessFollowsTheDatabase(t *testing.T) {
	pool := pgtest.New(t)
	a := newApp(t, pool, nil)
	pool.Close()
	require.Equal(t, http.StatusServiceUnavailable, get(a, "/readyz").Code)
}

func TestPagesCarryTheRequestIDOnly(t *testing.T) {
	a := newApp(t, pgtest.New(t), nil)
	for _, path := range []string{"/healthz", "/readyz", "/docs"} {
		h := get(a, path).Header()
		require.NotEmpty(t, h.Get("Rail-Request-Id"), path)
		require.Empty(t, h.Get("X-Rail-Version")+h.Get("X-RateLimit-Limit"), path)
	}
	h := get(a, "/llms.txt").Header()
	require.NotEmpty(t, h.Get("X-Rail-Version"))
}

// TestEveryPublicRouteIsLimited: beyond its address's limit, a client without a key gets only a readable refusal
// from a path, or the path's one harmless purpose.
func TestEveryPublicRouteIsLimited(t *testing.T) {
	a := newAppBy(t, clock.NewManual(time.Now()), pgtest.New(t), nil)
	ask := func(r *echo.Route, i int, kind string) *httptest.ResponseRecorder {
		q := httptest.NewRequest(r.Method,
			strings.NewReplacer(":slug", "AAAAAAA", ":token", "x", "/*", "/sso/x").Replace(r.Path), nil)
		q.RemoteAddr = netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}).String() + ":1"
		q.Header.Set("Accept", kind)
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, q)
		return w
	}
	still := map[string]int{
		"/healthz": 200, "/readyz": 200, "/r/:slug": 404, mailpages.PicturePath: 200, script.Path: 200,
	}
	scripts := regexp.MustCompile(`^/rail-[0-9a-f]{8}\.js$`) // of this release and the earlier ones
	seen, programs := 0, regexp.MustCompile(`^/(v1/|t/|hooks/|llms|mcp$)`)
	for i, r := range a.echo.Routes() {
		if strings.HasPrefix(r.Path, "/v1/") && r.Path != "/v1/openapi.json" {
			continue // without a key it ends there
		}
		seen++
		for range a.config.AddressRateLimit {
			require.NotEqual(t, http.StatusTooManyRequests, ask(r, i, "").Code, "%s %s", r.Method, r.Path)
		}
		w := ask(r, i, "text/html,*/*")
		if scripts.MatchString(r.Path) {
			still[r.Path] = http.StatusOK
		}
		if status, ok := still[r.Path]; ok {
			require.Equal(t, status, w.Code, "%s %s", r.Method, r.Path)
			continue
		}
		require.Equal(t, http.StatusTooManyRequests, w.Code, "%s %s", r.Method, r.Path)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		if r.Method == http.MethodHead || r.Method == http.MethodOptions { // without a body
			continue
		}
		require.Equal(t, programs.MatchString(r.Path),
			!strings.Contains(w.Body.String(), "<h1>"), "%s %s", r.Method, r.Path)
		require.Equal(t, "application/json", ask(r, i, "application/json").Header().Get("Content-Type"), r.Path)
	}
	require.Greater(t, seen, 20)
}

func TestDocumentsAnswerNotModified(t *testing.T) {
	a := newApp(t, pgtest.New(t), nil)
	for _, path := range []string{"/v1/openapi.json", "/llms.txt", "/llms-full.txt"} {
		tag := get(a, path).Header().Get("ETag")
		require.Regexp(t, `^"[0-9a-f]{24}(-gzip|-zstd)?"$`, tag)
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("If-None-Match", `"x", W/`+tag)
		w := httptest.NewRecorder()
		a.Handler().ServeHTTP(w, r)
		require.Equal(t, http.StatusNotModified, w.Code, path)
		require.Zero(t, w.Body.Len())
		require.Equal(t, "public, max-age=300", w.Header().Get("Cache-Control"))
	}
}

// slow is a server with a slow route.
type slow struct {
	address          string
	entered, release chan struct{}
	stop             context.CancelFunc
	served           chan error
}

func serveSlow(t *testing.T, limit time.Duration) slow {
	t.Helper()
	a := newApp(t, pgtest.New(t), func(c *config.Config) { c.ShutdownTimeout = limit })
	s := slow{entered: make(chan struct{}), release: make(chan struct{}), served: make(chan error, 1)}
	a.echo.GET("/slow", func(c echo.Context) error {
		close(s.entered)
		<-s.release
		return c.String(http.StatusOK, "done")
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.address = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	go func() { s.served <- a.Serve(ctx, l) }()
	return s
}

func TestStopFinishesRequests(t *testing.T) {
	s := serveSlow(t, 10*time.Second)
	answer := make(chan string, 1)
	go func() {
		res, err := http.Get("http://" + s.address + "/slow")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer res.Body.Close() // only read
		body, _ := io.ReadAll(res.Body)
		answer <- string(body)
	}()
	<-s.entered
	s.stop()
	wait.Until(t, func() bool {
		c, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	}, "still accepting")
	close(s.release)
	require.Equal(t, "done", <-answer)
	require.NoError(t, <-s.served)
}

func TestStopCutsOffSlowRequests(t *testing.T) {
	s := serveSlow(t, 50*time.Millisecond)
	go func() {
		if res, err := http.Get("http://" + s.address + "/slow"); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-s.entered
	s.stop()
	err := <-s.served
	require.ErrorContains(t, err, "still running after 50ms")
	close(s.release)
}

// TestConsoleListensApart: a console with a separate address is only there, and the API is not.
func TestConsoleListensApart(t *testing.T) {
	a := newApp(t, pgtest.New(t), func(c *config.Config) { c.ConsoleAddr = "127.0.0.1:0" })
	for path, want := range map[string][2]int{ // at the API's address, at the console's
		"/console/sign-in": {404, 200}, "/console": {404, 303}, "/consoles": {404, 404}, "/v1/programs": {401, 404},
		"/portal": {401, 404}, "/healthz": {200, 200}, "/": {302, 302},
	} {
		require.Equal(t, want[0], get(a, path).Code, path)
		w := httptest.NewRecorder()
		a.consoleHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		require.Equal(t, want[1], w.Code, path)
	}
}
