package join

import (
	"embed"
	"strings"

	"rail/server/http/site"
	"rail/server/http/site/look"
)

//go:embed templates
var files embed.FS

// pages are the templates, each with the frame around it.
var pages = site.Source{Files: files, Folder: "templates"}.Parse()

// frame is what every page gets.
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

// note answers with a page that only says something.
func (v *visit) note(status int, title, text string) error {
	return v.write(status, "note", title, text)
}

// paragraphs are those of a plain text, which empty lines end.
func paragraphs(text string) (out []string) {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
