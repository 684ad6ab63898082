package offline

import (
	"encoding/json"
	"html/template"
)

// entry is a section in the index of the search: its address, the title of its page, its heading, its prose and its
// code.
type entry [5]string

// search writes the page of the search with its index. The index is a script, because a page without a server cannot
// read a file of JSON.
func (x *export) search() error {
	var index []entry
	for _, folder := range folders {
		for _, p := range x.pages[folder] {
			for _, s := range p.sections {
				to := p.path
				if s.Anchor != "" {
					to += "#" + s.Anchor
				}
				index = append(index, entry{to, p.title, s.Heading, s.Prose, s.Code})
			}
		}
	}
	text, err := json.Marshal(index)
	if err != nil {
		return err
	}
	x.out["search-index.js"] = []byte("window.railSearch = " + string(text) + "\n")
	body, err := files.ReadFile("search.html")
	if err != nil {
		return err
	}
	p := page{path: "search.html", title: "Search", body: template.HTML(body)} // #nosec G203 -- a file of the binary
	return x.render(p, "search-index.js", "search.js")
}
