package archive

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"rail/server/clock"
	"rail/server/harness/wait"
	"rail/server/postgres/embedded"
)

// archiving starts a cluster with an archive.
func archiving(t *testing.T) (*embedded.Server, *pgxpool.Pool) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // for PostgreSQL's account, if root runs the tests
	s, err := embedded.Start(t.Context(), embedded.Options{Dir: filepath.Join(dir, "data"), ArchiveDir: filepath.Join(dir, "archive")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	pool, err := pgxpool.New(t.Context(), s.DSN("postgres"))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return s, pool
}

// TestKeeper: one base backup is made a day. The loss of the folder is logged once, and so is its return.
func TestKeeper(t *testing.T) {
	t.Parallel()
	s, pool := archiving(t)
	var log bytes.Buffer
	now := clock.NewManual(clock.System{}.Now().Time)
	noted := 0
	k := &Keeper{
		Pool: pool, History: s.History, Days: 1, Clock: now, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Manifest: func(context.Context) (Manifest, error) { return Manifest{Rail: "test"}, nil },
		Made:     func(context.Context) { noted++ },
	}
	check := func() {
		t.Helper()
		k.note(t.Context(), k.archives(t.Context()))
	}
	history, err := s.History()
	require.NoError(t, err)
	count := func() int {
		found, err := filepath.Glob(filepath.Join(history, "base", "*", "rail.json"))
		require.NoError(t, err)
		return len(found)
	}
	require.NoError(t, k.due(t.Context()))
	require.NoError(t, k.due(t.Context()))
	require.Equal(t, 1, count())
	now.Advance(25 * time.Hour)
	require.NoError(t, k.due(t.Context()))
	require.Equal(t, 2, count())
	require.Equal(t, 2, noted)

	require.NoError(t, os.Rename(history, history+".away"))
	_, err = pool.Exec(t.Context(), "CREATE TABLE written (); SELECT pg_switch_wal()")
	require.NoError(t, err)
	wait.Until(t, func() bool { return k.archives(t.Context()) != nil })
	check()
	check()
	require.Equal(t, 1, strings.Count(log.String(), "archiving fails"), log.String())
	require.NoError(t, os.Rename(history+".away", history))
	wait.Until(t, func() bool { return k.archives(t.Context()) == nil })
	check()
	check()
	require.Equal(t, 1, strings.Count(log.String(), "archiving works again"), log.String())
}

// TestOneAtATime: a second base backup is refused while one is running.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	s, pool := archiving(t)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", lock)
	require.NoError(t, err)
	history, err := s.History()
	require.NoError(t, err)
	_, err = Make(t.Context(), s.DSN("postgres"), history, Manifest{})
	require.ErrorIs(t, err, ErrBusy)
}
