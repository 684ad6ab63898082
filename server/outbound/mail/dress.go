package mail

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"rail/gen/db"
)

// plainAccent is the default colour of programs.
const plainAccent = "#1f5fbf"

// absolute inserts the service's address into links to Rail's pages.
func (s Sender) absolute(text string) string { return strings.ReplaceAll(text, own, s.BaseURL+"/") }

// decorate puts the program's name, logo and colour around a page. Everything but the logo is inline, since mail
// programs ignore style sheets.
func (s Sender) decorate(page *bytes.Buffer, r db.MailReaderRow) *bytes.Buffer {
	accent := plainAccent
	if r.AccentColor != nil {
		accent = *r.AccentColor
	}
	head := "<strong>" + html.EscapeString(r.ProgramName) + "</strong>"
	if r.LogoVersion != nil {
		head = fmt.Sprintf(`<img src="%s/look/%s/%s" alt="" height="40" style="vertical-align:middle;max-width:12rem"> `,
			s.BaseURL, r.ProgramID, *r.LogoVersion) + head
	}
	pill := fmt.Sprintf(`style="display:inline-block;padding:12px 20px;border-radius:8px;background:%s;color:%s;`+
		`font-weight:600;text-decoration:none"`, accent, inkOn(accent))
	out := new(bytes.Buffer)
	fmt.Fprintf(out, `<div style="max-width:36rem;margin:0 auto;padding:16px;font:16px/1.5 system-ui,sans-serif">`+
		"\n<p style=\"padding-bottom:12px;border-bottom:3px solid %s\">%s</p>\n", accent, head)
	out.WriteString(strings.ReplaceAll(page.String(), `title="`+pressed+`"`, pill))
	out.WriteString("</div>\n")
	return out
}

// inkOn returns white or black, whichever is more readable on a colour #rrggbb: black from the luminance on at
// which both WCAG contrasts are equal.
func inkOn(colour string) string {
	bits, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil {
		return "#ffffff"
	}
	linear := func(part uint64) float64 { return math.Pow(float64(part&0xff)/0xff, 2.2) }
	if 0.2126*linear(bits>>16)+0.7152*linear(bits>>8)+0.0722*linear(bits) > 0.179 {
		return "#000000"
	}
	return "#ffffff"
}
