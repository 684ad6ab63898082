package rail

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPagesAreInTheImage checks that the build of the image gets this package and each embedded file.
func TestPagesAreInTheImage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".dockerignore")
	require.NoError(t, err)
	names := []string{"pages.go"}
	require.NoError(t, fs.WalkDir(Pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	}))
	require.Greater(t, len(names), 15)
	for _, name := range names {
		found := false
		for line := range strings.Lines(string(text)) {
			included, is := strings.CutPrefix(strings.TrimSpace(line), "!")
			found = found || is && (name == included || strings.HasPrefix(name, included+"/"))
		}
		require.True(t, found, "%s: include it in .dockerignore", name)
	}
}
