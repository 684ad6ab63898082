// Package site has everything that the pages of console, portal and join share.
//
// A site has routes (Site), each with an action on a Visit: one request with its session and form. Site checks the
// origin, loads the session, reads the form and loads the objects of the path, in this order; every error is a page.
// Guard protects forms; a posted form is Posted, a shown one a Form with Inputs; Explain and FaultsOf describe errors.
//
// A site has templates (Source), which use a locale: {{t "A text"}}, {{money .Minor .Currency}}. The templates "top"
// and "bottom" surround every page; the page's data has a Layout. Everything is rendered on the server and works
// without JavaScript.
//
// The templates and their arguments:
//
//	head       the title; goes into <head>
//	moment     a clock.Time; day writes only its day, in UTC
//	badge      a state
//	copy       a text in a field with a button that copies it; code is a block of it
//	flash      a sentence about the result of a form
//	undo       a Layout: its flash, with a form that undoes it
//	input      Input
//	faults     Faults
//	hidden     []Hidden
//	filters    Filters
//	sort       Sort, a column's head; tick-all is that of the boxes, with nothing given
//	tick       Tick, the first cell of a row
//	bulk       Bulk
//	pager      Listing
//	chart      Chart; figures is its table alone
//	ranks      Ranks
//	menu       Menu
//	tabs       Tabs
//	steps      Steps
//	tile       Tile
//	sum        Sum
//	confirm    Confirm
//	timeline   []Moment
//	nothing    Nothing
//	zone       nothing: the line with the time zone. On a page with it, the
//	           script shows moments in the browser's zone
//
// The page note.html shows a title and a sentence; a site may replace it by its own.
//
// The pages under testdata have all of them in use.
package site

import (
	"bytes"
	"embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"sync"

	"github.com/labstack/echo/v4"

	"rail/server/locale"
)

//go:embed templates assets
var files embed.FS

// Source holds the templates of a site.
type Source struct {
	Files fs.FS
	// Folder is their path.
	Folder string
	// Vocabulary has the values of enums whose own name would not be understood.
	Vocabulary map[string]string
	// Functions are further functions for the templates.
	Functions template.FuncMap
}

// Pages are a site's pages by name, for every locale. Templates that a page defines are known to all pages of the site.
type Pages struct {
	source Source
	mu     sync.Mutex
	sets   map[*locale.Locale]func() *template.Template
}

// Parse reads the pages. A mistake in them ends the start.
func (s Source) Parse() *Pages {
	p := &Pages{source: s, sets: map[*locale.Locale]func() *template.Template{}}
	p.in(locale.English)
	return p
}

// in returns the pages for a locale, which are parsed when its first reader comes.
func (p *Pages) in(l *locale.Locale) *template.Template {
	p.mu.Lock()
	parsed, ok := p.sets[l]
	if !ok {
		parsed = sync.OnceValue(func() *template.Template { return p.source.parse(l) })
		p.sets[l] = parsed
	}
	p.mu.Unlock()
	return parsed()
}

// parse reads all pages into one set. Copies of the shared templates would take most of a server's memory.
func (s Source) parse(l *locale.Locale) *template.Template {
	funcs := functions(l, s.Vocabulary)
	maps.Copy(funcs, s.Functions)
	all := template.Must(template.New("").Funcs(funcs).ParseFS(files, "templates/*.html"))
	return template.Must(all.ParseFS(s.Files, path.Join(s.Folder, "*.html")))
}

// Write answers with the page NAME.html in the locale l. It renders the whole page first, so that a failing template
// becomes an error page, not half a page with status 200.
func (p *Pages) Write(c echo.Context, l *locale.Locale, status int, name string, data any) error {
	var b bytes.Buffer
	if err := p.in(l.Base()).ExecuteTemplate(&b, name+".html", data); err != nil {
		return err
	}
	c.Response().Header().Set("Content-Language", l.Language())
	c.Response().Header().Add("Vary", "Accept-Language")
	return c.HTMLBlob(status, filled(b.Bytes(), l))
}
