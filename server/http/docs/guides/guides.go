// Package guides serves pages that show how to do a task. The reference describes each
// call. The guides are Markdown files of this folder; a test runs their code in every
// language.
package guides

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"

	"rail/server/http/docs/static"
)

//go:embed *.md page.html style.css script.js setup
var files embed.FS

// names are the guides in the order in which they are read.
var names = []string{
	"tag", "server", "attribution", "assistants", "money", "statements", "webhooks", "export", "errors", "clients", "agents",
	"trying", "test-clock", "move-in", "move-from-rewardful", "move-from-tolt", "move-from-firstpromoter",
	"move-from-tapfiliate",
	"move-from-partnerstack", "move-from-dub", "move-from-others",
}

// policy lets a page load its style and its script from this server, and ask it.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// shortly is how long pages are cached. They change with the binary.
const shortly = "public, max-age=300"

// Guide is one page. Title is its heading, About the paragraph below it.
type Guide struct {
	Name, Title, About string
	Text               []byte // in Markdown, its calls for the shell

	source string
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
	source := string(text)
	parts := strings.SplitN(source, "\n\n", 3)
	about := strings.NewReplacer("\n", " ", "`", "").Replace(parts[1])
	return Guide{name, strings.TrimPrefix(parts[0], "# "), about, []byte(expand(source, false)), source}
}

// InContainer returns the text with commands for a server in a container.
func (g Guide) InContainer() string { return expand(g.source, true) }

// Step is a block of calls, with the answer that the guide shows for one of them.
type Step struct {
	Calls  int
	Answer string // JSON, or ""
}

var answered = regexp.MustCompile("(?ms)^```api\n(.*?)^```$(?:\n+```json\n(.*?)^```$)?")

// Program returns the code of a guide's calls for a file such as guide.py, whose ending
// names the language, and the answers that the guide shows.
func (g Guide) Program(file string) (code string, steps []Step) {
	for _, l := range languages {
		if !strings.Contains(l.file, filepath.Ext(file)) {
			continue
		}
		var calling strings.Builder
		for _, m := range answered.FindAllStringSubmatch(g.source, -1) {
			calling.WriteString(l.code(m[1]))
			step := Step{Answer: m[2]}
			for _, c := range calls(m[1]) {
				if c.method != hour {
					step.Calls++
				}
			}
			steps = append(steps, step)
		}
		if setup, found := strings.CutSuffix(l.setup(), "\t// The calls of this page.\n}\n"); found {
			return setup + "\t" + strings.ReplaceAll(strings.TrimSpace(calling.String()), "\n", "\n\t") + "\n}\n", steps
		}
		return l.setup() + calling.String(), steps
	}
	panic("no language writes " + file)
}

// markdown has tables, headings that can be linked to, and blocks with tabs.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 1))),
)

var page = template.Must(template.ParseFS(files, "page.html"))

// Register adds the pages, each as HTML and, with .md, as Markdown.
func Register(e *echo.Echo) {
	get := func(path string, handler echo.HandlerFunc) {
		e.Match([]string{http.MethodGet, http.MethodHead}, path, func(c echo.Context) error {
			c.Response().Header().Set("Content-Security-Policy", policy)
			c.Response().Header().Set("Referrer-Policy", "no-referrer")
			return handler(c)
		})
	}
	add := func(path, contentType string, read func() ([]byte, error)) {
		text := static.New(contentType, shortly, read)
		get(path, func(c echo.Context) error {
			asked := c.Request().Header
			return text.Serve(c.Response(), asked.Get("Accept-Encoding"), asked.Get("If-None-Match"))
		})
	}
	file := func(name string) func() ([]byte, error) {
		return func() ([]byte, error) { return files.ReadFile(name) }
	}
	add("/docs/guides", echo.MIMETextHTMLCharsetUTF8, func() ([]byte, error) {
		return render(view{Guide: Guide{Title: "Guides"}})
	})
	add("/docs/guides/style.css", "text/css; charset=utf-8", file("style.css"))
	add("/docs/guides/script.js", "text/javascript; charset=utf-8", file("script.js"))
	get("/docs/guides/search", find)
	for _, g := range All() {
		add("/docs/guides/"+g.Name, echo.MIMETextHTMLCharsetUTF8, func() ([]byte, error) { return render(view{Guide: g}) })
		add("/docs/guides/"+g.Name+".md", "text/markdown; charset=utf-8", func() ([]byte, error) { return g.Text, nil })
	}
}

// view is the content of a page: a guide, the results of a search, or the list of all
// guides.
type view struct {
	Guide
	Searched bool
	Query    string
	Problem  string
	Found    []result
}

// Body is the guide's text in HTML. Links to other guides name their files, which an
// editor follows too.
func (v view) Body() (template.HTML, error) {
	var body bytes.Buffer
	if err := markdown.Convert([]byte(v.source), &body); err != nil {
		return "", err
	}
	return template.HTML(strings.NewReplacer( // #nosec G203 -- the text is the binary's own
		`.md">`, `">`, `.md#`, `#`, `<table>`, `<div class="table" tabindex="0"><table>`, `</table>`, `</table></div>`,
	).Replace(body.String())), nil
}

// All are the guides of the page's menu.
func (view) All() []Guide { return All() }

// render returns a page.
func render(v view) ([]byte, error) {
	var out bytes.Buffer
	err := page.Execute(&out, v)
	return out.Bytes(), err
}
