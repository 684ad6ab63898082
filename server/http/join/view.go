package join

import (
	"embed"
	"strings"

	"rail/server/http/site"
	"rail/server/http/site/look"
)

//go:embed templates
var files embed.FS

// pages are the templates, each within the frame.
var pages = site.Source{Files: files, Folder: "templates"}.Parse()

// frame holds the data of every page.
type frame struct {
	Title, Program     string
	Look               look.Look // of the program
	FormToken, Website string
	Data               any
}

// write answers with a page in the look of the program.
func (v *visit) write(status int, name, title string, data any) error {
	f := frame{
		Title: title, Program: v.program.Name, Website: v.program.WebsiteURL,
		Look:      look.Of(v.program.ID, v.settings.AccentColor, v.settings.LogoVersion),
		FormToken: guard.Token(v.Request().URL.Path), Data: data,
	}
	if f.Program == "" {
		f.Program = v.pages.Service
	}
	return pages.Write(v, v.locale, status, name, f)
}

// note answers with a page of a title and a text.
func (v *visit) note(status int, title, text string) error {
	return v.write(status, "note", title, text)
}

// paragraphs splits a plain text at empty lines.
func paragraphs(text string) (out []string) {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
