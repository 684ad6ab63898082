// Package doctor examines a page that should load rail.js: whether the tag is right, whether
// the page's policy lets it work, and whether Rail takes what such a page sends. It looks from
// outside, as a browser would, and records nothing.
package doctor

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// State is what a finding is.
type State string

// The states of findings.
const (
	OK     State = "ok"
	Advice State = "advice" // it works, and could work better
	Wrong  State = "wrong"
)

// Finding is what was found of one thing, and what to change.
type Finding struct {
	Check string `json:"check"` // page, tag, integrity, policy, hosts, proxy, cookie, program
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Report is all that was found of a page.
type Report struct {
	URL      string    `json:"url"` // after redirects
	OK       bool      `json:"ok"`  // nothing is wrong
	Findings []Finding `json:"findings"`
}

// Program is what the page should be for; the zero value is any.
type Program struct {
	ID     string
	Keys   []string // those in use
	Params []string // its url_params
}

// The bounds of an examination.
const (
	patience     = 10 * time.Second // for all of it
	maxBytes     = 2 << 20          // of a page or a script
	maxRedirects = 5
)

// Examine looks at a page.
func Examine(ctx context.Context, address string, p Program) Report {
	return examine(ctx, http.DefaultTransport, address, p)
}

func examine(ctx context.Context, way http.RoundTripper, address string, p Program) Report {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	x := &examination{client: &http.Client{Transport: way, CheckRedirect: bounded}, program: p}
	x.look(ctx, address)
	wrong := slices.ContainsFunc(x.findings, func(f Finding) bool { return f.State == Wrong })
	return Report{URL: cmp.Or(x.page.url.String(), address), OK: !wrong, Findings: x.findings}
}

// bounded ends a chain of redirects.
func bounded(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// examination is one page under examination.
type examination struct {
	client   *http.Client
	program  Program
	findings []Finding
	page     page
	tag      tag
	base     *url.URL // where the script reports to
}

func (x *examination) note(check string, s State, text, fix string) {
	x.findings = append(x.findings, Finding{check, s, text, fix})
}

// look does one check after the other. Without a page, a tag or an address of the script there
// is nothing more to see.
func (x *examination) look(ctx context.Context, address string) {
	if x.fetchPage(ctx, address) && x.findTag() {
		x.script(ctx)
		x.policies()
		x.endpoints(ctx)
		x.cookies()
		x.programs()
	}
}

// origin returns the origin of an address, as browsers send it.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
