package bar

import (
	"bytes"
	"math/rand/v2"
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
		_, remove, err := b.sow(root)
		require.NoError(t, err, b.name)
		remove()
	}
}
