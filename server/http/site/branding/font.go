package branding

import (
	_ "embed" // the fonts
	"strings"

	"golang.org/x/image/font/sfnt"
)

// Regular and Bold are the pages' typeface, Inter, for pictures and PDFs: Latin, Greek and Cyrillic, in TrueType.
var (
	//go:embed inter.ttf
	Regular []byte
	//go:embed inter-bold.ttf
	Bold []byte
)

var regular, bold = parse(Regular), parse(Bold)

// parse reads a font that is part of the binary.
func parse(font []byte) *sfnt.Font {
	f, err := sfnt.Parse(font)
	if err != nil {
		panic(err)
	}
	return f
}

// Drawn reports whether the fonts have every letter of the texts.
func Drawn(texts ...string) bool {
	var b sfnt.Buffer
	for _, r := range strings.Join(texts, "") {
		if at, err := regular.GlyphIndex(&b, r); err != nil || at == 0 {
			return false
		}
	}
	return true
}
