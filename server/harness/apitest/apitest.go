// Package apitest runs the real server on a real database for tests, and checks every response against the description.
//
// New gives a test its own database, clock and organization, so that tests run in parallel. Its methods send
// requests as an untyped client would (Get, Post, Do), or set objects up in one line (Program, Partner, Sale).
// Inboxed, Earner and PayoutRail are programs with a processor, due balances or a payment rail. Jobs do not run: a test
// calls what it needs (RunJob). Processes starts the binary itself, for tests of several replicas
// and of crashes, and Sink receives webhooks.
package apitest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/app"
	"rail/server/app/config"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/ident"
	"rail/server/secret"
	"rail/server/work/testclock"
)

// Start is the time of the manual clock at the start of every test: the middle of a day, on the first of a month.
var Start = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// Server is a running server with an organization, a program and a key.
type Server struct {
	T     testing.TB
	URL   string
	Pool  *pgxpool.Pool
	DSN   string
	Clock *clock.Manual
	Org   string
	Key   string // scopes read and write, and a rate limit above that of tests
	// Client is the generated client with Key.
	Client *api.ClientWithResponses
	Config config.Config
	log    *record
	// Tested is the time of a server with TestClock; it is ahead of Clock.
	Tested *testclock.Clock
	// succeeded is shared with the server's processes.
	succeeded *succeeded
}

// Option changes how a server is started.
type Option func(*config.Config)

// New starts a server on a new database. Its clock stays at Start until a test moves it. It stops with the test.
func New(t testing.TB, options ...Option) *Server {
	t.Helper()
	dsn := pgtest.DSN(t)
	return On(t, dsn, clock.NewManual(Start), options...)
}

// On starts another server on the database at dsn, as a second server with the same secret key and another
// organization.
func On(t testing.TB, dsn string, c *clock.Manual, options ...Option) *Server {
	t.Helper()
	cfg, err := config.Load(map[string]string{"RAIL_DATA_DIR": t.TempDir(), "RAIL_BASE_URL": "https://rail.example"})
	require.NoError(t, err)
	cfg.AddressRateLimit = 1_000_000 // all requests of tests come from one address
	// Any key that all replicas share.
	for i := range cfg.SecretKey {
		cfg.SecretKey[i] = byte(i)
	}
	for _, o := range options {
		o(&cfg)
	}
	pool := pgtest.Pool(t, dsn)
	s := &Server{
		T: t, Pool: pool, DSN: dsn, Clock: c, Config: cfg, log: &record{}, succeeded: &succeeded{set: map[string]bool{}},
	}
	s.takeClock()
	a, err := app.New(cfg, pool, s.time(), slog.New(slog.NewTextHandler(io.MultiWriter(s.log, console()), nil)))
	require.NoError(t, err)
	a.Test(s.Tested)
	var following sync.WaitGroup
	following.Go(func() { a.Follow(t.Context()) })
	t.Cleanup(following.Wait) // the context has ended by then
	web := httptest.NewServer(a.Handler())
	t.Cleanup(web.Close)
	s.URL = web.URL
	s.Org = s.NewOrg("Test")
	s.Key = s.NewKey(s.Org, !cfg.TestClock, "read", "write")
	s.Client = s.ClientFor(s.Key)
	return s
}

// console returns standard error if RAIL_TEST_LOG is set, to show the log.
func console() io.Writer {
	if os.Getenv("RAIL_TEST_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

// record is a log that can be read while requests still write to it.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// Log returns the server's log.
func (s *Server) Log() string {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	return s.log.text.String()
}

// NewOrg adds an organization and returns its id.
func (s *Server) NewOrg(name string) string {
	s.T.Helper()
	id := ident.New(ident.Organization)
	err := db.New().OrganizationInsert(context.Background(), s.Pool, db.OrganizationInsertParams{
		ID: id, Name: name, CreatedAt: s.Clock.Now(),
	})
	require.NoError(s.T, err)
	return id
}

// NewKey adds an API key with scopes, and a rate limit above that of tests, and returns its token.
func (s *Server) NewKey(org string, live bool, scopes ...string) string {
	s.T.Helper()
	token, _ := s.NewKeyWith(org, live, 1_000_000, scopes...)
	return token
}

// NewKeyWith adds an API key with a rate limit and returns its token and id.
func (s *Server) NewKeyWith(org string, live bool, perSecond int32, scopes ...string) (token, id string) {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	token, id = auth.NewToken(live), ident.New(ident.APIKey)
	err = db.New().APIKeyInsert(context.Background(), s.Pool, db.APIKeyInsertParams{
		ID: id, OrgID: org, UserID: ident.New(ident.User), Hash: keeper.HashAPIKey(token), Last4: token[len(token)-4:],
		Livemode: live, Scopes: scopes, RateLimit: perSecond, Version: "2026-08-21", CreatedAt: s.Clock.Now(),
	})
	require.NoError(s.T, err)
	return token, id
}

// ClientFor returns the generated client with a key. Answers to it are checked against
// the description.
func (s *Server) ClientFor(key string) *api.ClientWithResponses {
	s.T.Helper()
	h := &http.Client{Transport: &checker{s: s, next: http.DefaultTransport}}
	c, err := api.NewClientWithResponses(s.URL, api.WithHTTPClient(h),
		api.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+key)
			return nil
		}))
	require.NoError(s.T, err)
	return c
}
