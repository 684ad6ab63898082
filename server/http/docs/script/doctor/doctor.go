// Package doctor checks a page that should load rail.js: the tag, the page's
// Content-Security-Policy, and whether Rail accepts reports from the page. It sends the
// requests of a browser and creates no clicks.
package doctor

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// State is the result of a check.
type State string

// The states of findings.
const (
	OK     State = "ok"
	Advice State = "advice" // the tag works, but the merchant can improve it
	Wrong  State = "wrong"
)

// Finding is the result of one check and a way to fix it.
type Finding struct {
	Check string `json:"check"` // page, tag, integrity, policy, hosts, proxy, cookie, program, link
	State State  `json:"state"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Report has all findings of a page.
type Report struct {
	URL      string    `json:"url"` // after redirects
	OK       bool      `json:"ok"`  // nothing is wrong
	Findings []Finding `json:"findings"`
}

// Program is the program that the page should belong to. The zero value allows any program.
type Program struct {
	ID     string
	Keys   []string // publishable keys that are not revoked
	Params []string // its url_params
}

// The limits of an examination.
const (
	patience     = 10 * time.Second // for the whole examination
	maxBytes     = 2 << 20          // of a page or a script
	maxRedirects = 5
)

// Examine checks a page.
func Examine(ctx context.Context, address string, p Program) Report {
	return examine(ctx, http.DefaultTransport, address, p)
}

func examine(ctx context.Context, way http.RoundTripper, address string, p Program) Report {
	ctx, end := context.WithTimeout(ctx, patience)
	defer end()
	x := &examination{client: &http.Client{Transport: way, CheckRedirect: limitRedirects}, program: p}
	x.run(ctx, address)
	wrong := slices.ContainsFunc(x.findings, func(f Finding) bool { return f.State == Wrong })
	return Report{URL: cmp.Or(x.page.url.String(), address), OK: !wrong, Findings: x.findings}
}

// limitRedirects stops after maxRedirects redirects.
func limitRedirects(_ *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// examination is the state while Examine checks a page.
type examination struct {
	client   *http.Client
	program  Program
	findings []Finding
	page     page
	tag      tag
	base     *url.URL // the address of the endpoints
}

func (x *examination) note(check string, s State, text, fix string) {
	x.findings = append(x.findings, Finding{check, s, text, fix})
}

// run runs the checks. It stops early if the page or the tag is missing.
func (x *examination) run(ctx context.Context, address string) {
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
