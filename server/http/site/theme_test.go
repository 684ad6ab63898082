package site

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
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
				found := property.FindAllStringSubmatch(Theme{Accent: accent}.Sheet(), -1)
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
func TestThemeMatchesStyle(t *testing.T) {
	t.Parallel()
	style, err := files.ReadFile("assets/design.css")
	require.NoError(t, err)
	for _, c := range append(append(lightPages.ground, lightPages.soft), append(darkPages.ground, darkPages.soft)...) {
		require.Contains(t, string(style), c.String())
	}
	require.Contains(t, string(style), "--main: "+DefaultAccent)
	require.Contains(t, string(style), "--second: "+DefaultSecond)
}

// Shapes in every second colour are visible, in light and in dark.
func TestSecondColourCanBeSeen(t *testing.T) {
	t.Parallel()
	grounds := [][]string{{"#ffffff", "#f6f7f9"}, {"#1a2029", "#11151b"}}
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 51 {
			for b := 0; b < 256; b += 51 {
				second := fmt.Sprintf("#%02x%02x%02x", r, g, b)
				found := property.FindAllStringSubmatch(Theme{Second: second}.Sheet(), -1)
				require.Len(t, found, 2)
				for i, m := range found {
					require.Equal(t, "second", m[1])
					for _, ground := range grounds[i] {
						require.GreaterOrEqual(t, colour.Contrast(colour.Parse(m[2]), colour.Parse(ground)), colour.Visible, second)
					}
				}
			}
		}
	}
}

// A colour that can be read already stays what it is; what is no colour is black.
func TestTheme(t *testing.T) {
	t.Parallel()
	sheet := func(accent string) string { return Theme{Accent: accent}.Sheet() }
	require.Contains(t, sheet("#1f5fd0"), ":root{--main:#1f5fd0;")
	require.Equal(t, sheet("#000000"), sheet("red"))
	require.Equal(t, sheet("#000000"), sheet("#zzzzzz"))
	require.InDelta(t, 21, colour.Contrast(colour.White, colour.Black), 0.01)
}

// The defaults have no style sheet. Every other typeface and corner has its own, and fonts are of this server.
func TestThemeForms(t *testing.T) {
	t.Parallel()
	require.Empty(t, Theme{}.Sheet())
	require.Empty(t, Theme{Typeface: db.TypefaceInter, Corners: db.CornersSoft}.Sheet())
	seen := map[string]bool{}
	for _, form := range []Theme{
		{Typeface: db.TypefaceSystem}, {Typeface: db.TypefaceSerif}, {Typeface: db.TypefaceRounded},
		{Corners: db.CornersSquare}, {Corners: db.CornersRound},
	} {
		sheet := form.Sheet()
		require.NotEmpty(t, sheet, form)
		require.False(t, seen[sheet], form)
		seen[sheet] = true
		for _, address := range regexp.MustCompile(`url\(([^)]*)\)`).FindAllStringSubmatch(sheet, -1) {
			require.NotNil(t, assets[address[1]], address[1])
		}
	}
	require.Contains(t, Theme{Typeface: db.TypefaceRounded}.Sheet(), "@font-face")
	require.Equal(t, fonts["inter-latin.woff2"], Branding{}.Font())
	require.Equal(t, fonts["nunito-latin.woff2"], Branding{Typeface: db.TypefaceRounded}.Font())
	require.Empty(t, Branding{Typeface: db.TypefaceSerif}.Font())
}

// The contrast of a colour is the lowest on light pages; with too little, pages show another colour.
func TestContrast(t *testing.T) {
	t.Parallel()
	fine := AccentContrast("#1f5fd0")
	require.True(t, fine.Enough)
	require.Equal(t, "#1f5fd0", fine.Light)
	require.InDelta(t, 4.8, fine.Lowest, 0.05)
	for name, low := range map[string]Contrast{"accent": AccentContrast("#ffd400"), "second": SecondContrast("#ffd400")} {
		require.False(t, low.Enough, name)
		require.NotEqual(t, "#ffd400", low.Light, name)
		require.Equal(t, "#ffd400", low.Dark, name)
	}
	require.True(t, SecondContrast("#0a9d75").Enough, "shapes need less contrast than text")
	require.False(t, AccentContrast("#0a9d75").Enough)
	for kind, of := range map[string]Contrast{
		DefaultAccent: AccentContrast(DefaultAccent), DefaultSecond: SecondContrast(DefaultSecond),
	} {
		require.True(t, of.Enough, kind)
	}
}
