package branding

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// decoded draws a card.
func decoded(t *testing.T, c Card) image.Image {
	t.Helper()
	body, err := c.png()
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(body))
	require.NoError(t, err)
	require.Equal(t, image.Pt(CardWidth, CardHeight), img.Bounds().Size())
	require.Less(t, len(body), 300_000)
	return img
}

// inked reports whether a part of a picture has white letters on its ground.
func inked(img image.Image, r image.Rectangle) bool {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if red, _, _, _ := img.At(x, y).RGBA(); red > 0xf000 {
				return true
			}
		}
	}
	return false
}

// TestCard draws texts of every length, and none outside of the edges.
func TestCard(t *testing.T) {
	t.Parallel()
	margins := []image.Rectangle{
		image.Rect(0, 0, edge-4, CardHeight), image.Rect(CardWidth-edge+4, 0, CardWidth, CardHeight),
		image.Rect(0, CardHeight-50, CardWidth, CardHeight),
	}
	words := image.Rect(edge, textTop, CardWidth-edge, textBottom+20)
	for _, headline := range []string{
		"Earn", strings.Repeat("W", 120), strings.Repeat("Wide words ", 10), strings.Repeat("i ", 60), "Verdienen Sie mit Größe",
	} {
		img := decoded(t, Card{Name: "Acme", Website: "https://www.acme.example/x", Headline: &headline, Accent: new("#0a7d55")})
		require.True(t, inked(img, words), headline)
		for _, m := range margins {
			require.False(t, inked(img, m), "%s in %v", headline, m)
		}
		require.False(t, inked(img, image.Rect(0, textBottom+30, CardWidth, CardHeight-96)), "%s meets the last line", headline)
	}
	require.False(t, inked(decoded(t, Card{Name: "山田商店"}), words), "letters that the fonts lack are left out")
}

// TestCardLogo draws a logo, and no logo that is too large or no image.
func TestCardLogo(t *testing.T) {
	t.Parallel()
	logo := func(width, height int) []byte {
		img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Black})
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		return b.Bytes()
	}
	at := image.Pt(edge+plate+4, edge+logoHeight/2)
	for name, c := range map[string]struct {
		logo  []byte
		drawn bool
	}{
		"square": {logo(64, 64), true}, "wide": {logo(900, 90), true}, "tall": {logo(3, 2900), false},
		"too large": {logo(maxLogoSide+1, 1), false}, "broken": {[]byte("GIF89a and more"), false}, "none": {nil, false},
	} {
		red, green, _, _ := decoded(t, Card{Name: "Acme", logo: c.logo}).At(at.X, at.Y).RGBA()
		require.Equal(t, c.drawn, red == 0 && green == 0, name)
	}
}

// TestCardVersion checks that every change of a card changes its path.
func TestCardVersion(t *testing.T) {
	t.Parallel()
	paths := map[string]bool{}
	for _, c := range []Card{
		{}, {Name: "a"}, {Website: "a"}, {Headline: new("a")}, {Accent: new("a")}, {Second: new("a")},
		{LogoVersion: new("a")},
	} {
		paths[CardPath("prg_1", c)] = true
	}
	require.Len(t, paths, 7)
}

// TestCardIsDrawnOnce checks that concurrent requests for a card share one drawing, also later ones.
func TestCardIsDrawnOnce(t *testing.T) {
	t.Parallel()
	var k cards
	var wait sync.WaitGroup
	drawn := make([][]byte, 8)
	for i := range drawn {
		wait.Go(func() { drawn[i], _ = k.of("prg_1", Card{Name: "Acme"}) })
	}
	wait.Wait()
	for _, d := range drawn {
		require.NotEmpty(t, d)
		require.Same(t, &drawn[0][0], &d[0])
	}
}
