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
