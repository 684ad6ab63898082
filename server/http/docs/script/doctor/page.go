package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"rail/server/program/publishable"
)

// page is the address of a page and the parts of its response that the checks need.
type page struct {
	url      *url.URL
	policies []policy
	tags     []tag
}

// tag has the attributes of a script element.
type tag map[string]string

// answer is a response. Its body has at most maxBytes.
type answer struct {
	url    *url.URL // after redirects
	status int
	header http.Header
	body   []byte
}

// get requests an address. from is the Origin header, or "" for none.
func (x *examination) get(ctx context.Context, address, from string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("User-Agent", "Mozilla/5.0 (compatible; rail-doctor-bot)") // a robot: its visits are no clicks
	if from != "" {
		r.Header.Set("Origin", from)
	}
	res, err := x.client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close() //nolint:errcheck // only read
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBytes))
	return answer{res.Request.URL, res.StatusCode, res.Header, body}, err
}

// fetchPage fetches the page and reports whether it succeeded.
func (x *examination) fetchPage(ctx context.Context, address string) bool {
	got, err := x.get(ctx, address, "")
	if err != nil {
		x.page.url = &url.URL{}
		x.note("page", Wrong, "The page cannot be fetched: "+err.Error(), "Check the address. The host must answer within ten seconds.")
		return false
	}
	x.page.url = got.url
	if got.status != http.StatusOK {
		x.note("page", Wrong, fmt.Sprintf("The page answers %d.", got.status), "Give the address of a page that visitors see.")
		return false
	}
	for _, text := range got.header.Values("Content-Security-Policy") {
		x.page.policies = append(x.page.policies, policiesOf(text)...)
	}
	x.page.read(got.body)
	x.note("page", OK, fmt.Sprintf("%s has %d bytes.", x.page.url, len(got.body)), "")
	return true
}

// read finds the script elements and the policies in a page's HTML.
func (p *page) read(body []byte) {
	z := html.NewTokenizer(bytes.NewReader(body))
	for z.Next() != html.ErrorToken {
		t := z.Token()
		if t.Type != html.StartTagToken && t.Type != html.SelfClosingTagToken {
			continue
		}
		found := tag{}
		for _, a := range t.Attr {
			found[a.Key] = a.Val
		}
		switch _, ours := found["data-rail"]; {
		case t.DataAtom == atom.Script && (ours || railSource.MatchString(found["src"])):
			p.tags = append(p.tags, found)
		case t.DataAtom == atom.Meta && strings.EqualFold(found["http-equiv"], "Content-Security-Policy"):
			p.policies = append(p.policies, policiesOf(found["content"])...)
		}
	}
}

var railSource = regexp.MustCompile(`/rail(-[0-9a-f]{8})?\.js(\?|$)`)

// findTag finds the tag of rail.js. It reports whether the other checks can run.
func (x *examination) findTag() bool {
	if len(x.page.tags) == 0 {
		x.note("tag", Wrong, "The page has no tag of rail.js.",
			"Paste the tag that rail pubkey create shows into the page's head. This check cannot see a tag that another script adds.")
		return false
	}
	x.tag = x.page.tags[0]
	if len(x.page.tags) > 1 {
		x.note("tag", Wrong, fmt.Sprintf("The page has %d tags. Only the first one works.", len(x.page.tags)), "Remove the others.")
	}
	if key := x.tag["data-rail"]; !publishable.IsKey(key) {
		x.note("tag", Wrong, fmt.Sprintf("data-rail is %q, which is not a publishable key.", key), "Use the key that rail pubkey list shows.")
		return false
	}
	if x.tag["src"] == "" {
		x.note("tag", Wrong, "The tag has no src.", "Paste the complete tag.")
		return false
	}
	_, async := x.tag["async"]
	_, later := x.tag["defer"]
	if async || later {
		x.note("tag", OK, "The tag has the key "+x.tag["data-rail"]+".", "")
	} else {
		x.note("tag", Advice, "The page waits for the script.", "Add async to the tag.")
	}
	return true
}
