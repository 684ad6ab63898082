package branding

import (
	"bytes"
	"cmp"
	"errors"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif"  // logos
	_ "image/jpeg" // logos
	"image/png"
	"math"
	"net/url"
	"strings"
	"sync"

	scale "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	_ "golang.org/x/image/webp" // logos
	"golang.org/x/sync/singleflight"

	"rail/server/colour"
	"rail/server/http/site"
	"rail/server/opt"
)

// The size of a card, in pixels, as sites that show links expect it.
const (
	CardWidth  = 1200
	CardHeight = 630
)

// Card is the picture with which other sites show a link to a program's join page (Open Graph).
type Card struct {
	Name, Website                         string
	Headline, Accent, Second, LogoVersion *string
	logo                                  []byte
}

// CardPath returns the path of a program's card. It changes with the contents.
func CardPath(programID string, c Card) string {
	return folder + programID + "/" + c.version() + ".png"
}

// version names the contents. Its first part is that of the design below.
func (c Card) version() string {
	return versionOf(strings.Join([]string{
		"1", c.Name, c.Website, opt.Value(c.Headline), opt.Value(c.Accent), opt.Value(c.Second),
		opt.Value(c.LogoVersion),
	}, "\n"))
}

// The measures of a card's design, in pixels.
const (
	edge       = 80
	logoHeight = 96
	logoWidth  = 360
	plate      = 20 // the white around the logo
	textTop    = 236
	textBottom = CardHeight - 122
)

// inks are the colours of text on the accent.
var (
	ink  = color.NRGBA{255, 255, 255, 255}
	pale = color.NRGBA{255, 255, 255, 210}
)

// png draws the card, as PNG. Texts with letters that the fonts lack are left out; the card's page has them.
func (c Card) png() ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, CardWidth, CardHeight))
	ground := site.Accent(cmp.Or(opt.Value(c.Accent), site.DefaultAccent))
	draw.Draw(img, img.Bounds(), image.NewUniform(ground), image.Point{}, draw.Src)
	second := c.second()
	disc(img, 1080, 80, 330, second)
	second.A = second.A * 4 / 5
	disc(img, 1010, 610, 210, second)
	headline := cmp.Or(opt.Value(c.Headline), c.Name)
	left := edge + c.drawLogo(img)
	if headline != c.Name && Drawn(c.Name) {
		line(img, bold, 36, left, edge+logoHeight/2+13, CardWidth-edge-left, ink, c.Name)
	}
	if Drawn(headline) {
		drawHeadline(img, headline)
	}
	if u, err := url.Parse(c.Website); err == nil && Drawn(u.Host) {
		line(img, regular, 30, edge, CardHeight-64, CardWidth-2*edge, pale, strings.TrimPrefix(u.Host, "www."))
	}
	var out bytes.Buffer
	err := png.Encode(&out, img)
	return out.Bytes(), err
}

// second returns the colour of the shapes behind the text, so faint that the text stays readable.
func (c Card) second() color.NRGBA {
	if c.Second == nil {
		return color.NRGBA{255, 255, 255, 20}
	}
	s := colour.Parse(*c.Second)
	return color.NRGBA{s[0], s[1], s[2], 64}
}

// drawHeadline draws a text of at most three lines in the largest size that fits.
func drawHeadline(img *image.RGBA, text string) {
	const width = CardWidth - 2*edge
	var lines []string
	size := 84.0
	for ; size >= 44; size -= 4 {
		lines = wrap(bold, size, width, text)
		if len(lines) <= 3 && textTop+size*(1+1.18*float64(len(lines)-1)) <= textBottom {
			break
		}
	}
	size = max(size, 44)
	y := float64(textTop) + size
	for i, l := range lines[:min(len(lines), 3)] {
		if i == 2 && len(lines) > 3 {
			l += "…"
		}
		line(img, bold, size, edge, int(y), width, ink, l)
		y += size * 1.18
	}
}

// drawLogo draws the logo on a white plate at the top left, and returns the width that it takes.
func (c Card) drawLogo(img *image.RGBA) int {
	logo, err := decode(c.logo)
	if err != nil {
		return 0
	}
	from := logo.Bounds()
	height := logoHeight - plate
	width := from.Dx() * height / from.Dy()
	if width > logoWidth {
		width, height = logoWidth, max(from.Dy()*logoWidth/from.Dx(), 1)
	}
	width = max(width, 1)
	at := image.Rect(0, 0, width, height).Add(image.Pt(edge+plate, edge+(logoHeight-height)/2))
	rounded(img, image.Rect(edge, edge, edge+width+2*plate, edge+logoHeight), 16, ink)
	scale.CatmullRom.Scale(img, at, logo, from, draw.Over, nil)
	return width + 2*plate + 28
}

// maxLogoSide bounds the logo that is decoded: a small file can be a huge image.
const maxLogoSide = 2000

var errNoLogo = errors.New("look: no logo that can be drawn")

// decode decodes a logo.
func decode(logo []byte) (image.Image, error) {
	size, _, err := image.DecodeConfig(bytes.NewReader(logo))
	if err != nil {
		return nil, err
	}
	if size.Width < 1 || size.Height < 1 || size.Width > maxLogoSide || size.Height > maxLogoSide {
		return nil, errNoLogo
	}
	img, _, err := image.Decode(bytes.NewReader(logo))
	if err != nil {
		return nil, err
	}
	if img.Bounds().Empty() { // the first frame of a GIF can be smaller than its screen
		return nil, errNoLogo
	}
	return img, nil
}

// face returns a font in a size.
func face(f *opentype.Font, size float64) font.Face {
	out, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic(err) // the options are valid
	}
	return out
}

// line draws a text on a line, and cuts it where it is wider than width.
func line(img draw.Image, f *opentype.Font, size float64, x, y, width int, in color.Color, text string) {
	d := font.Drawer{Dst: img, Src: image.NewUniform(in), Face: face(f, size), Dot: fixed.P(x, y)}
	if d.MeasureString(text).Ceil() > width {
		runes := []rune(text)
		for len(runes) > 0 && d.MeasureString(string(runes)+"…").Ceil() > width {
			runes = runes[:len(runes)-1]
		}
		text = strings.TrimRight(string(runes), " …") + "…"
	}
	d.DrawString(text)
}

// wrap splits a text into lines at spaces. A word that is wider than a line has a line to itself.
func wrap(f *opentype.Font, size float64, width int, text string) (lines []string) {
	in := face(f, size)
	for word := range strings.FieldsSeq(text) {
		if n := len(lines) - 1; n >= 0 && font.MeasureString(in, lines[n]+" "+word).Ceil() <= width {
			lines[n] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// disc draws a filled circle.
func disc(img draw.Image, x, y, radius int, in color.Color) {
	rounded(img, image.Rect(x-radius, y-radius, x+radius, y+radius), radius, in)
}

// rounded draws a rectangle with round corners.
func rounded(img draw.Image, r image.Rectangle, radius int, in color.Color) {
	draw.DrawMask(img, r, image.NewUniform(in), image.Point{}, corners{r, radius}, r.Min, draw.Over)
}

// corners is the mask of a rectangle with round corners.
type corners struct {
	rectangle image.Rectangle
	radius    int
}

// ColorModel returns the model of masks.
func (corners) ColorModel() color.Model { return color.AlphaModel }

// Bounds returns the rectangle.
func (c corners) Bounds() image.Rectangle { return c.rectangle }

// At returns the share of a pixel that is within.
func (c corners) At(x, y int) color.Color {
	inner := c.rectangle.Inset(c.radius)
	px, py := float64(x)+0.5, float64(y)+0.5
	dx := max(float64(inner.Min.X)-px, px-float64(inner.Max.X), 0)
	dy := max(float64(inner.Min.Y)-py, py-float64(inner.Max.Y), 0)
	share := min(max(float64(c.radius)+0.5-math.Hypot(dx, dy), 0), 1)
	return color.Alpha{uint8(math.Round(255 * share))}
}

// cardsCached bounds the cards in memory.
const cardsCached = 64

// cards draws each card once, and remembers the last ones: sites that show links fetch them in bursts.
type cards struct {
	drawing singleflight.Group
	mu      sync.Mutex
	byPath  map[string][]byte
}

// of returns the picture of a card.
func (k *cards) of(programID string, c Card) ([]byte, error) {
	at := CardPath(programID, c)
	if found := k.find(at); found != nil {
		return found, nil
	}
	drawn, err, _ := k.drawing.Do(at, func() (any, error) {
		if found := k.find(at); found != nil {
			return found, nil
		}
		drawn, err := c.png()
		if err == nil {
			k.store(at, drawn)
		}
		return drawn, err
	})
	if err != nil {
		return nil, err
	}
	return drawn.([]byte), nil //nolint:forcetypeassert // the function above returns bytes
}

// find returns a card in memory; nil for none.
func (k *cards) find(at string) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byPath[at]
}

// store puts a card into memory. When the memory is full, it starts anew.
func (k *cards) store(at string, drawn []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byPath == nil || len(k.byPath) >= cardsCached {
		k.byPath = map[string][]byte{}
	}
	k.byPath[at] = drawn
}
