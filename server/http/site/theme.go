package site

import (
	"fmt"

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
	soft := c.MixUntil(s.card, 0.86, func(x colour.RGB) bool { return colour.Contrast(s.soft, x) >= colour.Readable })
	main := c.MixUntil(s.away, 0, func(x colour.RGB) bool {
		worst := min(colour.Contrast(x, soft), colour.Contrast(x, s.ink))
		for _, g := range s.ground {
			worst = min(worst, colour.Contrast(x, g))
		}
		return worst >= colour.Readable
	})
	strong := main.Mix(s.away, 0.25)
	return fmt.Sprintf("--main:%s;--main-strong:%s;--on-main:%s;--main-soft:%s", main, strong, s.ink, soft)
}
