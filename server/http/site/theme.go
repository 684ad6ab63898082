package site

import (
	"fmt"
	"image/color"
	"strings"

	"rail/gen/db"
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

// Theme is the look of a program's pages. The colours are #rrggbb; empty members are the defaults of design.css.
type Theme struct {
	Accent, Second string
	Typeface       db.Typeface
	Corners        db.Corners
}

// Sheet returns the style sheet of the theme, in light and in dark; "" for the defaults. It mixes the colours with
// black or white: the accent until text in it and on it is readable, the second colour until shapes in it are visible.
func (t Theme) Sheet() string {
	light, dark := lightPages.rule(t), darkPages.rule(t)
	light = append(light, typefaces[t.Typeface]...)
	light = append(light, corners[t.Corners].properties...)
	var b strings.Builder
	if len(light) > 0 {
		fmt.Fprintf(&b, ":root{%s}\n", strings.Join(light, ";"))
	}
	if len(dark) > 0 {
		fmt.Fprintf(&b, "@media (prefers-color-scheme:dark){:root{%s}}\n", strings.Join(dark, ";"))
	}
	if t.Typeface == db.TypefaceRounded {
		b.WriteString(nunito)
	}
	b.WriteString(corners[t.Corners].rules)
	return b.String()
}

// devices ends the families of every typeface, for the scripts that it lacks.
const devices = `"Noto Sans","Noto Sans JP",sans-serif`

// typefaces are the custom properties of typefaces. The default is that of design.css.
var typefaces = map[db.Typeface][]string{
	db.TypefaceSystem: {`--font:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",` + devices},
	db.TypefaceSerif: {
		`--font:Charter,"Bitstream Charter","Iowan Old Style",Georgia,"Noto Serif","Hiragino Mincho ProN","Yu Mincho",` +
			`"Noto Serif JP","Noto Serif CJK JP",serif`,
	},
	db.TypefaceRounded: {`--font:Nunito,"Hiragino Maru Gothic ProN",system-ui,` + devices},
}

// nunito is the typeface "rounded", by the letters of its files.
var nunito = fmt.Sprintf("@font-face{font-family:Nunito;font-weight:200 1000;font-display:swap;src:url(%s);"+
	"unicode-range:U+100-2BA,U+2BD-2C5,U+2C7-2CC,U+2CE-2D7,U+2DD-2FF,U+1E00-1E9F,U+1EF2-1EFF,U+20A0-20AB,U+20AD-20C0}\n"+
	"@font-face{font-family:Nunito;font-weight:200 1000;font-display:swap;src:url(%s);"+
	"unicode-range:U+0-FF,U+131,U+152-153,U+2BB-2BC,U+2C6,U+2DA,U+2DC,U+2000-206F,U+20AC,U+2122,U+2212}\n",
	fonts["nunito-latin-ext.woff2"], fonts["nunito-latin.woff2"])

// corners are the custom properties of corners, and further rules. The default is that of design.css.
var corners = map[db.Corners]struct {
	properties []string
	rules      string
}{
	db.CornersSquare: {properties: []string{"--radius:0px", "--control:0px", "--small:0px"}},
	db.CornersRound: {
		properties: []string{"--radius:20px", "--control:14px", "--small:10px"},
		rules:      ":is(button,.button):not(.switch button){border-radius:22px}\n",
	},
}

// rule returns the custom properties of the colours that the theme sets.
func (s surface) rule(t Theme) (out []string) {
	if t.Accent != "" {
		c := colour.Parse(t.Accent)
		soft, main := s.tint(c), s.main(c)
		out = append(out, "--main:"+main.String(), "--main-strong:"+main.Mix(s.away, 0.25).String(),
			"--on-main:"+s.ink.String(), "--main-soft:"+soft.String())
	}
	if t.Second != "" {
		out = append(out, "--second:"+s.second(colour.Parse(t.Second)).String())
	}
	return out
}

// tint returns a light accent, on which secondary text is readable.
func (s surface) tint(c colour.RGB) colour.RGB {
	return c.MixUntil(s.card, 0.86, func(x colour.RGB) bool { return colour.Contrast(s.soft, x) >= colour.Readable })
}

// main returns the accent, changed until text in it and on it is readable.
func (s surface) main(c colour.RGB) colour.RGB {
	return c.MixUntil(s.away, 0, func(x colour.RGB) bool { return s.contrast(x, s.tint(c), s.ink) >= colour.Readable })
}

// second returns the second colour, changed until shapes in it are visible.
func (s surface) second(c colour.RGB) colour.RGB {
	return c.MixUntil(s.away, 0, func(x colour.RGB) bool { return s.contrast(x) >= colour.Visible })
}

// contrast returns the lowest contrast of a colour with the backgrounds of pages, and with others.
func (s surface) contrast(c colour.RGB, others ...colour.RGB) float64 {
	worst := colour.Contrast(c, s.card)
	for _, g := range append(others, s.ground...) {
		worst = min(worst, colour.Contrast(c, g))
	}
	return worst
}

// DefaultAccent and DefaultSecond are the colours of programs without any, as in design.css.
const (
	DefaultAccent = "#1f5fd0"
	DefaultSecond = "#b45309"
)

// Accent returns the accent #rrggbb as light pages show it: white text on it is readable.
func Accent(accent string) color.RGBA {
	c := lightPages.main(colour.Parse(accent))
	return color.RGBA{c[0], c[1], c[2], 255}
}

// Contrast is how pages show a colour: its lowest contrast with white text and with the backgrounds of light pages,
// whether that is enough, and the colours of light and dark pages.
type Contrast struct {
	Lowest      float64
	Enough      bool
	Light, Dark string
}

// AccentContrast returns how pages show the accent #rrggbb.
func AccentContrast(accent string) Contrast {
	c := colour.Parse(accent)
	lowest := lightPages.contrast(c, lightPages.tint(c), lightPages.ink)
	return Contrast{
		lowest, lowest >= colour.Readable, lightPages.main(c).String(), darkPages.main(c).String(),
	}
}

// SecondContrast returns how pages show the second colour #rrggbb, which is that of shapes.
func SecondContrast(second string) Contrast {
	c := colour.Parse(second)
	lowest := lightPages.contrast(c)
	return Contrast{lowest, lowest >= colour.Visible, lightPages.second(c).String(), darkPages.second(c).String()}
}
