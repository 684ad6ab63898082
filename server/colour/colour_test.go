package colour_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/colour"
)

// TestParse: a text that is no colour is black.
func TestParse(t *testing.T) {
	t.Parallel()
	require.Equal(t, colour.RGB{0x1f, 0x5f, 0xbf}, colour.Parse("#1f5fbf"))
	require.Equal(t, "#1f5fbf", colour.Parse("#1f5fbf").String())
	for _, text := range []string{"", "red", "#fff", "#zzzzzz"} {
		require.Equal(t, colour.Black, colour.Parse(text), text)
	}
}

// TestInk: the text on every grey is readable, and white and black have the greatest contrast.
func TestInk(t *testing.T) {
	t.Parallel()
	require.InDelta(t, 21, colour.Contrast(colour.White, colour.Black), 0.01)
	for grey := range 256 {
		c := colour.RGB{uint8(grey), uint8(grey), uint8(grey)}
		require.GreaterOrEqual(t, colour.Contrast(c.Ink(), c), colour.Readable, c)
	}
	require.Equal(t, colour.Black, colour.Parse("#ffe000").Ink())
	require.Equal(t, colour.White, colour.Parse("#102040").Ink())
}

// TestMixUntil: the smallest share that holds is used, or else all of the other colour.
func TestMixUntil(t *testing.T) {
	t.Parallel()
	readable := func(c colour.RGB) bool { return colour.Contrast(c, colour.White) >= colour.Readable }
	blue := colour.Parse("#1f5fbf")
	require.Equal(t, blue, blue.MixUntil(colour.Black, 0, readable))
	dark := colour.Parse("#ffe000").MixUntil(colour.Black, 0, readable)
	require.True(t, readable(dark))
	require.NotEqual(t, colour.Black, dark)
	require.Equal(t, colour.Black, blue.MixUntil(colour.Black, 0, func(colour.RGB) bool { return false }))
}
