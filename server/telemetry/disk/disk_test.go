package disk

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	t.Parallel()
	usage, err := Of(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, usage.Free)
	require.GreaterOrEqual(t, usage.Size, usage.Free)
	missing, err := Of(filepath.Join(t.TempDir(), "a", "b"))
	require.NoError(t, err, "a folder that is still to be made")
	require.Equal(t, usage.Size, missing.Size)
}

func TestIsScarce(t *testing.T) {
	t.Parallel()
	for room, want := range map[Room]bool{
		{Free: Scarce - 1, Size: 100 * Scarce}:       true,
		{Free: Scarce + 1, Size: 5 * Scarce}:         false,
		{Free: 5 * Scarce, Size: 100 * Scarce}:       true,
		{Free: 5 * Scarce, Size: 40 * Scarce}:        false,
		{Free: 20 * Scarce, Size: 1000 * Scarce}:     false,
		{Free: Scarce * 2 / 4, Size: Scarce * 2 / 4}: true,
	} {
		require.Equal(t, want, room.IsScarce(), "%+v", room)
	}
	require.Equal(t, "130 MB", Room{Free: 130 << 20}.String())
	require.Equal(t, "1.5 GB", Room{Free: 3 << 29}.String())
}
