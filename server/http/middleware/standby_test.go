package middleware_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/harness/wait"
)

// replicated returns a server with a standby in use.
func replicated(t *testing.T) (*apitest.Server, *pgtest.Standby) {
	t.Helper()
	dsn, standby := pgtest.Replicated(t)
	s := apitest.On(t, dsn, clock.NewManual(apitest.Start), at(standby))
	used(s, s.Key)
	return s, standby
}

// at gives a server a standby.
func at(standby *pgtest.Standby) apitest.Option {
	return func(c *config.Config) { c.ReadURL = standby.DSN() }
}

// used waits until the standby answers the reads of a key.
func used(s *apitest.Server, key string) {
	s.T.Helper()
	before := strings.Count(s.Log(), "standby=true")
	wait.Until(s.T, func() bool {
		total(s, key)
		return strings.Count(s.Log(), "standby=true") > before
	})
}

// total returns the number of programs that a key sees.
func total(s *apitest.Server, key string, headers ...string) int64 {
	s.T.Helper()
	return s.Must(200, s.Do("GET", "/v1/programs", key, nil, headers...)).Int("total_count")
}

// TestReadsAtAStandby: a key reads its own writes while the standby lags. Other keys read from the
// standby, and so does the writer once the standby has caught up.
func TestReadsAtAStandby(t *testing.T) {
	t.Parallel()
	s, standby := replicated(t)
	other := s.NewKey(s.Org, true, "read", "write")
	before := total(s, other)
	standby.Pause()
	program := s.Must(201, s.Post("/v1/programs", M{"name": "New", "website_url": "https://x.example", "currency": "USD"}))
	position := program.Header.Get("Rail-Position")
	require.Regexp(t, "^1-[0-9a-f]+$", position)
	require.Equal(t, before+1, total(s, s.Key), "the writer's own")
	require.Equal(t, before, total(s, other), "at the standby")
	require.Equal(t, before+1, total(s, other, "Rail-Position", position), "the position came along")
	s.Must(200, s.Do("GET", "/v1/programs/"+program.String("id"), other, nil)) // the primary answers for objects that the standby lacks
	require.Equal(t, before, total(s, other, "Rail-Position", "1-0"), "an old position")

	standby.Resume()
	seesAll := func(key string, n int64) func() bool { return func() bool { return total(s, key) == n } }
	wait.Until(t, seesAll(other, before+1))
	standby.Pause()
	s.Must(201, s.Do("POST", "/v1/programs", other, M{"name": "B", "website_url": "https://x.example", "currency": "USD"}))
	wait.Until(t, seesAll(s.Key, before+1), "at the standby again")
	require.Equal(t, before+2, total(s, other))
}

// TestTableAtAStandby: a standby reads each page of a table.
func TestTableAtAStandby(t *testing.T) {
	t.Parallel()
	s, standby := replicated(t)
	program := s.Program()
	s.Partner(program, M{"handle": "ada"})
	clicks := make([]M, 230)
	for i := range clicks {
		clicks[i] = M{
			"value": "ada", "visitor_token": fmt.Sprint("visitor", i), "landing_url": "https://shop.example/?ref=ada",
		}
	}
	s.Must(200, s.Post("/v1/clicks/batch", M{"program_id": program, "items": clicks}))
	standby.CatchUp()
	used(s, s.Key)
	file := s.Must(200, s.Get("/v1/clicks?format=csv&program_id="+program))
	require.Equal(t, 231, strings.Count(string(file.Raw), "\r\n"))
	lines := strings.Split(strings.TrimSpace(s.Log()), "\n")
	require.Contains(t, lines[len(lines)-1], "standby=true")
}

// TestStandbyGone: reads continue while a standby is unavailable, which is logged once. They use it
// again when it is back, unless it has become a primary.
func TestStandbyGone(t *testing.T) {
	t.Parallel()
	s, standby := replicated(t)
	n := total(s, s.Key)
	standby.Stop()
	for range 20 {
		require.Equal(t, n, total(s, s.Key))
	}
	says := func(words string) func() bool { return func() bool { return strings.Contains(s.Log(), words) } }
	wait.Until(t, says("a standby began to fail"))
	standby.Start()
	used(s, s.Key)
	require.Contains(t, s.Log(), "a standby recovered")
	require.Equal(t, 1, strings.Count(s.Log(), "a standby began to fail"))

	s.Clock.Advance(time.Hour)
	standby.Promote()
	wait.Until(t, says("the server is not a standby"))
	s.Program()
	require.Equal(t, n+1, total(s, s.Key))
}

// TestPositions: writes that share a transaction have a position, and so does a replay on another
// server, which then shows the write.
func TestPositions(t *testing.T) {
	t.Parallel()
	s, standby := replicated(t)
	program := s.Program()
	s.Partner(program, M{"handle": "ada"})
	second := apitest.On(t, s.DSN, s.Clock, at(standby))
	used(second, s.Key)
	standby.Pause()
	var clicks sync.WaitGroup
	for range 24 {
		clicks.Go(func() {
			a := s.Post("/v1/clicks", M{"program_id": program, "value": "ada", "landing_url": "https://shop.example", "visitor_token": apitest.Unique("visitor-token-")})
			assert.Equal(t, 201, a.Status)
			assert.NotEmpty(t, a.Header.Get("Rail-Position"))
		})
	}
	clicks.Wait()
	body := M{"name": "New", "website_url": "https://x.example", "currency": "USD"}
	n := total(second, s.Key)
	s.Must(201, s.Do("POST", "/v1/programs", s.Key, body, "Idempotency-Key", "k"))
	require.Equal(t, n, total(second, s.Key), "another server does not know of the write")
	again := s.Must(201, second.Do("POST", "/v1/programs", s.Key, body, "Idempotency-Key", "k"))
	require.Equal(t, "true", again.Header.Get("Idempotent-Replayed"))
	require.NotEmpty(t, again.Header.Get("Rail-Position"))
	require.Equal(t, n+1, total(second, s.Key))

	bad := s.Do("GET", "/v1/programs", s.Key, nil, "Rail-Position", "here")
	require.Equal(t, []any{400, "Rail-Position"}, []any{bad.Status, bad.Param()})
	alone := apitest.On(t, s.DSN, s.Clock)
	require.Empty(t, alone.Must(201, alone.Post("/v1/programs", body)).Header.Get("Rail-Position"), "no standby, no position")
}
