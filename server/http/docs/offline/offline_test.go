package offline_test

import (
	"encoding/json"
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	xhtml "golang.org/x/net/html"

	"rail/openapi"
	"rail/server/http/docs/guides"
	"rail/server/http/docs/offline"
)

// exported returns the files.
func exported(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := offline.Files()
	require.NoError(t, err)
	return files
}

// A use is an address that a page names in an attribute.
type use struct{ tag, attribute, address string }

// parsed returns the addresses in a page, and the ids in it.
func parsed(t testing.TB, page []byte) (uses []use, ids map[string]int) {
	t.Helper()
	ids = map[string]int{}
	z := xhtml.NewTokenizer(strings.NewReader(string(page)))
	for {
		switch z.Next() {
		case xhtml.ErrorToken:
			return uses, ids
		case xhtml.StartTagToken, xhtml.SelfClosingTagToken:
			token := z.Token()
			for _, a := range token.Attr {
				switch a.Key {
				case "id":
					ids[a.Val]++
				case "href", "src", "action", "srcset", "data", "poster", "style":
					uses = append(uses, use{token.Data, a.Key, a.Val})
				}
			}
		}
	}
}

// TestLinks follows every link of every page to a file of the export and to an element in it. A page loads only files of the
// export.
func TestLinks(t *testing.T) {
	t.Parallel()
	files := exported(t)
	ids, links := map[string]map[string]int{}, 0
	for name, text := range files {
		if path.Ext(name) == ".html" {
			_, ids[name] = parsed(t, text)
			for id, times := range ids[name] {
				require.Equal(t, 1, times, "%s: id %s", name, id)
			}
		}
	}
	for name := range ids {
		uses, _ := parsed(t, files[name])
		for _, u := range uses {
			require.NotContains(t, []string{"style", "srcset", "data", "poster"}, u.attribute, name)
			address, err := url.Parse(u.address)
			require.NoError(t, err, name)
			if address.IsAbs() || address.Host != "" {
				require.Equal(t, "a", u.tag, "%s loads %s from elsewhere", name, u.address)
				require.Equal(t, "https", address.Scheme, "%s: %s", name, u.address)
				continue
			}
			links++
			target := name
			if address.Path != "" {
				require.False(t, path.IsAbs(address.Path), "%s: %s", name, u.address)
				target = path.Join(path.Dir(name), address.Path)
			}
			require.Contains(t, files, target, "%s links to %s", name, u.address)
			if address.Fragment != "" {
				require.Contains(t, ids[target], address.Fragment, "%s links to %s", name, u.address)
			}
		}
	}
	require.Greater(t, links, 5000)
}

// TestNothingIsLoadedFromElsewhere finds no address of another host in style sheets, scripts and pictures.
func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := regexp.MustCompile(`(?i)@import|url\([^#]|https?://|\bimport\(|\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon`)
	read := 0
	for name, text := range exported(t) {
		switch path.Ext(name) {
		case ".css", ".js", ".svg":
			if name == "search-index.js" { // texts of the pages, as one literal
				text = regexp.MustCompile(`^window\.railSearch = \[.*\]\n$`).ReplaceAll(text, nil)
				require.Empty(t, text)
			}
			read++
			found := strings.ReplaceAll(string(text), `xmlns="http://www.w3.org/2000/svg"`, "")
			require.Empty(t, elsewhere.FindString(found), name)
		}
	}
	require.Equal(t, 6, read)
}

// TestPages finds every guide, every page of the repository that is embedded, and the words of links to other files.
func TestPages(t *testing.T) {
	t.Parallel()
	files := exported(t)
	for _, g := range guides.All() {
		require.Contains(t, string(files["guides/"+g.Name+".html"]), `aria-current="page">`+g.Title)
		require.Equal(t, string(g.Text), string(files["guides/"+g.Name+".md"]))
		require.Contains(t, html.UnescapeString(string(files["index.html"])), `<a href="guides/`+g.Name+`.html">`+g.Title+"</a>")
	}
	require.JSONEq(t, string(openapi.Bundle), string(files["reference/openapi.json"]))
	operating := string(files["operation/operating.html"])
	require.Contains(t, operating, `<a href="../guides/agents.html">guide</a>`)
	require.Contains(t, operating, `<a href="http.html#limits">server/http</a>`)
	require.Contains(t, operating, `<table>`)
	require.Contains(t, string(files["operation/portal.html"]), `<img src="portal.png" alt="The overview of a partner`)
	require.Contains(t, string(files["operation/examples.html"]), "<p>main.go, typescript and python do the main job")
	for name, text := range files {
		if path.Ext(name) == ".html" {
			require.NotContains(t, string(text), "raw HTML omitted", name)
			require.Equal(t, 1, strings.Count(string(text), "<h1"), name)
			require.NotContains(t, string(text), "ZgotmplZ", name)
		}
	}
}

// TestSearchIndex holds the index to a size that a browser reads at once.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	files := exported(t)
	require.Less(t, len(files["search-index.js"]), 700_000)
	require.Less(t, len(files["search.js"])+len(files["script.js"]), 8_000)
	literal, found := strings.CutPrefix(string(files["search-index.js"]), "window.railSearch = ")
	require.True(t, found)
	var index [][5]string
	require.NoError(t, json.Unmarshal([]byte(literal), &index))
	require.Greater(t, len(index), 900)
	for _, entry := range index {
		file, anchor, _ := strings.Cut(entry[0], "#")
		require.Contains(t, files, file)
		if anchor != "" {
			require.Contains(t, string(files[file]), `id="`+anchor+`"`)
		}
	}
}

// written writes the files into a folder, and returns its address.
func written(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range exported(t) {
		file := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	return "file://" + filepath.ToSlash(folder)
}
