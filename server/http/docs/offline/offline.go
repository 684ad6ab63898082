// Package offline writes the docs as files that need no server: the guides, the reference
// and the repository's pages for operators, with a search. The files load nothing from
// other hosts, and their links are relative.
package offline

import (
	"embed"
	"fmt"
	"html/template"
	"path"
	"regexp"

	"rail"
	"rail/gen/samples"
	"rail/openapi"
	"rail/server/http/docs/guides"
	"rail/server/http/docs/layout"
	"rail/server/http/docs/pages"
	"rail/server/http/docs/reference"
)

//go:embed search.html search.js home.html
var files embed.FS

var home = template.Must(template.ParseFS(files, "home.html"))

// The folders of the pages.
const (
	guidesFolder    = "guides"
	referenceFolder = "reference"
	operationFolder = "operation"
)

// folders are in the order of the header.
var folders = []string{guidesFolder, referenceFolder, operationFolder}

// titles are the names of the folders, and of the first page's.
var titles = map[string]string{
	guidesFolder: "Guides", referenceFolder: "Reference", operationFolder: "Operation", ".": "Documentation",
}

// operation are the repository's pages in the order in which they are read, by the names of their files.
var operation = []struct{ name, source string }{
	{"rail", "README.md"},
	{"install", "cmd/rail/install.md"},
	{"going-live", "cmd/rail/going-live.md"},
	{"operating", "cmd/rail/README.md"},
	{"upgrade", "cmd/rail/upgrade.md"},
	{"troubleshooting", "cmd/rail/troubleshooting.md"},
	{"files", "cmd/rail/ops/README.md"},
	{"console", "server/http/console/README.md"},
	{"portal", "server/http/portal/README.md"},
	{"webhooks", "server/outbound/webhook/README.md"},
	{"script", "server/http/docs/script/README.md"},
	{"http", "server/http/README.md"},
	{"money", "server/money/README.md"},
	{"capacity", "server/harness/ceiling.md"},
	{"availability", "cmd/ha/README.md"},
	{"examples", "cmd/example/README.md"},
	{"bridge", "cmd/example/bridge/README.md"},
	{"changelog", "CHANGELOG.md"},
	{"security", "SECURITY.md"},
	{"support", "SUPPORT.md"},
}

// pictures belong to the repository's pages.
var pictures = []string{
	"server/http/console/console.png", "server/http/console/setup.png", "server/http/portal/portal.png", "server/money/way.svg",
}

// page is one page of the export.
type page struct {
	path, title, about string
	body               template.HTML
	sections           []layout.Section // for searches
}

// export is the export while it is written.
type export struct {
	out     map[string][]byte
	targets map[string]string // the exported file of a file of the repository, or of an address of the server
	pages   map[string][]page // by folder, without their lists
}

// Files returns all files by their paths. The same binary returns the same files.
func Files() (map[string][]byte, error) {
	x := &export{out: map[string][]byte{}, targets: map[string]string{}, pages: map[string][]page{}}
	x.aim()
	for _, step := range []func() error{
		x.resources, x.guides, x.reference, x.operation, x.lists, x.write, x.search,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
	}
	return x.out, nil
}

// resources writes the files that pages load.
func (x *export) resources() error {
	for name, read := range map[string]func() ([]byte, error){
		"style.css": layout.Style, "script.js": layout.Script, "icon.svg": pages.Icon,
		"search.js": func() ([]byte, error) { return files.ReadFile("search.js") },
	} {
		text, err := read()
		if err != nil {
			return err
		}
		x.out[name] = text
	}
	for _, name := range pictures {
		picture, err := rail.Pages.ReadFile(name)
		if err != nil {
			return err
		}
		x.out[operationFolder+"/"+path.Base(name)] = picture
	}
	x.out[referenceFolder+"/openapi.json"] = openapi.Bundle
	return nil
}

// guides adds the guides, and writes their texts.
func (x *export) guides() error {
	for _, g := range guides.All() {
		body, err := g.HTML(x.follow("server/http/docs/guides/" + g.Name + ".md"))
		if err != nil {
			return err
		}
		x.out[guidesFolder+"/"+g.Name+".md"] = g.Text
		x.add(guidesFolder, page{g.Name, g.Title, g.About, body + g.AsMarkdown(""), g.Sections()})
	}
	return nil
}

// asOpenAPI links to the description of the API.
const asOpenAPI template.HTML = `<p class="as"><a href="openapi.json">The description of the API, in OpenAPI</a></p>` + "\n"

// reference adds the reference.
func (x *export) reference() error {
	all, err := reference.Pages(openapi.Bundle, samples.JSON)
	for _, p := range all {
		if p.Name == "index" {
			p.Body += asOpenAPI
		}
		x.add(referenceFolder, page{p.Name, p.Title, p.About, p.Body, p.Sections})
	}
	return err
}

// picture is a picture with a width, as the repository's pages write it.
var picture = regexp.MustCompile(`<img src="([^"]+)" width="\d+" alt="([^"]+)">`)

// operation adds the repository's pages.
func (x *export) operation() error {
	markdown := layout.NewMarkdown()
	for _, p := range operation {
		text, err := rail.Pages.ReadFile(p.source)
		if err != nil {
			return err
		}
		text = picture.ReplaceAll(text, []byte("![$2]($1)"))
		body, err := markdown.HTML(text, x.follow(p.source))
		if err != nil {
			return err
		}
		title, about := markdown.Opening(text)
		x.add(operationFolder, page{p.name, title, about, body, markdown.Sections(text)})
	}
	return nil
}

// add adds a page of a folder.
func (x *export) add(folder string, p page) {
	p.path = folder + "/" + p.path + ".html"
	x.pages[folder] = append(x.pages[folder], p)
}

// lists adds the pages that list others.
func (x *export) lists() error {
	var parts []part
	for _, folder := range folders {
		p := part{Folder: folder, Title: titles[folder]}
		var err error
		if p.List, err = layout.List(x.links(folder, "index.html", "")); err != nil {
			return err
		}
		parts = append(parts, p)
		if folder == referenceFolder { // its overview is the first of its pages
			continue
		}
		list, err := layout.List(x.links(folder, folder+"/index.html", ""))
		if err != nil {
			return err
		}
		body := template.HTML("<h1>"+titles[folder]+"</h1>\n") + list // #nosec G203 -- a name of this package
		if err := x.render(page{path: folder + "/index.html", title: titles[folder], body: body}); err != nil {
			return err
		}
	}
	body, err := layout.Part(home, parts)
	if err != nil {
		return err
	}
	return x.render(page{path: "index.html", title: titles["."], body: body})
}

// part is a folder on the first page.
type part struct {
	Folder, Title string
	List          template.HTML
}

// links returns the links to the pages of a folder from a file, which may be the current page.
func (x *export) links(folder, from, current string) []layout.Link {
	var out []layout.Link
	for _, p := range x.pages[folder] {
		out = append(out, layout.Link{Title: p.title, To: relative(from, p.path), About: p.about, Current: p.path == current})
	}
	return out
}

// write renders the pages.
func (x *export) write() error {
	for _, folder := range folders {
		for _, p := range x.pages[folder] {
			if err := x.render(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// render writes a page.
func (x *export) render(p page, scripts ...string) error {
	root, folder := up(p.path), path.Dir(p.path)
	out := layout.Page{
		Title: p.title, Icon: root + "icon.svg", Style: root + "style.css", Scripts: []string{root + "script.js"},
		Header: []layout.Link{{Title: "Rail", To: root + "index.html"}},
		Search: root + "search.html", Prompt: "Search the docs",
		MenuTitle: titles[folder], Menu: x.links(folder, p.path, p.path), Body: p.body,
	}
	for _, one := range folders {
		link := layout.Link{Title: titles[one], To: relative(p.path, one+"/index.html"), Current: one == folder}
		out.Header = append(out.Header, link)
		if folder == "." {
			out.Menu = append(out.Menu, link)
		}
	}
	out.Scripts = append(out.Scripts, scripts...)
	text, err := out.Render()
	x.out[p.path] = text
	return err
}
