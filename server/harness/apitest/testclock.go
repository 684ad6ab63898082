package apitest

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/clock"
	"rail/server/postgres"
	"rail/server/work/testclock"
)

// TestClock is an option that gives the server a test clock, and a test key. MoveTo moves it.
func TestClock(c *config.Config) { c.TestClock = true }

// maxCalls bounds the calls of one move on a slow machine.
const maxCalls = 20

// MoveTo moves the test clock of the server. Jobs that are due by then have run when it returns. It continues a move
// that takes longer than a call may.
func (s *Server) MoveTo(at time.Time) {
	s.T.Helper()
	move := func() Answer { return s.Post("/v1/test_clock", M{"now": clock.At(at).String()}) }
	a := move()
	for i := 1; i < maxCalls && a.Status == http.StatusServiceUnavailable; i++ {
		a = move()
	}
	s.Must(http.StatusOK, a)
}

// TestClockProcess starts a server process with a test clock, on a new database. Its time is the machine's until
// MoveTo moves it.
func TestClockProcess(t testing.TB, environ ...string) *Process {
	t.Helper()
	s := Real(t, TestClock)
	require.NoError(t, s.Tested.Close(t.Context())) // the process takes it
	return StartProcess(t, s, append(environ, "RAIL_TEST_CLOCK=1")...)
}

// takeClock opens the test clock, if the server has one.
func (s *Server) takeClock() {
	s.T.Helper()
	if !s.Config.TestClock {
		return
	}
	session, err := postgres.Session(s.DSN)
	require.NoError(s.T, err)
	s.Tested, err = testclock.Open(s.T.Context(), session, s.Clock)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = s.Tested.Close(s.T.Context()) })
}

// time returns the server's clock.
func (s *Server) time() clock.Clock {
	if s.Tested != nil {
		return s.Tested.Shifted
	}
	return s.Clock
}
