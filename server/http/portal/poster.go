package portal

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// The measures of a poster in millimetres: DIN A4, upright.
const (
	posterWidth  = 210
	posterHeight = 297
	posterEdge   = 20
	posterCode   = 140.0
	leastLetters = 3.2 // the smallest letters that people read from a poster
)

// poster answers with a page to print: the program's name, the code of a link, and the link.
func poster(v *visit) error {
	code, err := v.code()
	if err != nil {
		return err
	}
	address, err := v.linkAddress(v.QueryParam("link"))
	if err != nil {
		return err
	}
	shown := strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://")
	if sizeOf(shown, 8) < leastLetters {
		if u, err := url.Parse(address); err == nil {
			shown = u.Host
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%dmm" height="%dmm" viewBox="0 0 %[1]d %[2]d">`,
		posterWidth, posterHeight)
	fmt.Fprintf(&b, `<path fill="#fff" d="M0 0h%dv%dH0z"/><g text-anchor="middle" font-family="Inter, Helvetica, Arial, `+
		`sans-serif" fill="#18202b">`, posterWidth, posterHeight)
	posterLine(&b, 52, 20, 700, v.program.Name)
	posterLine(&b, 72, 9, 400, v.Locale.T("Scan this code"))
	posterLine(&b, 258, 8, 600, shown)
	scale := posterCode / float64(code.Size+2*quiet)
	fmt.Fprintf(&b, `</g><path transform="translate(%.2f 90) scale(%.4f)" d="%s"/></svg>`,
		(posterWidth-posterCode)/2, scale, modules(code))
	return v.Blob(http.StatusOK, "image/svg+xml", []byte(b.String()))
}

// posterLine adds a centred line, in letters of at most size that fit between the edges.
func posterLine(b *strings.Builder, y int, size float64, weight int, text string) {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(text)) // never fails
	fmt.Fprintf(b, `<text x="%d" y="%d" font-size="%.2f" font-weight="%d">%s</text>`,
		posterWidth/2, y, sizeOf(text, size), weight, escaped.String())
}

// sizeOf returns the size of letters, at most most, in which a text fits on a line. Letters beyond Latin are wide.
func sizeOf(text string, most float64) float64 {
	width := 0.0
	for _, r := range text {
		if width += 0.66; r >= 0x1100 {
			width += 0.44
		}
	}
	return min(most, (posterWidth-2*posterEdge)/max(width, 1))
}
