package verify_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
	"rail/server/harness/pgtest"
	"rail/server/harness/prooftest"
	"rail/server/http/site"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// newServer returns a server that publishes the key of an issuer, and the issuer.
func newServer(t *testing.T, options ...apitest.Option) (*apitest.Server, *prooftest.Issuer) {
	t.Helper()
	s := apitest.New(t, options...)
	issuer := prooftest.New(t, "part_1")
	for _, k := range issuer.Keys {
		public, err := base64.StdEncoding.DecodeString(k.PublicKey)
		require.NoError(t, err)
		_, err = s.Pool.Exec(t.Context(), `INSERT INTO statement_keys
			(id, org_id, public_key, private_key, created_at, retired_at) VALUES ($1, $2, $3, '', $4, CASE WHEN $1 = 'stk_other' THEN now() END)`, k.ID, s.Org, public, k.CreatedAt)
		require.NoError(t, err)
	}
	return s, issuer
}

// TestKeys: anyone can read all public keys, or one of them, and nothing else.
func TestKeys(t *testing.T) {
	t.Parallel()
	s, issuer := newServer(t)
	a := s.Must(200, s.Do("GET", "/.well-known/rail-keys.json", "", nil))
	require.Equal(t, "public, max-age=60", a.Header.Get("Cache-Control"))
	require.Equal(t, "*", a.Header.Get("Access-Control-Allow-Origin"))
	keys := a.Body["keys"].([]any)
	require.Len(t, keys, 2)
	require.Equal(t, apitest.M{
		"id": prooftest.KeyID, "organization_id": s.Org, "algorithm": "Ed25519", "public_key": issuer.Keys[1].PublicKey,
		"created_at": "2026-10-01T00:00:00.000Z", "retired_at": nil,
	}, keys[1])
	one := s.Must(200, s.Do("GET", "/.well-known/rail-keys.json?id=stk_other", "", nil)).Body["keys"].([]any)
	require.Len(t, one, 1)
	for _, unknown := range []string{"stk_none", "%00", "%ff"} {
		found := s.Must(200, s.Do("GET", "/.well-known/rail-keys.json?id="+unknown, "", nil))
		require.Equal(t, []any{}, found.Body["keys"], unknown)
	}
}

// TestManyKeys: the file has the newest keys and shows that there are more, which are found by their ids. A new key is in
// the file at once.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	ids := func(path string) (out []string, more bool) {
		a := s.Must(200, s.Do("GET", "/.well-known/rail-keys.json"+path, "", nil))
		for _, k := range a.Body["keys"].([]any) {
			out = append(out, k.(apitest.M)["id"].(string))
		}
		return out, a.Body["has_more"].(bool)
	}
	add := func(prefix string, n int) {
		_, err := s.Pool.Exec(t.Context(), `INSERT INTO statement_keys
			(id, org_id, public_key, private_key, created_at, retired_at)
			SELECT $1 || lpad(n::text, 6, '0'), org_id, public_key, '', created_at, created_at + interval '1 hour'
			FROM statement_keys, generate_series(1, $2::int) n WHERE id = 'stk_1'`, prefix, n)
		require.NoError(t, err)
	}
	all, more := ids("")
	require.Equal(t, []string{"stk_other", "stk_1"}, all)
	require.False(t, more)
	add("stk_y", 9_999)
	all, more = ids("")
	require.Len(t, all, 10_000)
	require.True(t, more)
	require.NotContains(t, all, "stk_1")
	add("stk_z", 1)
	all, _ = ids("")
	require.Equal(t, "stk_z000001", all[0])
	all, more = ids("?id=stk_1")
	require.Equal(t, []string{"stk_1"}, all)
	require.False(t, more)
}

// page is the page in a browser.
type page struct {
	*browsertest.Tab
	*testing.T
	folder string
}

// file writes a text to a file.
func (p page) file(name string, text []byte) string {
	p.Helper()
	path := filepath.Join(p.folder, name)
	require.NoError(p, os.WriteFile(path, text, 0o600))
	return path
}

// check chooses files, and returns the text of each result.
func (p page) check(files ...string) string {
	p.Helper()
	p.Open("/verify")
	p.Do(chromedp.SetUploadFiles(chromedp.CSS("#files"), files))
	return p.results()
}

// results presses the button, and returns the results once the page has shown them.
func (p page) results() string {
	p.Helper()
	return browsertest.Eval[string](p.Tab, `new Promise(done => {
		const out = document.querySelector('[data-verified]')
		new MutationObserver(() => done(out.innerText)).observe(out, { childList: true })
		document.querySelector('form').requestSubmit()
	})`)
}

func newPage(t *testing.T) (page, *prooftest.Issuer) {
	t.Helper()
	s, issuer := newServer(t, apitest.Loopback, func(c *config.Config) { c.BaseURL = "http://127.0.0.1:8080" })
	return page{browsertest.New(t, s.URL), t, t.TempDir()}, issuer
}

// TestPage: the browser finds statements of a published key valid, and every change, gap and receipt.
func TestPage(t *testing.T) {
	t.Parallel()
	p, issuer := newPage(t)
	first, text, third := p.file("1.json", issuer.Issue()), issuer.Issue(), p.file("3.json", issuer.Issue())
	second := p.file("2.json", text)
	good := p.check(third, first, second)
	for _, want := range []string{
		"R-2026-000001: valid", "R-2026-000002: valid", "R-2026-000003: valid", "€5.00 to Zoë 😀, issued on 2026-10-05",
		"Signed by key stk_1, unchanged.", "Lines: 2, complete and unchanged.", "The partner’s first statement.",
		"Follows R-2026-000001.", "Follows R-2026-000002.",
	} {
		require.Contains(t, good, want)
	}
	p.Picture("verify-good")
	require.Contains(t, p.check(third, first), "Does not follow R-2026-000001")
	require.Contains(t, p.check(second), "Add the statement before it to check for gaps.")
	for from, want := range map[string][2]string{
		`"amount_minor": 500`: {`"amount_minor": 501`, "The statement was changed, or key stk_1 did not sign it."},
		`"amount_minor": 700`: {`"amount_minor": 701`, "A line was changed, or the order of lines."},
		`"key_id": "stk_1"`:   {`"key_id": "stk_other"`, "The statement was changed, or key stk_other did not sign it."},
		`"key_id"`:            {`"key"`, "Key undefined is not published."},
		`"version": 1`:        {`"version": 2`, "This is not a signed statement."},
		`"lines": [`:          {`"lines": [{},`, "The file has 3 lines, the statement 2."},
	} {
		require.Contains(t, string(text), from)
		got := p.check(p.file("bad.json", []byte(strings.Replace(string(text), from, want[0], 1))))
		require.Contains(t, got, "not valid")
		require.Contains(t, got, want[1])
	}
	p.Picture("verify-bad")
	p.Silent()
}

// TestPageSearches: a pasted statement is checked with a saved file of keys, and the order of a receipt is found.
func TestPageSearches(t *testing.T) {
	t.Parallel()
	p, issuer := newPage(t)
	issuer.Keys = issuer.Keys[:1]
	keys := p.file("keys.json", issuer.KeysFile())
	p.Open("/verify")
	p.Do(chromedp.SetValue(chromedp.CSS("#text"), string(issuer.Issue())),
		chromedp.SetValue(chromedp.CSS("#order"), "order-1"))
	require.Contains(t, p.results(), "Order order-1 is on line 1: €7.00.")
	p.Do(chromedp.SetValue(chromedp.CSS("#order"), "order-2"))
	require.Contains(t, p.results(), "Order order-2 is not on it.")
	p.Do(chromedp.SetUploadFiles(chromedp.CSS("#keys"), []string{keys}))
	require.Contains(t, p.results(), "Key stk_1 is not published.", "the file of keys has another key")
	p.Accessible("/verify")
	p.Silent()
}

// TestPageWithoutKeys: without the keys a statement is neither valid nor invalid. A change of its lines is still found.
func TestPageWithoutKeys(t *testing.T) {
	t.Parallel()
	p, issuer := newPage(t)
	text := string(issuer.Issue())
	good := p.file("1.json", []byte(text))
	bad := p.file("bad.json", []byte(strings.Replace(text, `"amount_minor": 700`, `"amount_minor": 701`, 1)))
	none := p.file("none.json", nil)
	for _, answer := range []string{
		"throw new TypeError('Failed to fetch')",
		"return new Response('{\"keys\": []}', { status: 404 })",
		"return new Response('<html>')",
		"return new Response('{}')",
		`return new Response('{"keys": [], "has_more": true}')`,
		`return new Response('{"keys": [{"id": "stk_1"}]}')`,
	} {
		p.OnLoad("fetch = async () => { " + answer + " }")
		got := p.check(good)
		require.Contains(t, got, "R-2026-000001: not checked", answer)
		require.Contains(t, got, "Could not be checked: keys unavailable.", answer)
		require.Contains(t, got, "Lines: 2, complete and unchanged.", answer)
		require.Contains(t, p.check(bad), "R-2026-000001: not valid", answer)
	}
	p.OnLoad(`fetch = async () => new Response('{"keys": [{"id": "stk_1", "public_key": "?", "created_at": "2026-10-01"}]}')`)
	require.Contains(t, p.check(good), "Could not be checked: key stk_1 is damaged.")
	p.Do(chromedp.SetUploadFiles(chromedp.CSS("#keys"), []string{none}))
	require.Contains(t, p.results(), "Could not be checked: keys unavailable.", "a saved file without keys")
	p.Silent()
}

// TestPageOfBadFiles: a file without lines cannot have an order, a file given twice is no fault, and a malformed
// one replaces the results before it.
func TestPageOfBadFiles(t *testing.T) {
	t.Parallel()
	p, issuer := newPage(t)
	first, text := p.file("1.json", issuer.Issue()), string(issuer.Issue())
	second, third := p.file("2.json", []byte(text)), p.file("3.json", issuer.Issue())
	twice := p.check(third, second, first, second, first)
	require.Equal(t, 5, strings.Count(twice, ": valid"), twice)
	require.Equal(t, 2, strings.Count(twice, "Follows R-2026-000001."), twice)

	from, to := strings.Index(text, `"lines": [`), strings.Index(text, `"object"`)
	without := func(lines string) string { return text[:from] + `"lines": ` + lines + ", " + text[to:] }
	p.Open("/verify")
	p.Do(chromedp.SetValue(chromedp.CSS("#order"), "order-1"),
		chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{p.file("null.json", []byte(without("null")))}))
	got := p.results()
	require.Contains(t, got, "R-2026-000002: valid")
	require.Contains(t, got, "Order order-1 was not looked up: the file has no lines.")
	require.NotContains(t, got, "is not on it")
	for _, lines := range []string{`{"length": 2}`, `"ab"`, `[null, null]`} {
		p.Do(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{p.file("odd.json", []byte(without(lines)))}))
		require.Contains(t, p.results(), "odd.json: not valid", lines)
	}
	p.Silent()
}

// TestPageAnswersLate: the results of an earlier run do not replace those of a later one.
func TestPageAnswersLate(t *testing.T) {
	t.Parallel()
	p, issuer := newPage(t)
	first, second := p.file("1.json", issuer.Issue()), p.file("2.json", issuer.Issue())
	p.OnLoad(`
		const ask = fetch
		let asked = 0
		const later = new Promise(done => { window.release = done })
		fetch = async (...args) => { if (!asked++) await later; return ask(...args) }`)
	p.Open("/verify")
	p.Do(chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{first}),
		chromedp.SetUploadFiles(chromedp.CSS("#files"), []string{second}))
	require.Contains(t, p.results(), "R-2026-000002: valid")
	got := browsertest.Eval[string](p.Tab, `(async () => {
		release()
		for (let i = 0; i < 50; i++) await ask('/verify') // each takes longer than the check
		return document.querySelector('[data-verified]').innerText
	})()`)
	require.Contains(t, got, "R-2026-000002: valid")
	require.NotContains(t, got, "R-2026-000001")
	p.Silent()
}

// TestPageWithoutEd25519: the page reports a browser that cannot check signatures, and calls nothing valid.
func TestPageWithoutEd25519(t *testing.T) {
	t.Parallel()
	p, issuer := newPage(t)
	p.OnLoad(`crypto.subtle.importKey = async () => { throw new DOMException('Ed25519', 'NotSupportedError') }`)
	got := p.check(p.file("1.json", issuer.Issue()))
	require.Contains(t, got, "R-2026-000001: not checked")
	require.Contains(t, got, "This browser cannot check Ed25519 signatures.")
	require.NotContains(t, got, ": valid")
	p.OnLoad(`Object.defineProperty(crypto, 'subtle', { value: undefined })`)
	p.Open("/verify")
	require.True(t, browsertest.Eval[bool](p.Tab, `document.querySelector('form').hidden`))
	p.Reads("Browsers check signatures only on pages with HTTPS.")
	p.Silent()
}

// TestPageSendsNothing: the page can only ask this server, and its script has at most 8 kB.
func TestPageSendsNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	a := s.Do("GET", "/verify", "", nil, "Accept", "text/html")
	require.Equal(t, 200, a.Status)
	require.Contains(t, a.Header.Get("Content-Security-Policy"), "connect-src 'self'")
	require.Contains(t, a.Header.Get("Content-Security-Policy"), "script-src 'self'")
	require.LessOrEqual(t, len(a.Raw), 60_000)
	script := s.Do("GET", site.VerifyPath, "", nil)
	require.Equal(t, 200, script.Status)
	require.LessOrEqual(t, len(script.Raw), 8_000)
	require.Equal(t, 1, strings.Count(string(script.Raw), "fetch("))
	require.Equal(t, 405, s.Do("POST", "/verify", "", nil).Status)
}
