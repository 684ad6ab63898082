package testclock_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/postgres"
	"rail/server/work/testclock"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// session returns how to connect to a database.
func session(t *testing.T, dsn string) *pgx.ConnConfig {
	t.Helper()
	c, err := postgres.Session(dsn)
	require.NoError(t, err)
	return c
}

// TestRestart: the time of a database continues with the next server, and never goes back. One server at a time has
// it.
func TestRestart(t *testing.T) {
	t.Parallel()
	dsn, base := pgtest.DSN(t), clock.NewManual(apitest.Start)
	c, err := testclock.Open(t.Context(), session(t, dsn), base)
	require.NoError(t, err)
	require.Equal(t, base.Now(), c.Now())
	c.Stop()
	require.NoError(t, c.Forward(t.Context(), base.Now().Days(40)))

	_, err = testclock.Open(t.Context(), session(t, dsn), base)
	require.ErrorIs(t, err, testclock.ErrHeld)
	require.NoError(t, c.Close(t.Context())) // as a server that dies during a move
	base.Advance(time.Hour)
	again, err := testclock.Open(t.Context(), session(t, dsn), base)
	require.NoError(t, err)
	require.Equal(t, base.Now().Days(40), again.Now())

	// The first server has lost the clock with its connection.
	require.ErrorIs(t, c.Forward(t.Context(), base.Now().Days(50)), testclock.ErrHeld)
	require.NoError(t, again.Close(t.Context()))
	require.NoError(t, c.Forward(t.Context(), base.Now().Days(30)), "it takes the clock again")
	require.NoError(t, c.Close(t.Context()))
	read, tested, err := testclock.Of(t.Context(), pgtest.Pool(t, dsn), base)
	require.NoError(t, err)
	require.True(t, tested)
	require.Equal(t, base.Now().Days(40), read.Now(), "the stored time does not go back")
}

// TestNothingLive: a database has a test clock or something live.
func TestNothingLive(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	_, err := testclock.Open(t.Context(), session(t, s.DSN), s.Clock)
	require.ErrorIs(t, err, testclock.ErrLive)
	require.ErrorContains(t, err, "live API keys (1), payout rails (0) and processor connections (0)")
	_, err = s.Pool.Exec(t.Context(), "UPDATE api_keys SET revoked_at = now()")
	require.NoError(t, err)
	_, err = testclock.Open(t.Context(), session(t, s.DSN), s.Clock)
	require.ErrorIs(t, err, testclock.ErrLive, "also a revoked one")
	_, tested, err := testclock.Of(t.Context(), s.Pool, s.Clock)
	require.NoError(t, err)
	require.False(t, tested, "a refusal leaves no mark")

	tests := apitest.New(t, apitest.TestClock)
	tests.NewKey(tests.Org, false, "read")
	for _, sql := range []string{
		"UPDATE api_keys SET livemode = true",
		`INSERT INTO payout_rails SELECT (json_populate_record(NULL::payout_rails, '{"id":"prl_1","livemode":true}')).*`,
		`INSERT INTO processor_connections
			SELECT (json_populate_record(NULL::processor_connections, '{"id":"pco_1","livemode":true}')).*`,
	} {
		_, err := tests.Pool.Exec(t.Context(), sql)
		require.ErrorContains(t, err, "this database has a test clock", sql)
	}
	require.ErrorContains(t, testclock.RefuseLive(t.Context(), tests.Pool, "API keys"), "takes no live API keys")
	require.NoError(t, testclock.RefuseLive(t.Context(), s.Pool, "API keys"))
}
