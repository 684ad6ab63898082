package guides

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/labstack/echo/v4"

	"rail/server/http/docs/layout"
)

// maxQuery bounds a search, in bytes.
const maxQuery = 200

// section is a part of a guide below one heading.
type section struct {
	layout.Section

	Guide, Title string
	folded       string // all of it in lower case, with the code
}

// result is a section that has every word of a search, with the prose about the first.
type result struct {
	section
	Before, Word, After string

	weight int
}

// answer is a search with its results.
type answer struct {
	Query, Problem string
	Found          []result
}

// find answers a search with a page.
func find(c echo.Context) error {
	v := answer{Query: strings.TrimSpace(c.QueryParam("q"))}
	status := http.StatusOK
	if len(v.Query) > maxQuery {
		status, v.Query = http.StatusBadRequest, ""
		v.Problem = "The search q has more than 200 bytes. Search for fewer words."
	} else {
		v.Found = search(strings.ToValidUTF8(v.Query, ""))
	}
	body, err := layout.Part(results, v)
	if err != nil {
		return err
	}
	text, err := render("", "Search", v.Query, body)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Cache-Control", shortly)
	return c.HTMLBlob(status, text)
}

// search returns the sections that have every word, those with a word in their headings
// first, and otherwise in the order of the guides.
func search(query string) []result {
	words := strings.Fields(strings.ToLower(query))
	var out []result
	for _, s := range sections() {
		r := result{section: s}
		heading := strings.ToLower(s.Title + " " + s.Heading)
		for _, word := range words {
			if !strings.Contains(s.folded, word) {
				r.weight = -1
				break
			}
			if strings.Contains(heading, word) {
				r.weight++
			}
		}
		if len(words) > 0 && r.weight >= 0 {
			r.Before, r.Word, r.After = excerpt(s.Prose, words)
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b result) int { return b.weight - a.weight })
	return out
}

// around is how much of a section is shown before and after a word, in bytes.
const around = 90

// Found is a section of a guide that a search of words found.
type Found struct {
	Guide   string `json:"guide"`
	Heading string `json:"heading,omitempty"`
	URI     string `json:"uri"`
	Text    string `json:"text"`
}

// Find returns the sections that have every word, at most a number of them.
func Find(words []string, most int) []Found {
	out := []Found{}
	for _, r := range search(strings.Join(words, " ")) {
		if len(out) == most {
			break
		}
		out = append(out, Found{r.Guide, r.Heading, URI(r.Guide), r.Before + r.Word + r.After})
	}
	return out
}

// URI names a guide for programs.
func URI(name string) string { return "rail://guides/" + name }

// excerpt cuts the prose about the first word that it has, at spaces.
func excerpt(prose string, words []string) (before, word, after string) {
	lower := strings.ToLower(prose)
	if len(lower) != len(prose) { // a letter changed its length: places do not agree
		lower = prose
	}
	at, length := 0, 0
	for _, w := range words {
		if i := strings.Index(lower, w); i >= 0 {
			at, length = i, len(w)
			break
		}
	}
	before, word, after = prose[:at], prose[at:at+length], prose[at+length:]
	if len(before) > around {
		before = "… " + from(before[len(before)-around:])
	}
	if len(after) > 2*around {
		after = after[:2*around]
		after = after[:strings.LastIndex(after, " ")+1] + "…"
	}
	return before, word, after
}

// from drops the first word of a text, which may be cut.
func from(s string) string {
	_, rest, _ := strings.Cut(s, " ")
	return rest
}

// sections are the parts of all guides.
var sections = sync.OnceValue(func() []section {
	var out []section
	for _, g := range All() {
		for _, s := range g.Sections() {
			folded := strings.ToLower(strings.Join([]string{g.Title, s.Heading, s.Prose, s.Code}, "\n"))
			out = append(out, section{s, g.Name, g.Title, folded})
		}
	}
	return out
})
