package join

import (
	"cmp"
	"embed"

	"rail/server/http/site"
	"rail/server/http/site/look"
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
	own := look.Of(v.program.ID, v.settings.AccentColor, v.settings.LogoVersion)
	return pages.Write(v, v.Locale, status, name, frame{Data: data, Layout: site.Layout{
		Title:     title,
		Name:      cmp.Or(v.program.Name, v.pages.Service),
		Home:      v.program.WebsiteURL,
		Style:     own.Style,
		Logo:      own.Logo,
		FormToken: v.FormToken(),
		Narrow:    true,
	}})
}

// note answers with a page of a title and a text.
func (v *visit) note(status int, title, text string) error {
	return v.write(status, "note", title, text)
}
