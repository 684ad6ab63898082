package postgres_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/pgtest"
	"rail/server/postgres"
	"rail/server/telemetry/outage"
)

// TestOutagesOfConnections: an outage and its end are each logged once, even with a query tracer.
func TestOutagesOfConnections(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := postgres.Options{
		MaxConns: 1, Outages: outage.New(slog.New(slog.NewTextHandler(&log, nil)), clock.System{}, "the database", ""),
	}
	for range 3 {
		_, err := postgres.Open(t.Context(), "postgres://rail:hunter2@127.0.0.1:1/rail", o)
		require.Error(t, err)
	}
	require.Equal(t, 1, strings.Count(log.String(), "the database began to fail"))
	require.NotContains(t, log.String(), "hunter2")
	pool, err := postgres.Open(t.Context(), pgtest.DSN(t), o)
	require.NoError(t, err)
	pool.Close()
	require.Contains(t, log.String(), "the database recovered")
}
