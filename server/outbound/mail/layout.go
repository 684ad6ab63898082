package mail

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"

	"rail/gen/db"
	"rail/server/colour"
)

// Layout makes the HTML and the plain text of every mail.
type Layout struct {
	BaseURL string // address of the service, without a trailing slash
	Name    string // the service's name, for mails of no program
	// Link returns the address of a partner's link: a page with a tracking parameter. It may be nil.
	Link func(page, param, value string) string
}

//go:embed layout.html
var layoutPage string

var layout = template.Must(template.New("layout").Parse(layoutPage))

// plainAccent is the default colour of programs.
const plainAccent = "#1f5fbf"

// The colours of a mail, as those of pages (design.css).
var (
	lightMail = palette{
		Ground: colour.RGB{246, 247, 249}, Card: colour.White, Text: colour.RGB{23, 28, 38},
		Soft: colour.RGB{88, 100, 116}, Line: colour.RGB{227, 231, 237}, away: colour.Black,
	}
	darkMail = palette{
		Ground: colour.RGB{17, 21, 27}, Card: colour.RGB{26, 32, 41}, Text: colour.RGB{232, 236, 242},
		Soft: colour.RGB{163, 175, 191}, Line: colour.RGB{42, 50, 62}, away: colour.White,
	}
)

// palette holds the colours of a mail, in light or in dark.
type palette struct {
	Ground, Card, Text, Soft, Line colour.RGB
	// Link is the accent as text on the card; Button and Ink are a button and its text.
	Link, Button, Ink colour.RGB
	// Bar is the line above the card.
	Bar  colour.RGB
	away colour.RGB // what the accent is mixed with until it can be read
}

// with returns the palette with the two colours of a program. In light mode the button has exactly the accent.
func (p palette) with(accent colour.RGB, second *string) palette {
	p.Link = accent.MixUntil(p.away, 0, func(x colour.RGB) bool {
		return min(colour.Contrast(x, p.Card), colour.Contrast(x, p.Ground)) >= colour.Readable
	})
	p.Button = accent
	if p.away == colour.White {
		p.Button = p.visible(accent)
	}
	p.Ink, p.Bar = p.Button.Ink(), p.Button
	if second != nil {
		p.Bar = p.visible(colour.Parse(*second))
	}
	return p
}

// visible returns a colour, changed until shapes in it are visible on the card.
func (p palette) visible(c colour.RGB) colour.RGB {
	return c.MixUntil(p.away, 0, func(x colour.RGB) bool { return colour.Contrast(x, p.Card) >= colour.Visible })
}

// content is a mail before its layout.
type content struct {
	subject, language string
	body, foot        document
	headed            bool   // the subject is above the text
	plain             string // the plain text, if it is not that of the body
	pixel             string // the address of an image that reports the opening
}

// page is the data of the layout.
type page struct {
	Subject, Language, Preview, Program, Logo, Pixel string
	Headed                                           bool
	Light, Dark                                      palette
	Body, Foot                                       template.HTML
	// Start and End put the mail into a table of 600 pixels for Outlook, which has no maximum width.
	Start, End, Gap template.HTML
}

// both returns the HTML and the plain text of a mail, with the look of the reader's program.
func (y Layout) both(c content, reader *db.MailReaderRow) (page string, plain string, err error) {
	p := y.page(c, reader)
	if p.Body, err = c.body.html(p.Light, p.Light.Link); err != nil {
		return "", "", err
	}
	if p.Foot, err = c.foot.html(p.Light, p.Light.Soft); err != nil {
		return "", "", err
	}
	var out bytes.Buffer
	if err := layout.Execute(&out, p); err != nil {
		return "", "", err
	}
	if plain = strings.TrimRight(c.text(), "\n") + "\n"; c.foot.root != nil {
		plain += "\n-- \n" + c.foot.text() + "\n"
	}
	return out.String(), plain, nil
}

// page returns the data of the layout without the text.
func (y Layout) page(c content, reader *db.MailReaderRow) page {
	accent, second := plainAccent, (*string)(nil)
	p := page{
		Subject: c.subject, Language: cmp.Or(c.language, "en"), Preview: preview(c.text()), Program: y.Name, Pixel: c.pixel,
		Headed: c.headed,
		Start:  `<!--[if mso]><table role="presentation" width="600" align="center"><tr><td><![endif]-->`,
		End:    `<!--[if mso]></td></tr></table><![endif]-->`,
		Gap:    template.HTML(strings.Repeat("&#847;&zwnj;&nbsp;", 60)), //nolint:gosec // a constant
	}
	if reader != nil && reader.ProgramName != "" {
		p.Program = strings.Join(strings.Fields(reader.ProgramName), " ")
		second = reader.SecondColor
		if reader.AccentColor != nil {
			accent = *reader.AccentColor
		}
		if reader.LogoVersion != nil {
			p.Logo = y.BaseURL + "/look/" + reader.ProgramID + "/" + *reader.LogoVersion
		}
	}
	p.Light, p.Dark = lightMail.with(colour.Parse(accent), second), darkMail.with(colour.Parse(accent), second)
	return p
}

// text returns the plain text without the foot.
func (c content) text() string {
	if c.plain != "" {
		return c.plain
	}
	return c.body.text()
}

// maxPreview is the length of the text that a list of mails shows beside the subject.
const maxPreview = 140

// preview returns the beginning of a text, in one line.
func preview(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxPreview {
		return text
	}
	end := 0
	for i, r := range text {
		if i > maxPreview {
			break
		}
		if r == ' ' || end == 0 || i-end > maxPreview/2 {
			end = i
		}
	}
	return text[:end] + "…"
}

// html returns the document as HTML in a mail's look: mail programs ignore style sheets, so that every element has its
// style. Dark mode replaces colours by class.
func (d document) html(p palette, link colour.RGB) (template.HTML, error) {
	if d.root == nil {
		return "", nil
	}
	style := func(n ast.Node, class, style string) {
		if class != "" {
			n.SetAttributeString("class", class)
		}
		n.SetAttributeString("style", style)
	}
	_ = ast.Walk(d.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if string(n.Title) == buttonTitle {
				n.Title = nil
				style(n, "button", p.button())
			} else {
				style(n, "link", "color:"+link.String()+";text-decoration:underline")
			}
		case *ast.AutoLink:
			style(n, "link", "color:"+link.String()+";text-decoration:underline")
		case *ast.Heading:
			style(n, "", headings[min(n.Level, len(headings))-1])
		case *ast.Blockquote:
			style(n, "quote", "margin:16px 0;padding:0 0 0 16px;border-left:3px solid "+p.Line.String()+";color:"+p.Soft.String())
		case *ast.ThematicBreak:
			style(n, "line", "margin:24px 0;border:0;border-top:1px solid "+p.Line.String())
		case *ast.Image:
			style(n, "", "max-width:100%;height:auto;border:0")
		case *ast.CodeSpan:
			style(n, "", "font-family:Consolas,Menlo,monospace;font-size:14px")
		case *ast.List:
			style(n, "", "margin:16px 0;padding:0 0 0 24px")
		}
		return ast.WalkContinue, nil
	})
	var out bytes.Buffer
	err := goldmark.DefaultRenderer().Render(&out, d.source, d.root)
	return template.HTML(out.String()), err //nolint:gosec // goldmark drops HTML in the text
}

// headings are the styles of headings by level.
var headings = []string{
	"margin:0 0 16px;font-size:22px;line-height:1.3;font-weight:600",
	"margin:24px 0 12px;font-size:18px;line-height:1.35;font-weight:600",
	"margin:20px 0 8px;font-size:16px;line-height:1.4;font-weight:600",
}

// button is the style of a button.
func (p palette) button() string {
	return "display:inline-block;padding:12px 22px;border-radius:8px;background:" + p.Button.String() + ";color:" +
		p.Ink.String() + ";font-weight:600;text-decoration:none"
}
