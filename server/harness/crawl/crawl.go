// Package crawl follows the links of pages, as a thorough visitor does.
package crawl

import (
	"fmt"
	"html"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Alike is the number of visited pages per kind, such as pages of partners.
const Alike = 4

// Page requests the page at an address and returns its text.
type Page func(at string) (body string, err error)

// Walk visits the first page and all linked pages whose address begins with the first one's path, except files, and
// at most Alike of a kind.
func Walk(first string, get Page) error {
	below, _, _ := strings.Cut(first, "?")
	queue, kinds, from := []string{first}, map[string]int{}, map[string]string{first: "nowhere"}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		body, err := get(at)
		if err != nil {
			return fmt.Errorf("%s, linked from %s: %w", at, from[at], err)
		}
		for _, to := range links(at, body) {
			if from[to] != "" || !strings.HasPrefix(to, below) || kinds[Kind(to)] == Alike {
				continue
			}
			from[to] = at
			kinds[Kind(to)]++
			queue = append(queue, to)
		}
	}
	return nil
}

// hrefs finds the links of a page.
var hrefs = regexp.MustCompile(`<a [^>]*href="([^"#]+)`)

// links returns the addresses of the pages of this server that a page links to.
func links(at, body string) (out []string) {
	from, err := url.Parse(at)
	if err != nil {
		return nil
	}
	for _, found := range hrefs.FindAllStringSubmatch(body, -1) {
		to, err := from.Parse(html.UnescapeString(found[1]))
		if err == nil && !to.IsAbs() && to.Host == "" && path.Ext(to.Path) == "" {
			out = append(out, to.String())
		}
	}
	return out
}

// ids matches the parts that differ between pages of one kind.
var ids = regexp.MustCompile(`/(sample_)?[a-z]+_[0-9A-Za-z]{20,}`)

// Kind is an address without ids and parameter values, except the days, which change a page most.
func Kind(at string) string {
	to, err := url.Parse(at)
	if err != nil {
		return at
	}
	var params []string
	for _, name := range slices.Sorted(maps.Keys(to.Query())) {
		if name == "days" {
			name += "=" + to.Query().Get(name)
		}
		params = append(params, name)
	}
	kind := ids.ReplaceAllString(to.Path, "/{id}")
	if len(params) > 0 {
		kind += "?" + strings.Join(params, "&")
	}
	return kind
}
