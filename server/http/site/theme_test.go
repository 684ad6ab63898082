package site

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/colour"
)

// property finds the custom properties of a theme, those in light first.
var property = regexp.MustCompile(`--([a-z-]+):(#[0-9a-f]{6})`)

// Text in and on every accent is colour.Readable, in light and in dark.
func TestThemeCanBeRead(t *testing.T) {
	t.Parallel()
	grounds := [][]string{{"#ffffff", "#f6f7f9", "#586474"}, {"#1a2029", "#11151b", "#a3afbf"}}
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 17 {
			for b := 0; b < 256; b += 51 {
				accent := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				found := property.FindAllStringSubmatch(Theme(accent), -1)
				require.Len(t, found, 8)
				for i, at := range grounds {
					of := map[string]colour.RGB{}
					for _, m := range found[4*i : 4*i+4] {
						of[m[1]] = colour.Parse(m[2])
					}
					for _, pair := range [][2]colour.RGB{
						{of["main"], colour.Parse(at[0])}, {of["main"], colour.Parse(at[1])}, {of["main"], of["main-soft"]},
						{of["main-strong"], of["main-soft"]}, {of["on-main"], of["main"]}, {of["on-main"], of["main-strong"]},
						{colour.Parse(at[2]), of["main-soft"]},
					} {
						require.GreaterOrEqual(t, colour.Contrast(pair[0], pair[1]), colour.Readable, "%s: %s on %s", accent, pair[0], pair[1])
					}
				}
			}
		}
	}
}

// The colours that a theme is made for are those of the style sheet.
func TestThemeKnowsTheStyle(t *testing.T) {
	t.Parallel()
	style, err := files.ReadFile("assets/design.css")
	require.NoError(t, err)
	for _, c := range append(append(lightPages.ground, lightPages.soft), append(darkPages.ground, darkPages.soft)...) {
		require.Contains(t, string(style), c.String())
	}
}

// A colour that can be read already stays what it is; what is no colour is black.
func TestTheme(t *testing.T) {
	t.Parallel()
	require.Contains(t, Theme("#1f5fd0"), ":root{--main:#1f5fd0;")
	require.Equal(t, Theme("#000000"), Theme("red"))
	require.Equal(t, Theme("#000000"), Theme("#zzzzzz"))
	require.InDelta(t, 21, colour.Contrast(colour.White, colour.Black), 0.01)
}
