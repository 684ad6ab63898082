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

// script fetches the tag's script and checks its integrity.
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
		x.note("tag", Wrong, "The script cannot be fetched: "+err.Error(), "Check the src of the tag.")
	case got.status != http.StatusOK:
		x.note("tag", Wrong, fmt.Sprintf("%s answers %d.", source, got.status),
			"Paste the tag that rail pubkey list --json shows. The server may not have this release of the script.")
	case !strings.Contains(got.header.Get("Content-Type"), "javascript"):
		x.note("tag", Wrong, fmt.Sprintf("%s is %s, not a script.", source, got.header.Get("Content-Type")),
			"Check that the proxy forwards this path to Rail.")
	default:
		x.integrity(source, got.header, got.body)
	}
}

// integrity compares the script with the integrity attribute of the tag.
func (x *examination) integrity(source *url.URL, h http.Header, body []byte) {
	const paste = "Paste the tag that rail pubkey list --json shows."
	named := strings.HasSuffix(source.Path, script.Named())
	sum := sha256.Sum256(body)
	short := hex.EncodeToString(sum[:4])
	switch want := x.tag["integrity"]; {
	case want == "" && !strings.HasSuffix(source.Path, "/rail-"+short+".js"):
		x.note("integrity", Advice, "The tag accepts any script from its address.", "A tag with integrity accepts only one script. "+paste)
	case want == "":
		x.note("integrity", Advice, "The tag has the address of a script that never changes, but no integrity.", paste)
	case !slices.ContainsFunc(strings.Fields(want), func(one string) bool { return one == digest(one, body) }):
		x.note("integrity", Wrong, "The browser blocks the script: its content does not match the integrity.", paste)
	case origin(source) != origin(x.page.url) && !x.readable(h):
		x.note("integrity", Wrong, "The browser blocks the script: it may not read the script to verify the integrity.",
			`Add crossorigin="anonymous" to the tag. The script's response needs the header Access-Control-Allow-Origin.`)
	case strings.HasSuffix(source.Path, script.Path):
		x.note("integrity", Advice, "The tag accepts only today's script, but its address returns the newest one.", paste)
	case !named:
		x.note("integrity", OK, "The script matches the tag. It belongs to another release of Rail.", "")
	default:
		x.note("integrity", OK, "The script matches the tag.", "")
	}
}

// digest returns the integrity value of body, with the algorithm of an example.
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

// endpoints sends Rail the request that the script sends for a new visitor. The response shows
// whether the page can reach Rail, and whether the key allows the page's host.
func (x *examination) endpoints(ctx context.Context) {
	from := origin(x.page.url)
	got, err := x.get(ctx, x.base.String()+"/me?key="+url.QueryEscape(x.tag["data-rail"]), from)
	if err != nil {
		x.note("proxy", Wrong, "Rail cannot be reached: "+err.Error(), "Check the tag's src or data-base.")
		return
	}
	var refusal struct {
		Error struct{ Code, Message string }
	}
	refused := json.Unmarshal(got.body, &refusal) == nil && refusal.Error.Code != ""
	switch status := got.status; {
	case status == http.StatusForbidden && refused:
		x.note("hosts", Wrong, fmt.Sprintf("The key does not allow pages of %s: %s", from, refusal.Error.Message),
			fmt.Sprintf("Create a key for this host: rail pubkey create --program PROGRAM_ID --host %s", x.page.url.Hostname()))
	case status == http.StatusUnauthorized && refused:
		x.note("hosts", Wrong, "Rail does not accept the key: "+refusal.Error.Message, "Use a key that rail pubkey list shows and that is not revoked.")
	case status != http.StatusNoContent && status != http.StatusOK:
		x.note("proxy", Wrong, fmt.Sprintf("%s/me answers %d, and not as Rail does.", x.base, status),
			"Check that the proxy forwards every path below "+x.base.Path+", with the query and the Origin header.")
	case from != origin(x.base) && !shared(got.header, from):
		x.note("proxy", Wrong, "Browsers hide Rail's responses from the page: the CORS headers are missing.",
			"Check that no proxy in front of Rail removes Access-Control-Allow-Origin and Access-Control-Allow-Credentials.")
	default:
		x.note("hosts", OK, "Rail accepts the key from pages of "+from+".", "")
		x.proxy()
	}
}

// shared reports whether pages of an origin may read a response to a request with cookies.
func shared(h http.Header, from string) bool {
	return h.Get("Access-Control-Allow-Origin") == from && h.Get("Access-Control-Allow-Credentials") == "true"
}

// proxy checks whether the page's site serves Rail through a proxy.
func (x *examination) proxy() {
	if origin(x.base) == origin(x.page.url) {
		x.note("proxy", OK, "The page's site serves Rail.", "")
		return
	}
	x.note("proxy", Advice, fmt.Sprintf(
		"Rail's host, %s, is not the page's host. Filter lists may block it, and Safari limits the lifetime of its cookies.", x.base.Host),
		"Proxy a path of the site to Rail, and load the script from there.")
}

// cookies checks the domains of Rail's cookie and of the script's cookie.
func (x *examination) cookies() {
	host := x.page.url.Hostname()
	site, at := registrable(host), registrable(x.base.Hostname())
	if site != at {
		x.note("cookie", Advice, fmt.Sprintf(
			"Rail's cookie belongs to %s, and the page to %s. Rail cannot restore a click after the browser clears the page's data.", at, site),
			"Proxy a path of the site to Rail, or give Rail a subdomain of "+site+".")
	} else {
		x.note("cookie", OK, "Rail's cookie belongs to "+site+" and its subdomains.", "")
	}
	domain, ok := x.tag["data-domain"]
	domain = strings.TrimPrefix(domain, ".")
	switch suffix, _ := publicsuffix.PublicSuffix(domain); {
	case !ok:
	case host != domain && !strings.HasSuffix(host, "."+domain):
		x.note("cookie", Wrong, fmt.Sprintf("data-domain is %s, but the page is on another domain.", domain), "Set it to "+site+", or leave it out.")
	case suffix == domain && host != domain:
		x.note("cookie", Wrong, fmt.Sprintf("data-domain is %s, a public suffix. Browsers reject cookies for public suffixes.", domain),
			"Set it to "+site+", or leave it out.")
	}
}

// registrable returns the registrable domain of a host, or the host if there is none.
func registrable(host string) string { return cmp.Or(publishable.Registrable(host), host) }

// programs compares the tag with the program.
func (x *examination) programs() {
	p := x.program
	if p.ID == "" {
		return
	}
	if !slices.Contains(p.Keys, x.tag["data-rail"]) {
		x.note("program", Wrong, "The key does not belong to "+p.ID+", or is revoked.", "Use a key that rail pubkey list --program "+p.ID+" shows.")
		return
	}
	has := strings.FieldsFunc(x.tag["data-params"], func(r rune) bool { return r == ',' || r == ' ' })
	if len(has) == 0 {
		has = []string{"ref"}
	}
	for _, param := range p.Params {
		if !slices.Contains(has, param) {
			x.note("program", Wrong, fmt.Sprintf("The program's links may use the parameter %s, which the tag does not read.", param),
				fmt.Sprintf("Add data-params=%q to the tag.", strings.Join(p.Params, ",")))
			return
		}
	}
	x.note("program", OK, "The key belongs to "+p.ID+".", "")
}
