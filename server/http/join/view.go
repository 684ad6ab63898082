package join

import (
	"cmp"
	"embed"

	"rail/server/http/site"
	"rail/server/http/site/branding"
)

//go:embed templates
var files embed.FS

// pages are the templates, each within the frame.
var pages = site.Source{Files: files, Folder: "templates"}.Parse()

// frame holds the data of every page.
type frame struct {
	site.Layout
	Data any
}

// write answers with a page in the look of the program.
func (v *visit) write(status int, name, title string, data any) error {
	return v.writeIn(v.layout(title), status, name, data)
}

// layout returns the header of a page in the look of the program.
func (v *visit) layout(title string) site.Layout {
	own := branding.OfSettings(v.settings)
	if v.draft {
		own.Style = branding.DraftStylePath(branding.ThemeOf(v.settings))
	}
	l := site.Layout{
		Title:     title,
		Name:      cmp.Or(v.program.Name, v.pages.Service),
		Home:      v.program.WebsiteURL,
		Branding:  own,
		FormToken: v.FormToken(),
		Narrow:    true,
	}
	if v.program.ID != "" && !v.draft { // pages that are not found are all the same
		l.Languages = v.Languages()
	}
	return l
}

// writeIn answers with a page in a layout.
func (v *visit) writeIn(l site.Layout, status int, name string, data any) error {
	return pages.Write(v, v.Locale, status, name, frame{Data: data, Layout: l})
}

// note answers with a page of a title and a text.
func (v *visit) note(status int, title, text string) error {
	return v.write(status, "note", title, text)
}
