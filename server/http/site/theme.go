package site

import (
	"fmt"
	"image/color"
	"math"
	"strconv"
)

// readable is the minimum contrast of text and background (WCAG 2.2, 1.4.3).
const readable = 4.5

// The backgrounds of the accent in design.css, and the text on the accent.
var (
	white      = colour{255, 255, 255}
	black      = colour{}
	lightPages = surface{
		ground: []colour{white, {246, 247, 249}}, card: white, soft: colour{88, 100, 116}, ink: white, away: black,
	}
	darkPages = surface{
		ground: []colour{{26, 32, 41}, {17, 21, 27}}, card: colour{26, 32, 41}, soft: colour{163, 175, 191},
		ink: colour{8, 11, 16}, away: white,
	}
)

// surface holds the backgrounds of the accent, in light or in dark.
type surface struct {
	ground     []colour
	card, soft colour // the background of most text, and the colour of secondary text
	ink        colour // text on the accent
	away       colour // what the accent is mixed with until it can be read
}

// Theme returns a style sheet with the accent #rrggbb, in light and in dark. It mixes the colour with black or white
// until text in it and on it is readable.
func Theme(accent string) string {
	c := parseColour(accent)
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", lightPages.rule(c), darkPages.rule(c))
}

// rule returns the custom properties of the accent.
func (s surface) rule(c colour) string {
	soft, main := s.tint(c), s.main(c)
	strong := main.mix(s.away, 0.25)
	return fmt.Sprintf("--main:%s;--main-strong:%s;--on-main:%s;--main-soft:%s", main, strong, s.ink, soft)
}

// tint returns a light accent, on which secondary text is readable.
func (s surface) tint(c colour) colour {
	return mixUntil(c, s.card, 0.86, func(x colour) bool { return contrast(s.soft, x) >= readable })
}

// main returns the accent, changed until text in it and on it is readable.
func (s surface) main(c colour) colour {
	soft := s.tint(c)
	return mixUntil(c, s.away, 0, func(x colour) bool {
		worst := min(contrast(x, soft), contrast(x, s.ink))
		for _, g := range s.ground {
			worst = min(worst, contrast(x, g))
		}
		return worst >= readable
	})
}

// DefaultAccent is the accent of programs without one, as in design.css.
const DefaultAccent = "#1f5fd0"

// Accent returns the accent #rrggbb as light pages show it: white text on it is readable.
func Accent(accent string) color.RGBA {
	c := lightPages.main(parseColour(accent))
	return color.RGBA{c[0], c[1], c[2], 255}
}

// Contrast returns the contrast of an accent #rrggbb with white, from 1 to 21, and reports whether pages can show it
// unchanged.
func Contrast(accent string) (of float64, unchanged bool) {
	c := parseColour(accent)
	return contrast(c, white), lightPages.main(c) == c
}

// mixUntil mixes a colour with another, as much as it takes from a share on.
func mixUntil(c, with colour, share float64, holds func(colour) bool) colour {
	for ; share < 1; share += 0.02 {
		if x := c.mix(with, share); holds(x) {
			return x
		}
	}
	return with
}

// colour is red, green and blue.
type colour [3]uint8

// parseColour reads #rrggbb; whatever is no colour is black.
func parseColour(text string) (c colour) {
	if len(text) != 7 {
		return c
	}
	n, err := strconv.ParseUint(text[1:], 16, 24)
	if err != nil {
		return c
	}
	return colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}
}

// String returns the colour as #rrggbb.
func (c colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// mix returns the colour with a share of another.
func (c colour) mix(with colour, share float64) (out colour) {
	for i := range c {
		out[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(with[i])*share))
	}
	return out
}

// luminance is how bright a colour is, from 0 to 1.
func (c colour) luminance() float64 {
	var of [3]float64
	for i, v := range c {
		if of[i] = float64(v) / 255; of[i] <= 0.04045 {
			of[i] /= 12.92
			continue
		}
		of[i] = math.Pow((of[i]+0.055)/1.055, 2.4)
	}
	return 0.2126*of[0] + 0.7152*of[1] + 0.0722*of[2]
}

// contrast is that of two colours, from 1 to 21.
func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
