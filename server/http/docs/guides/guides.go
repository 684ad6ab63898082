// Package guides serves pages that show how to do a task. The reference describes each
// call. The guides are Markdown files of this folder; a test runs their code in every
// language.
package guides

import (
	"embed"
	"html/template"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/layout"
	"rail/server/http/docs/static"
)

//go:embed *.md results.html setup
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

// markdown writes the guides, their blocks with tabs.
var markdown = layout.NewMarkdown(blocks{})

var results = template.Must(template.ParseFS(files, "results.html"))

// HTML returns the guide as HTML, with the links that follow returns. Links to other guides name their files, which
// an editor follows too.
func (g Guide) HTML(follow layout.Follow) (template.HTML, error) {
	return markdown.HTML([]byte(g.source), follow)
}

// Sections are the parts of the guide.
func (g Guide) Sections() []layout.Section { return markdown.Sections(g.Text) }

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
			header := c.Request().Header
			return text.Serve(c.Response(), header.Get("Accept-Encoding"), header.Get("If-None-Match"))
		})
	}
	add(root, echo.MIMETextHTMLCharsetUTF8, list)
	add(root+"/style.css", "text/css; charset=utf-8", layout.Style)
	add(root+"/script.js", "text/javascript; charset=utf-8", layout.Script)
	get(root+"/search", find)
	for _, g := range All() {
		add(root+"/"+g.Name, echo.MIMETextHTMLCharsetUTF8, g.page)
		add(root+"/"+g.Name+".md", "text/markdown; charset=utf-8", func() ([]byte, error) { return g.Text, nil })
	}
}

// root is the address of the pages.
const root = "/docs/guides"

// links are the guides, one of which may be the page that shows them.
func links(current string) []layout.Link {
	var out []layout.Link
	for _, g := range All() {
		out = append(out, layout.Link{Title: g.Title, To: root + "/" + g.Name, About: g.About, Current: g.Name == current})
	}
	return out
}

// render returns a page of the server.
func render(name, title, query string, body template.HTML) ([]byte, error) {
	return layout.Page{
		Title: title, Icon: "/favicon.ico", Style: root + "/style.css", Scripts: []string{root + "/script.js"},
		Header: []layout.Link{{Title: "Guides", To: root}, {Title: "Reference", To: "/docs"}},
		Search: root + "/search", Prompt: "Search the guides", Query: query,
		MenuTitle: "Guides", Menu: links(name), Body: body,
	}.Render()
}

// list returns the page with all guides.
func list() ([]byte, error) {
	all, err := layout.List(links(""))
	if err != nil {
		return nil, err
	}
	return render("", "Guides", "", "<h1>Guides</h1>\n"+all)
}

// page returns the guide's page.
func (g Guide) page() ([]byte, error) {
	body, err := g.HTML(func(to string) (string, bool) {
		if strings.Contains(to, "://") {
			return to, true
		}
		return strings.Replace(to, ".md", "", 1), true
	})
	if err != nil {
		return nil, err
	}
	return render(g.Name, g.Title, "", body+g.AsMarkdown(root+"/"))
}

// AsMarkdown links to the guide's text in a folder.
func (g Guide) AsMarkdown(folder string) template.HTML {
	return template.HTML(`<p class="as"><a href="` + folder + g.Name + ".md\">This page as Markdown</a></p>\n") // #nosec G203 -- a name of the binary
}
