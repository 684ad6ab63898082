package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoundLog: a log that is too long is emptied under the server that writes it, and its end is kept.
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
	kept := read(path + ".1")
	require.Len(t, kept, maxLog)
	require.True(t, strings.HasPrefix(kept, "xxx") && strings.HasSuffix(kept, "xend"))
	write("after")
	require.Equal(t, "after", read(path))
}
