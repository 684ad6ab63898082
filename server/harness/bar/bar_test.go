package bar

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSmoke runs the whole bar in its small sizes.
func TestSmoke(t *testing.T) {
	var out bytes.Buffer
	err := Run(t.Context(), Options{Smoke: true, Seed: rand.Uint64N(1 << 32), Out: &out})
	t.Log(out.String())
	require.NoError(t, err)
}

// TestSeededBugsMatch: the text that each seeded bug replaces is in its file, so
// that a change of the code cannot leave G10 without its bugs.
func TestSeededBugsMatch(t *testing.T) {
	t.Parallel()
	root, err := module(t.Context())
	require.NoError(t, err)
	for _, b := range bugs() {
		_, remove, err := b.writeOverlay(root)
		require.NoError(t, err, b.name)
		remove()
	}
}

// TestSeededBugsCompile: the sources with all the bugs at once are still Go. A bug that
// does not compile fails only in G10 at its full size, which make test does not run.
func TestSeededBugsCompile(t *testing.T) {
	t.Parallel()
	root, err := module(t.Context())
	require.NoError(t, err)
	dir := t.TempDir()
	faulty, replaced, packages := map[string]string{}, M{}, map[string]bool{}
	for _, b := range bugs() {
		path := filepath.Join(root, b.file)
		if faulty[path] == "" {
			raw, err := os.ReadFile(path)
			require.NoError(t, err)
			faulty[path] = string(raw)
		}
		start := strings.Index(faulty[path], b.after)
		require.GreaterOrEqual(t, start, 0, b.name)
		faulty[path] = faulty[path][:start] + strings.Replace(faulty[path][start:], b.from, b.to, 1)
		packages[filepath.Dir(path)] = true
	}
	for path, source := range faulty {
		name := filepath.Join(dir, fmt.Sprint(len(replaced), ".go"))
		require.NoError(t, os.WriteFile(name, []byte(source), 0o600))
		replaced[path] = name
	}
	overlay := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, []byte(text(M{"Replace": replaced})), 0o600))
	cmd := exec.CommandContext(t.Context(), "go",
		append([]string{"build", "-overlay", overlay}, slices.Sorted(maps.Keys(packages))...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
}
