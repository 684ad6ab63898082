package doctor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"rail/server/http/docs/script"
	"rail/server/program/publishable"
)

// script looks at the script that the tag names, and at what the tag says of its content.
func (x *examination) script(ctx context.Context) {
	source, err := x.page.url.Parse(x.tag["src"])
	if err != nil {
		source = &url.URL{}
	}
	x.base, err = source.Parse("t")
	if own, ok := x.tag["data-base"]; ok {
		x.base, err = x.page.url.Parse(own)
	}
	if err != nil {
		x.base = &url.URL{}
	}
	got, err := x.get(ctx, source.String(), origin(x.page.url))
	switch {
	case err != nil:
		x.note("tag", Wrong, "The script cannot be fetched: "+err.Error(), "Check src of the tag.")
	case got.status != http.StatusOK:
		x.note("tag", Wrong, fmt.Sprintf("%s answers %d.", source, got.status),
			"Paste the tag that rail pubkey list --json shows: the script may be of a release that is no longer served.")
	case !strings.Contains(got.header.Get("Content-Type"), "javascript"):
		x.note("tag", Wrong, fmt.Sprintf("%s is %s, no script.", source, got.header.Get("Content-Type")),
			"Check that the proxy hands this path on to Rail.")
	default:
		x.integrity(source, got.header, got.body)
	}
}

// integrity holds the script against what the tag names as its content.
func (x *examination) integrity(source *url.URL, h http.Header, body []byte) {
	const paste = "Paste the tag that rail pubkey list --json shows."
	named := strings.HasSuffix(source.Path, script.Named())
	sum := sha256.Sum256(body)
	short := hex.EncodeToString(sum[:4])
	switch want := x.tag["integrity"]; {
	case want == "" && !strings.HasSuffix(source.Path, "/rail-"+short+".js"):
		x.note("integrity", Advice, "The tag takes any script that its address has.", "A tag with integrity takes one alone. "+paste)
	case want == "":
		x.note("integrity", Advice, "The tag names a script that never changes, without its integrity.", paste)
	case !slices.ContainsFunc(strings.Fields(want), func(one string) bool { return one == digest(one, body) }):
		x.note("integrity", Wrong, "The browser refuses the script: it is not the one that integrity names.", paste)
	case origin(source) != origin(x.page.url) && !x.readable(h):
		x.note("integrity", Wrong, "The browser refuses the script: it cannot read it, to hold it against integrity.",
			`Add crossorigin="anonymous" to the tag; the script must come with Access-Control-Allow-Origin.`)
	case strings.HasSuffix(source.Path, script.Path):
		x.note("integrity", Advice, "The tag takes today's script alone from an address that has the newest.", paste)
	case !named:
		x.note("integrity", OK, "The script is the one that the tag names, of another release than this one.", "")
	default:
		x.note("integrity", OK, "The script is the one that the tag names.", "")
	}
}

// digest returns what integrity names a content as, by the algorithm of an example.
func digest(example string, body []byte) string {
	algorithm, _, _ := strings.Cut(example, "-")
	var sum []byte
	switch algorithm {
	case "sha256":
		s := sha256.Sum256(body)
		sum = s[:]
	case "sha384":
		s := sha512.Sum384(body)
		sum = s[:]
	case "sha512":
		s := sha512.Sum512(body)
		sum = s[:]
	}
	return algorithm + "-" + base64.StdEncoding.EncodeToString(sum)
}

// readable reports whether the page may read a script of another origin.
func (x *examination) readable(h http.Header) bool {
	_, asks := x.tag["crossorigin"]
	allowed := h.Get("Access-Control-Allow-Origin")
	return asks && (allowed == "*" || allowed == origin(x.page.url))
}

// endpoints asks Rail, as the page's script would, whether it knows a visitor who is new: that
// tells whether the way there is open, and whether the key takes pages of this host.
func (x *examination) endpoints(ctx context.Context) {
	from := origin(x.page.url)
	got, err := x.get(ctx, x.base.String()+"/me?key="+url.QueryEscape(x.tag["data-rail"]), from)
	if err != nil {
		x.note("proxy", Wrong, "Rail cannot be reached: "+err.Error(), "Check where the tag's src, or data-base, leads.")
		return
	}
	var refusal struct {
		Error struct{ Code, Message string }
	}
	known := json.Unmarshal(got.body, &refusal) == nil && refusal.Error.Code != ""
	switch status := got.status; {
	case status == http.StatusForbidden && known:
		x.note("hosts", Wrong, fmt.Sprintf("Rail refuses pages of %s: %s", from, refusal.Error.Message),
			fmt.Sprintf("Make a key for this host: rail pubkey create --program PROGRAM_ID --host %s", x.page.url.Hostname()))
	case status == http.StatusUnauthorized && known:
		x.note("hosts", Wrong, "Rail does not take the key: "+refusal.Error.Message, "Take one that rail pubkey list shows and that is not revoked.")
	case status != http.StatusNoContent && status != http.StatusOK:
		x.note("proxy", Wrong, fmt.Sprintf("%s/me answers %d, not as Rail does.", x.base, status),
			"Check that the proxy hands on every path below "+x.base.Path+", with the query and the Origin header.")
	case from != origin(x.base) && !shared(got.header, from):
		x.note("proxy", Wrong, "Browsers keep Rail's answers from the page: the headers that share them are missing.",
			"Check that no proxy before Rail removes Access-Control-Allow-Origin and Access-Control-Allow-Credentials.")
	default:
		x.note("hosts", OK, "Rail takes the key from pages of "+from+".", "")
		x.proxy()
	}
}

// shared reports whether an answer may be read by pages of an origin, with cookies.
func shared(h http.Header, from string) bool {
	return h.Get("Access-Control-Allow-Origin") == from && h.Get("Access-Control-Allow-Credentials") == "true"
}

// proxy tells whose address Rail has for browsers.
func (x *examination) proxy() {
	if origin(x.base) == origin(x.page.url) {
		x.note("proxy", OK, "Rail is a path of the page's own site.", "")
		return
	}
	x.note("proxy", Advice, fmt.Sprintf("Rail is %s, for the page another host: filter lists may name it, and Safari shortens its cookies.", x.base.Host),
		"Proxy a path of the site to Rail, and load the script from there.")
}

// cookies tells for which hosts the cookies of Rail and of the script count.
func (x *examination) cookies() {
	host := x.page.url.Hostname()
	site, at := registrable(host), registrable(x.base.Hostname())
	if site != at {
		x.note("cookie", Advice, fmt.Sprintf("Rail's cookie is of %s, and the page of %s: what a browser clears is not restored.", at, site),
			"Proxy a path of the site to Rail, or give Rail a name below "+site+".")
	} else {
		x.note("cookie", OK, "Rail's cookie counts for "+site+" and what is below it.", "")
	}
	domain, given := x.tag["data-domain"]
	domain = strings.TrimPrefix(domain, ".")
	switch suffix, _ := publicsuffix.PublicSuffix(domain); {
	case !given:
	case host != domain && !strings.HasSuffix(host, "."+domain):
		x.note("cookie", Wrong, fmt.Sprintf("data-domain is %s, which the page is not in.", domain), "Set it to "+site+", or leave it out.")
	case suffix == domain && host != domain:
		x.note("cookie", Wrong, fmt.Sprintf("data-domain is %s, under which anybody has names: browsers refuse such cookies.", domain),
			"Set it to "+site+", or leave it out.")
	}
}

// registrable returns the domain that a host's owner has registered; the host itself where there
// is none.
func registrable(host string) string { return cmp.Or(publishable.Registrable(host), host) }

// programs holds the tag against the program that it should be for.
func (x *examination) programs() {
	p := x.program
	if p.ID == "" {
		return
	}
	if !slices.Contains(p.Keys, x.tag["data-rail"]) {
		x.note("program", Wrong, "The key is none of "+p.ID+", or revoked.", "Take one that rail pubkey list --program "+p.ID+" shows.")
		return
	}
	has := strings.FieldsFunc(x.tag["data-params"], func(r rune) bool { return r == ',' || r == ' ' })
	if len(has) == 0 {
		has = []string{"ref"}
	}
	for _, param := range p.Params {
		if !slices.Contains(has, param) {
			x.note("program", Wrong, fmt.Sprintf("The program's links may carry %s, which the tag does not look for.", param),
				fmt.Sprintf("Add data-params=%q to the tag.", strings.Join(p.Params, ",")))
			return
		}
	}
	x.note("program", OK, "The key is of "+p.ID+".", "")
}
