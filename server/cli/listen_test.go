package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/gen/api"
	"rail/gen/events"
	"rail/server/config"
	"rail/server/event"
	"rail/server/outbound/webhook/verify"
	"rail/server/postgres"
)

// shared is output that may be read while it is written.
type shared struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestListen: events reach the developer's machine once and in order, signed
// with the secret that was shown; those of before do not.
func TestListen(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	cfg, err := config.Load(r.environ)
	require.NoError(t, err)
	at, err := locate(t.Context(), cfg, nil)
	require.NoError(t, err)
	pool, err := postgres.Open(t.Context(), at.dsn, postgres.Options{MaxConns: 4})
	require.NoError(t, err)
	defer pool.Close()
	record := func(id string) {
		e := event.Recorder{RequestID: "req_1", Now: r.now.Now()}
		about := event.Subject{ProgramID: "prg_1", ID: id}
		e.Record(org, about, events.AffiliateDeleted(api.AffiliateDeletedData{PartnerID: id}))
		require.NoError(t, e.Flush(t.Context(), pool))
	}
	record("part_before")
	type got struct {
		header http.Header
		body   []byte
	}
	arrived := make(chan got, 10)
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body) // the test fails on a short body
		arrived <- got{req.Header, body}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer sink.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out, ended := &shared{}, make(chan int)
	go func() {
		env := &Env{Out: out, Err: out, Clock: r.now, Environ: r.environ}
		ended <- Run(ctx, env, []string{"listen", "--forward-to", sink.URL + "/hooks"})
	}()
	require.Eventually(t, func() bool { return regexp.MustCompile(`whsec_\S+`).MatchString(out.String()) }, 10*time.Second,
		20*time.Millisecond)
	secret := regexp.MustCompile(`whsec_\S+`).FindString(out.String())
	record("part_1")
	record("part_2")
	for _, id := range []string{"part_1", "part_2"} {
		g := <-arrived
		require.Contains(t, string(g.body), id)
		require.NoError(t, verify.Signature(g.header, g.body, secret, r.now.Now().Time))
		require.NoError(t, verify.Standard(g.header, g.body, secret, r.now.Now().Time))
	}
	require.Eventually(t, func() bool {
		return len(regexp.MustCompile(`affiliate\.deleted +evt_\w+  204  \d+ ms`).FindAllString(out.String(), -1)) == 2
	}, 10*time.Second, 20*time.Millisecond)
	_, err = pool.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	require.NoError(t, err)
	record("part_3")
	require.Contains(t, string((<-arrived).body), "part_3", "a listener outlives the connection to its database")
	cancel()
	require.Zero(t, <-ended, out.String())
	again, stop := context.WithCancel(t.Context())
	out = &shared{}
	go func() {
		env := &Env{Out: out, Err: out, Clock: r.now, Environ: r.environ}
		ended <- Run(again, env, []string{"listen", "--forward-to", sink.URL + "/hooks"})
	}()
	require.Eventually(t, func() bool { return strings.Contains(out.String(), secret) }, 10*time.Second,
		20*time.Millisecond, "the same secret at every start")
	stop()
	require.Zero(t, <-ended, out.String())
	status, _, errs := r.run("listen", "--forward-to", "localhost:3000")
	require.Equal(t, 2, status)
	require.Contains(t, errs, "--forward-to")
}
