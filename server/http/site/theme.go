package site

import (
	"fmt"
	"image/color"

	"rail/server/colour"
)

// The backgrounds of the accent in design.css, and the text on the accent.
var (
	lightPages = surface{
		ground: []colour.RGB{colour.White, {246, 247, 249}}, card: colour.White, soft: colour.RGB{88, 100, 116},
		ink: colour.White, away: colour.Black,
	}
	darkPages = surface{
		ground: []colour.RGB{{26, 32, 41}, {17, 21, 27}}, card: colour.RGB{26, 32, 41}, soft: colour.RGB{163, 175, 191},
		ink: colour.RGB{8, 11, 16}, away: colour.White,
	}
)

// surface holds the backgrounds of the accent, in light or in dark.
type surface struct {
	ground     []colour.RGB
	card, soft colour.RGB // the background of most text, and the colour of secondary text
	ink        colour.RGB // text on the accent
	away       colour.RGB // what the accent is mixed with until it can be read
}

// Theme returns a style sheet with the accent #rrggbb, in light and in dark. It mixes the colour with black or white
// until text in it and on it is readable.
func Theme(accent string) string {
	c := colour.Parse(accent)
	return fmt.Sprintf(":root{%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", lightPages.rule(c), darkPages.rule(c))
}

// rule returns the custom properties of the accent.
func (s surface) rule(c colour.RGB) string {
	soft, main := s.tint(c), s.main(c)
	strong := main.Mix(s.away, 0.25)
	return fmt.Sprintf("--main:%s;--main-strong:%s;--on-main:%s;--main-soft:%s", main, strong, s.ink, soft)
}

// tint returns a light accent, on which secondary text is readable.
func (s surface) tint(c colour.RGB) colour.RGB {
	return c.MixUntil(s.card, 0.86, func(x colour.RGB) bool { return colour.Contrast(s.soft, x) >= colour.Readable })
}

// main returns the accent, changed until text in it and on it is readable.
func (s surface) main(c colour.RGB) colour.RGB {
	soft := s.tint(c)
	return c.MixUntil(s.away, 0, func(x colour.RGB) bool {
		worst := min(colour.Contrast(x, soft), colour.Contrast(x, s.ink))
		for _, g := range s.ground {
			worst = min(worst, colour.Contrast(x, g))
		}
		return worst >= colour.Readable
	})
}

// DefaultAccent is the accent of programs without one, as in design.css.
const DefaultAccent = "#1f5fd0"

// Accent returns the accent #rrggbb as light pages show it: white text on it is readable.
func Accent(accent string) color.RGBA {
	c := lightPages.main(colour.Parse(accent))
	return color.RGBA{c[0], c[1], c[2], 255}
}

// Contrast returns the contrast of an accent #rrggbb with white, from 1 to 21, and reports whether pages can show it
// unchanged.
func Contrast(accent string) (of float64, unchanged bool) {
	c := colour.Parse(accent)
	return colour.Contrast(c, colour.White), lightPages.main(c) == c
}
