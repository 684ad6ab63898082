// Package guides serves pages that show how a thing is done, beside the reference
// that says what each call is. They are Markdown files of this folder; a test runs
// every block of code in them.
package guides

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"rail/server/http/docs/static"
)

//go:embed *.md page.html style.css
var files embed.FS

// names are the guides in the order in which they are read.
var names = []string{"tag", "server", "attribution", "money", "webhooks", "errors", "clients", "trying"}

// policy lets a page load its style from this server, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// shortly is how long pages are kept, which change with the binary.
const shortly = "public, max-age=300"

// Guide is one page. Title is its heading, About the paragraph below it.
type Guide struct {
	Name, Title, About string
	Text               []byte // in Markdown, whole
}

// All returns the guides in the order in which they are read.
func All() []Guide {
	var out []Guide
	for _, name := range names {
		out = append(out, read(name))
	}
	return out
}

// read returns a guide of the folder, which the binary has.
func read(name string) Guide {
	text, err := files.ReadFile(name + ".md")
	if err != nil {
		panic(err)
	}
	parts := strings.SplitN(string(text), "\n\n", 3)
	return Guide{name, strings.TrimPrefix(parts[0], "# "), strings.ReplaceAll(parts[1], "\n", " "), text}
}

// markdown has tables, and headings that can be linked to.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
)

var page = template.Must(template.ParseFS(files, "page.html"))

// Register adds the pages, each as HTML and, with .md, as it was written.
func Register(e *echo.Echo) {
	add := func(path, contentType string, read func() ([]byte, error)) {
		text := static.New(contentType, shortly, read)
		e.Match([]string{http.MethodGet, http.MethodHead}, path, func(c echo.Context) error {
			h, asked := c.Response().Header(), c.Request().Header
			h.Set("Content-Security-Policy", policy)
			h.Set("Referrer-Policy", "no-referrer")
			return text.Serve(c.Response(), asked.Get("Accept-Encoding"), asked.Get("If-None-Match"))
		})
	}
	add("/docs/guides", "text/html; charset=utf-8", func() ([]byte, error) { return html(Guide{Title: "Guides"}) })
	add("/docs/guides/style.css", "text/css; charset=utf-8", func() ([]byte, error) { return files.ReadFile("style.css") })
	for _, g := range All() {
		add("/docs/guides/"+g.Name, "text/html; charset=utf-8", func() ([]byte, error) { return html(g) })
		add("/docs/guides/"+g.Name+".md", "text/markdown; charset=utf-8", func() ([]byte, error) { return g.Text, nil })
	}
}

// html returns the page of a guide; of one without a text, the list of all. Links to
// other guides name their files, which an editor follows too.
func html(g Guide) ([]byte, error) {
	var body, out bytes.Buffer
	if err := markdown.Convert(g.Text, &body); err != nil {
		return nil, err
	}
	text := strings.NewReplacer(`.md">`, `">`, `.md#`, `#`).Replace(body.String())
	err := page.Execute(&out, struct {
		Guide
		Body template.HTML
		All  []Guide
	}{g, template.HTML(text), All()}) // #nosec G203 -- the text is the binary's own
	return out.Bytes(), err
}
