// Package layout has the look of the docs: the page around a text, its style sheet and
// script, and Markdown as HTML.
package layout

import (
	"bytes"
	"embed"
	"html/template"
)

//go:embed page.html list.html style.css script.js
var files embed.FS

var templates = template.Must(template.ParseFS(files, "*.html"))

// Style returns the style sheet of all pages.
func Style() ([]byte, error) { return files.ReadFile("style.css") }

// Script returns the script of all pages. They work without it.
func Script() ([]byte, error) { return files.ReadFile("script.js") }

// Link leads to a page.
type Link struct {
	Title, To string
	About     string // a sentence on the page, for lists
	Current   bool   // the link leads to the page that shows it, or to its folder
}

// Page is one page. Its addresses are relative to the page, or begin at the root of the server.
type Page struct {
	Title       string
	Icon, Style string
	Scripts     []string
	Header      []Link // the first is the home page
	Search      string // answers the search form
	Prompt      string // of the search field
	Query       string // in the search field
	MenuTitle   string
	Menu        []Link
	Body        template.HTML
}

// Render returns the page as HTML.
func (p Page) Render() ([]byte, error) {
	var out bytes.Buffer
	err := templates.ExecuteTemplate(&out, "page.html", p)
	return out.Bytes(), err
}

// List returns links, each with its About.
func List(links []Link) (template.HTML, error) { return Part(templates.Lookup("list.html"), links) }

// Part returns a part of a page, which a template writes.
func Part(t *template.Template, data any) (template.HTML, error) {
	var out bytes.Buffer
	err := t.Execute(&out, data)
	return template.HTML(out.String()), err // #nosec G203 -- the template has escaped it
}
