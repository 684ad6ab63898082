package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoundLog: a log that is too long is emptied while the server writes to it, and its end is saved.
func TestBoundLog(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "postgres.log")
	require.NoError(t, boundLog(path), "there is none yet")
	writer, _, err := openLog(path)
	require.NoError(t, err)
	defer writer.Close()
	write := func(text string) {
		_, err := writer.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, boundLog(path))
	}
	read := func(path string) string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return string(text)
	}
	write("begin")
	require.Equal(t, "begin", read(path))
	write(strings.Repeat("x", maxLog) + "end")
	require.Empty(t, read(path))
	old := read(path + ".1")
	require.Len(t, old, maxLog)
	require.True(t, strings.HasPrefix(old, "xxx") && strings.HasSuffix(old, "xend"))
	write("after")
	require.Equal(t, "after", read(path))
}

// TestFailureReason: the reason is found among the server's messages to clients.
func TestFailureReason(t *testing.T) {
	t.Parallel()
	const noise = "2026-11-25 10:00:01.000 UTC [8] FATAL:  the database system is not yet accepting connections\n"
	const reason = `PANIC:  could not write to file "pg_wal/xlogtemp.41": No space left on device`
	log := "2026-11-25 10:00:00.000 UTC [7] LOG:  starting PostgreSQL\n2026-11-25 10:00:00.000 UTC [7] " + reason + "\n" +
		strings.Repeat(noise, 2000)
	require.Equal(t, reason, lastWords(log))
	require.Empty(t, lastWords(noise))
	path := filepath.Join(t.TempDir(), "postgres.log")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(noise, 2000)+log[:200]+"\n"), 0o600))
	require.Equal(t, "PostgreSQL has ended: "+reason, ended(lastWordsOf(path)))
	err := explain(os.ErrClosed, strings.NewReader(log), 0)
	require.ErrorIs(t, err, os.ErrClosed)
	require.True(t, strings.HasPrefix(err.Error(), os.ErrClosed.Error()+": "+reason+"\n"))
	require.NotContains(t, err.Error(), "not yet accepting")
}
