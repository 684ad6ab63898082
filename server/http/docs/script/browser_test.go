package script_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

// storage is an expression for all data that a page can read from the browser's storage.
const storage = "document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)"

// stub queues the calls that run before the script loads.
const stub = "<script>window.rail = window.rail || function () { (rail.q = rail.q || []).push(arguments) }</script>"

// TestClick: a value in the address creates a click, which later pages use. The same value creates no
// new click within an hour. Another partner's value replaces the click, unless data-touch is first.
func TestClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	b := newTab(t, w)
	b.open("shop.test/")
	require.Nil(t, b.settled())
	b.open("shop.test/?ref=ada&x=1")
	first := b.settled()
	require.Regexp(t, "^clk_", first.ClickID)
	require.Equal(t, "ada", first.Partner.Handle)
	sent := w.requests("/t/c")[0].body
	require.Equal(t, []any{w.key, "ada", "ref", w.at("shop.test/?ref=ada&x=1")},
		[]any{sent["key"], sent["value"], sent["param"], sent["url"]})
	require.Contains(t, eval[string](b, "document.cookie"), "rail_click="+first.ClickID, "for the shop's own server")
	b.open("shop.test/")
	require.Equal(t, first.ClickID, b.settled().ClickID)
	b.open("shop.test/?ref=ada")
	require.Equal(t, first.ClickID, b.settled().ClickID)
	require.Len(t, w.requests("/t/c"), 1)
	w.shop(`data-touch="first"`, "")
	b.open("shop.test/?ref=bob")
	require.Equal(t, first.ClickID, b.settled().ClickID)
	w.shop("", "")
	b.open("shop.test/?ref=nobody")
	require.Equal(t, first.ClickID, b.settled().ClickID, "an unknown value does not delete the click")
	b.open("shop.test/?ref=bob")
	require.Equal(t, "bob", b.settled().Partner.Handle)
	w.shop(`data-params="via, aff"`, "")
	b.open("shop.test/?ref=bob&aff=ada")
	require.Equal(t, first.ClickID, b.settled().ClickID, "within an hour Rail returns the same click")
	b.silent()
}

// TestOwnAd: an advertisement of the merchant may link to an address with a partner's parameter. Rail
// attributes the visit to the partner and flags it as paid traffic.
func TestOwnAd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	b := newTab(t, w)
	b.open("shop.test/?gclid=EAIaIQobChMI&ref=ada")
	require.Equal(t, "ada", b.settled().Partner.Handle)
	flags := w.Must(200, w.Get("/v1/risk_flags?program_id="+w.program)).Data()
	require.Len(t, flags, 1)
	require.Equal(t, "paid_traffic", flags[0]["kind"])
}

// TestPurgedStorage: after the browser clears the data of scripts, the script restores it with Rail's
// cookie. This requires a proxy on the shop's site, because browsers block third-party cookies.
func TestPurgedStorage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	b.run(`localStorage.clear(); sessionStorage.clear()
		for (const domain of ['', ';domain=shop.test']) document.cookie = 'rail_click=;path=/;max-age=0' + domain`)
	require.NotContains(t, eval[string](b, storage), "clk_")
	b.open("shop.test/")
	require.Equal(t, click, b.settled().ClickID)
	require.Contains(t, eval[string](b, storage), click)
	require.Len(t, w.requests("/t/c"), 1)
	require.Equal(t, 200, w.requests("/t/me")[0].status)
}

// TestSubdomain: a shop and its app share the click.
func TestSubdomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	w.page("app.shop.test/", w.proxied(""), "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	b.open("app.shop.test/")
	require.Equal(t, click, b.settled().ClickID)
}

// TestRailIsAway: without Rail the page works and the script throws no error. The next page repeats the
// report.
func TestRailIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", `<a id=pay href="https://buy.stripe.com/x">Pay</a>`)
	w.setRail(true, nil)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	require.Nil(t, b.settled())
	require.Equal(t, "https://buy.stripe.com/x", b.follow("#pay"), "the script adds no empty value")
	require.False(t, eval[bool](b, "rail('lead', { email: 'a@b.example' })"))
	w.setRail(false, nil)
	b.open("shop.test/")
	require.Equal(t, "ada", b.settled().Partner.Handle)
	require.Equal(t, w.at("shop.test/?ref=ada"), w.requests("/t/c")[0].body["url"])
	b.silent()
}

// TestRailIsSlow: the page loads before Rail answers, and rail:ready fires after three seconds at most.
func TestRailIsSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	gate := make(chan struct{})
	w.setRail(false, gate)
	b := newHasty(t, w)
	b.open("shop.test/?ref=ada")
	require.Equal(t, "complete", eval[string](b, "document.readyState"))
	require.Nil(t, b.settled())
	close(gate)
	b.until("rail('get')")
	b.silent()
}

// TestBlockedNames: the script's host is on a filter list, and the page has a stub.
func TestBlockedNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("shop.test/", `<script>window.rail = window.rail || function () { (rail.q = rail.q || []).push(arguments) }
		rail('ready', () => { window.called = 1 }); document.title = 'fine'</script>
		<script async src="http://blocked.test/rail.js" data-rail="`+w.key+`"></script>`, "")
	b := newTab(t, w, chromedp.Flag("host-resolver-rules", "MAP blocked.test ~NOTFOUND, MAP *.test 127.0.0.1"))
	b.open("shop.test/?ref=ada")
	require.Equal(t, "fine", eval[string](b, "document.title"))
	require.Empty(t, w.requests("/t/c"))
	// The proxy has the shop's host, which is on no filter list.
	w.page("shop.test/", `<script>window.rail = window.rail || function () { (rail.q = rail.q || []).push(arguments) }
		rail('ready', click => { window.handle = click.partner.handle })</script>`+w.proxied(""), "")
	b.open("shop.test/?ref=ada")
	b.until("window.handle == 'ada'")
}

// TestConsent: the script stores and sends nothing before consent or after a refusal. Links within the
// shop carry the value.
func TestConsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(`data-consent="required" data-domains="other.test"`,
		`<a id=own href="/next?a=1">Next</a> <a id=other href="http://other.test/">Other</a>
		<form data-rail><input name=x></form>`)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	require.Nil(t, b.settled())
	require.Equal(t, w.at("shop.test/next?a=1&ref=ada"), b.follow("#own"))
	require.Equal(t, "http://other.test/", b.follow("#other"))
	b.run("rail('consent', false)")
	require.Nil(t, b.settled())
	require.Equal(t, "{}{}", eval[string](b, storage))
	require.Empty(t, w.log)
	b.run("rail('consent', true)")
	click := b.settled().ClickID
	require.Equal(t, click, eval[string](b, "document.querySelector('[name=rail_click]').value"))
	b.run("rail('consent', false)")
	require.Nil(t, b.settled())
	require.Equal(t, "{}{}", eval[string](b, storage))
	require.Zero(t, eval[int](b, "document.querySelectorAll('[name=rail_click]').length"))
	b.silent()
}

// TestConsentTakenBack: if the visitor withdraws consent before the script sends a report, or before
// Rail answers it, the script stores nothing.
func TestConsentTakenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	gate := make(chan struct{})
	w.setRail(false, gate)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	b.until("window.Rail")
	b.run("rail('consent', false)")
	close(gate)
	require.Nil(t, b.settled())
	require.Equal(t, "{}{}", eval[string](b, storage))
	require.Len(t, w.requests("/t/c"), 1)
	w.page("shop.test/", stub+"<script>rail('consent', false)</script>"+w.proxied(""), "")
	b.open("shop.test/?ref=bob")
	require.Nil(t, b.settled())
	require.Equal(t, "{}{}", eval[string](b, storage))
	require.Len(t, w.log, 1)
	b.silent()
}

// TestStub: the page has the stub, but calls nothing before the script loads.
func TestStub(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("shop.test/", stub+w.proxied(""), "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	require.Equal(t, "ada", b.settled().Partner.Handle)
}

// TestBadPage: the script counts the visit even if the page has errors in its attributes.
func TestBadPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(`data-forms="(("`, "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	b.run("document.body.append('x')")
	w.shop("", `<a class=paddle_button data-custom-data='{'></a> <form data-rail></form>`)
	b.open("shop.test/?rail_debug=1")
	require.Equal(t, click, b.settled().ClickID)
	b.until("document.forms[0].rail_click.value == '" + click + "'")
	b.silent()
}

// TestCrossDomain: when the visitor uses a link or form to the merchant's other site, the script adds the
// click to the address. The other page's script removes it from the address.
func TestCrossDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(`data-domains="other.test, *.third.test"`, `<a id=other href="`+w.at("other.test/?b=2#c")+`"><b>Other</b></a>
		<a id=third href="https://deep.third.test/"></a> <a id=stranger href="https://another.test/"></a>
		<a id=mail href="mailto:a@b.example">Mail</a> <form id=get action="http://other.test/in"></form>
		<form id=post method=post action="http://other.test/in"></form>`)
	w.page("other.test/", w.proxied(""), "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	require.NotContains(t, eval[string](b, "document.body.innerHTML"), click, "the script does not change a link before the visitor uses it")
	require.Equal(t, "https://deep.third.test/?rail_click="+click, b.follow("#third"))
	require.Equal(t, "https://another.test/", b.follow("#stranger"))
	require.Equal(t, "mailto:a@b.example", b.follow("#mail"))
	b.run(`addEventListener('submit', e => e.preventDefault())
		for (const f of document.forms) f.requestSubmit()`)
	require.Equal(t, click, eval[string](b, "document.querySelector('#get [name=rail_click]').value"))
	require.Equal(t, "http://other.test/in?rail_click="+click, eval[string](b, "document.querySelector('#post').action"))
	_, err := chromedp.Run(b.ctx, chromedp.Click(chromedp.CSS("#other b")))
	require.NoError(t, err)
	b.until("location.hostname == 'other.test'")
	require.Equal(t, click, b.settled().ClickID)
	require.Equal(t, w.at("other.test/?b=2#c"), eval[string](b, "location.href"))
	require.Len(t, w.requests("/t/c"), 2)
	b.open("other.test/?rail_click=clk_unknown")
	require.Equal(t, click, b.settled().ClickID, "an unknown click does not delete the click")
}

// TestRoutes: a single-page application changes the address without a page load, even before the script
// loads.
func TestRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("shop.test/", `<script>history.replaceState({ mine: 1 }, '', '/')</script>`+w.proxied(""), "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	require.Equal(t, "ada", b.settled().Partner.Handle)
	b.run("history.pushState({ mine: 2 }, '', '/pricing?ref=bob')")
	require.Equal(t, "bob", b.settled().Partner.Handle)
	b.run("history.pushState({}, '', '/about?ref=bob'); history.replaceState({ mine: 3 }, '', '/contact?ref=bob')")
	b.settled()
	require.Len(t, w.requests("/t/c"), 2, "a route change with the same query creates no click")
	require.Equal(t, 3, eval[int](b, "history.state.mine"))
	w.Clock.Advance(2 * time.Hour)
	b.run("rail('track', 'ada')")
	require.Equal(t, "ada", b.settled().Partner.Handle)
	b.silent()
}

// TestForgedOrigin: a page of another host cannot report clicks.
func TestForgedOrigin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("forger.test/", `<script async src="`+w.at("rail.test/rail.js")+`" data-rail="`+w.key+`"></script>`, "")
	b := newTab(t, w)
	b.open("forger.test/?ref=ada")
	require.Nil(t, b.settled())
	for _, a := range w.requests("/t/c") {
		require.Equal(t, http.StatusForbidden, a.status)
	}
	require.Zero(t, w.Must(http.StatusOK, w.Get("/v1/clicks?program_id="+w.program)).Int("total_count"))
}

// TestOtherSite: without a proxy the script works with the page's own storage.
func TestOtherSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("shop.test/", w.tag, "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	b.open("shop.test/")
	require.Equal(t, click, b.settled().ClickID)
	require.True(t, eval[bool](b, "rail('lead', { email: 'grace@example.com' })"))
	customers := w.Must(http.StatusOK, w.Get("/v1/customers?program_id="+w.program)).Data()
	require.Len(t, customers, 1)
	require.Equal(t, "grace@example.com", customers[0]["email"])
	b.silent()
}

// TestCheckouts: links and elements of payment processors carry the click. Without a click they stay
// unchanged.
func TestCheckouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const body = `<a id=stripe href="https://buy.stripe.com/x?prefilled_email=a%40b.example"></a>
		<a id=taken href="https://buy.stripe.com/x?client_reference_id=mine"></a>
		<a id=empty href="https://buy.stripe.com/x?client_reference_id="></a>
		<a id=named href="https://pay.shop.test/x"></a> <a id=lemon href="https://acme.lemonsqueezy.com/buy/1"></a>
		<a id=polar href="https://buy.polar.sh/polar_cl_1"></a> <a id=other href="https://stripe.com/"></a>
		<a class=paddle_button data-custom-data='{"mine":1}'></a><stripe-pricing-table></stripe-pricing-table>
		<stripe-buy-button client-reference-id=mine></stripe-buy-button>`
	w.shop(`data-checkout-hosts="pay.shop.test"`, body)
	b := newTab(t, w)
	b.open("shop.test/")
	require.Nil(t, b.settled())
	require.Equal(t, "https://buy.polar.sh/polar_cl_1", b.follow("#polar"))
	require.Equal(t, "{}", eval[string](b, "JSON.stringify(Rail.paddle())"))
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	for id, want := range map[string]string{
		"stripe": "https://buy.stripe.com/x?prefilled_email=a%40b.example&client_reference_id=" + click,
		"taken":  "https://buy.stripe.com/x?client_reference_id=mine",
		"empty":  "https://buy.stripe.com/x?client_reference_id=" + click,
		"named":  "https://pay.shop.test/x?client_reference_id=" + click,
		"lemon":  "https://acme.lemonsqueezy.com/buy/1?checkout%5Bcustom%5D%5Brail_click%5D=" + click,
		"polar":  "https://buy.polar.sh/polar_cl_1?reference_id=" + click,
		"other":  "https://stripe.com/",
	} {
		require.Equal(t, want, b.follow("#"+id))
	}
	reference := func(selector string) string {
		return eval[string](b, `document.querySelector("`+selector+`").getAttribute("client-reference-id")`)
	}
	require.Equal(t, click, reference("stripe-pricing-table"))
	require.Equal(t, "mine", reference("stripe-buy-button"))
	require.JSONEq(t, `{"mine":1,"rail_click":"`+click+`"}`,
		eval[string](b, "document.querySelector('.paddle_button').dataset.customData"))
	require.JSONEq(t, `{"rail_click":"`+click+`"}`, eval[string](b, "JSON.stringify(Rail.paddle())"))
	b.run("document.body.append(Object.assign(document.createElement('stripe-buy-button'), { id: 'late' }))")
	b.until("document.querySelector('#late').getAttribute('client-reference-id') == '" + click + "'")
	w.shop(`data-checkout="off"`, body)
	b.open("shop.test/")
	b.settled()
	require.NotContains(t, b.follow("#stripe"), click)
	require.Zero(t, eval[int](b, "document.querySelectorAll('stripe-pricing-table[client-reference-id]').length"))
	b.silent()
}

// TestLaterClick: a page that has the click of an earlier partner gets the click of a later one, and none after the
// visitor withdraws consent. A value of the merchant stays.
func TestLaterClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", `<stripe-pricing-table></stripe-pricing-table>
		<stripe-buy-button client-reference-id=mine></stripe-buy-button>
		<a class=paddle_button data-custom-data='{"mine":1}'></a> <a id=pay href="https://buy.stripe.com/x"></a>
		<form id=buy method=post action="https://buy.stripe.com/y"></form>`)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	ada := b.settled().ClickID
	gate := make(chan struct{})
	w.setRail(false, gate)
	b.open("shop.test/?ref=bob")
	values := func() []string {
		t.Helper()
		b.follow("#pay")
		return eval[[]string](b, `(() => {
			document.addEventListener('submit', e => e.preventDefault(), { once: true })
			document.querySelector('#buy').requestSubmit()
			const at = s => document.querySelector(s)
			return [
				at('stripe-pricing-table').getAttribute('client-reference-id') || '',
				at('stripe-buy-button').getAttribute('client-reference-id'),
				at('.paddle_button').dataset.customData, at('#pay').href, at('#buy').action,
			]
		})()`)
	}
	want := func(click string) []string {
		query := "?client_reference_id=" + click
		return []string{
			click, "mine", `{"mine":1,"rail_click":"` + click + `"}`, "https://buy.stripe.com/x" + query,
			"https://buy.stripe.com/y" + query,
		}
	}
	b.until("window.Rail")
	require.Equal(t, want(ada), values(), "before Rail answers")
	close(gate)
	bob := b.settled().ClickID
	require.NotEqual(t, ada, bob)
	require.Equal(t, want(bob), values())
	b.run("rail('consent', false)")
	require.Equal(t, []string{"", "mine", `{"mine":1}`, "https://buy.stripe.com/x", "https://buy.stripe.com/y"}, values())
	b.silent()
}

// TestServersClick: without a click, the script keeps the clicks that the merchant's server wrote.
func TestServersClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", `<stripe-pricing-table client-reference-id=clk_1></stripe-pricing-table>
		<a id=pay href="https://buy.stripe.com/x?client_reference_id=clk_1"></a>`)
	b := newTab(t, w)
	b.open("shop.test/")
	require.Nil(t, b.settled())
	require.Equal(t, "https://buy.stripe.com/x?client_reference_id=clk_1", b.follow("#pay"))
	require.Equal(t, "clk_1",
		eval[string](b, "document.querySelector('stripe-pricing-table').getAttribute('client-reference-id')"))
	b.silent()
}

// TestBack: a page that the browser kept for its back button uses the click of a later page.
func TestBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", `<stripe-pricing-table></stripe-pricing-table>`)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	b.settled()
	b.run(`document.cookie = 'rail_click=clk_later;path=/;domain=shop.test'
		dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`)
	require.Equal(t, "clk_later", b.settled().ClickID)
	require.Equal(t, "clk_later",
		eval[string](b, "document.querySelector('stripe-pricing-table').getAttribute('client-reference-id')"))
	b.silent()
}

// TestGetForms: a GET form to a checkout sends the click in the checkout's parameter, unless the merchant has a value.
func TestGetForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", `<form action="https://buy.stripe.com/x"></form> <form action="https://acme.lemonsqueezy.com/buy/1"></form>
		<form action="https://buy.stripe.com/x"><input name=client_reference_id value=mine></form>
		<form action="https://stripe.com/"></form>`)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	b.run(`addEventListener('submit', e => e.preventDefault())
		for (const f of document.forms) f.requestSubmit()`)
	require.Equal(t, []string{
		"client_reference_id=" + click, "checkout[custom][rail_click]=" + click, "client_reference_id=mine", "",
	}, eval[[]string](b, `[...document.forms].map(f => [...new FormData(f)].map(x => x.join('=')).join())`))
	b.silent()
}

// counts opens a page two hours later and requires that it creates a new click of the partner ada. It
// returns the body of the script's report.
func counts(b *tab, page string) map[string]any {
	b.t.Helper()
	b.open("shop.test/blank") // a change of only the fragment would not load the page
	b.run("localStorage.clear()")
	b.w.Clock.Advance(2 * time.Hour)
	before := len(b.w.requests("/t/c"))
	b.open(page)
	require.Equal(b.t, "ada", b.settled().Partner.Handle, page)
	sent := b.w.requests("/t/c")[before:]
	require.Len(b.t, sent, 1, page)
	require.Equal(b.t, http.StatusCreated, sent[0].status, page)
	return sent[0].body
}

// TestCase12HashRoutes: field case 12 (a hash router). A hash router has the route and the query in the
// fragment.
func TestCase12HashRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(`data-params="via ref"`, "")
	b := newTab(t, w)
	for _, page := range []string{
		"shop.test/#/pricing?ref=ada", "shop.test/#ref=ada", "shop.test/?a=1#!/pricing?b=2&ref=ada",
	} {
		sent := counts(b, page)
		require.Equal(t, []any{"ada", "ref", w.at(page)}, []any{sent["value"], sent["param"], sent["url"]})
	}
	b.run("location.hash = '/about?ref=bob'")
	b.until("rail('get').partner.handle == 'bob'")
	b.run("location.hash = '/about'")
	b.settled()
	require.Len(t, w.requests("/t/c"), 4)
	b.silent()
}

// TestCase13PastedLinks: field case 13 (links as people paste them). A link with damage from copying and
// pasting creates a click. A parameter with the exact name has precedence.
func TestCase13PastedLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(`data-params="via ref"`, "")
	b := newTab(t, w)
	for _, query := range []string{
		"?ref=ada?utm_source=yt", "?ref=ada%20", "?ref=ada%E2%80%8B", "?ref=ada/", "?ref=ada.", "?ref=ada,", "?ref=%C2%A0ada",
		"?a=1&amp;ref=ada", "?amp;ref=ada", "?REF=ada", "?Ref=bob&ref=ada", "?utm_source=yt?ref=ada", "?ref=&REF=ada",
		"?x=1?via=bob&ref=ada", "?ref=ada#via=bob",
	} {
		counts(b, "shop.test/"+query)
	}
	b.silent()
}

// TestCase14LongAddress: field case 14 (long addresses, and a value of another site). An address of
// any length creates a click, and a value of another site does not replace the partner.
func TestCase14LongAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	b := newTab(t, w)
	for _, size := range []int{3000, 20000} {
		counts(b, "shop.test/?x="+strings.Repeat("a", size)+"&y=100%&ref=ada#100%")
	}
	b.open("shop.test/?ref=producthunt")
	require.Equal(t, "ada", b.settled().Partner.Handle)
	require.Equal(t, http.StatusNotFound, w.requests("/t/c")[2].status)
	b.silent()
}

// TestShortLink: a visitor arrives through a short link, whose click is only in Rail's cookie. The page
// uses this click and creates no second one. A lead belongs to the click's partner.
func TestShortLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	ada := w.Must(http.StatusOK, w.Get("/v1/partners?handle=ada&program_id="+w.program)).Data()[0]["id"]
	link := w.Must(http.StatusCreated, w.Post("/v1/links", apitest.M{
		"program_id": w.program, "partner_id": ada, "destination_url": w.at("shop.test/?a=1#top"),
	}))
	_, slug, _ := strings.Cut(link.String("short_url"), "/r/")
	b := newTab(t, w)
	b.open("shop.test/?ref=bob")
	require.Equal(t, "bob", b.settled().Partner.Handle)
	w.Clock.Advance(time.Minute)
	b.open("rail.test/r/" + slug)
	click := b.settled()
	require.Equal(t, "ada", click.Partner.Handle)
	require.Equal(t, w.at("shop.test/?a=1&ref=ada#top"), eval[string](b, "location.href"))
	sent := w.requests("/t/c")
	require.Equal(t, click.ClickID, sent[1].body["click_id"])
	require.NotEmpty(t, sent[1].body["visitor"], "the visitor of the first click")
	clicks := w.Must(http.StatusOK, w.Get("/v1/clicks?program_id="+w.program))
	require.EqualValues(t, 2, clicks.Int("total_count"))
	require.Equal(t, []any{click.ClickID, link.String("id")}, []any{clicks.Data()[0]["id"], clicks.Data()[0]["link_id"]})
	b.open("shop.test/")
	require.True(t, eval[bool](b, "rail('lead', { email: 'grace@example.com' })"))
	lead := w.Must(http.StatusOK, w.Get("/v1/customers?program_id="+w.program)).Data()[0]
	require.Equal(t, []any{ada, clicks.Data()[0]["referral_id"]}, []any{lead["partner_id"], lead["referral_id"]})
	b.silent()
}

// TestShopify: a Shopify shop gets the click as an attribute of its cart, which Shopify copies to the
// order. An error of the cart causes no error in the page. Other pages send no cart request.
func TestShopify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	carts, head := make(chan string, 3), "<script>window.Shopify = { shop: 'acme.myshopify.com' }</script>"
	page := func(tag string) {
		m := http.NewServeMux()
		m.HandleFunc("POST /cart/update.js", func(out http.ResponseWriter, r *http.Request) {
			sent, _ := io.ReadAll(r.Body)
			carts <- r.Header.Get("Content-Type") + " " + string(sent)
			io.WriteString(out, "{}")
		})
		m.HandleFunc("GET /{$}", func(out http.ResponseWriter, _ *http.Request) { io.WriteString(out, "<!doctype html>"+tag) })
		w.serve("shop.test", m)
	}
	b := newTab(t, w)
	for _, tag := range []string{w.proxied(""), head + w.proxied(`data-checkout="off"`)} {
		page(tag)
		b.open("shop.test/?ref=ada")
		require.Equal(t, "ada", b.settled().Partner.Handle)
		b.run("localStorage.clear()") // so that the next page sends a report
	}
	page(head + w.proxied(""))
	b.open("shop.test/?ref=bob")
	bob := b.settled().ClickID
	require.Equal(t, `application/json {"attributes":{"rail_click":"`+bob+`"}}`, <-carts, "only this page updates the cart")
	b.run(`window.fetch = (was => (url, o) => url == '/cart/update.js' ? (window.failed = Promise.reject('no cart')) : was(url, o))(fetch)
		rail('track', 'ada')`)
	require.Equal(t, "ada", b.settled().Partner.Handle)
	b.until("window.failed")
	require.Empty(t, carts)
	b.silent()
}

// TestForms: marked forms send the click, and the page shows the partner's name and discount.
func TestForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(`data-forms="#signup"`, `<form data-rail></form> <form id=signup></form> <form id=search></form>
		<p data-rail-show=partner hidden></p> <p data-rail-show=discount hidden></p>`)
	b := newTab(t, w)
	b.open("shop.test/")
	require.Nil(t, b.settled())
	require.Zero(t, eval[int](b, "document.querySelectorAll('[name=rail_click]').length + document.body.innerText.trim().length"))
	b.open("shop.test/?ref=ada")
	click := b.settled().ClickID
	require.Equal(t, click+","+click+",", eval[string](b, "[...document.forms].map(f => f.rail_click?.value).join()"))
	b.run("document.body.insertAdjacentHTML('beforeend', '<form id=late data-rail></form>')")
	b.until("document.querySelector('#late [type=hidden][name=rail_click]')?.value == '" + click + "'")
	require.Contains(t, eval[string](b, "document.body.innerText"), "X20")
	require.Contains(t, strings.ToLower(eval[string](b, "document.body.innerText")), "ada")
	b.silent()
}

// TestContentSecurityPolicy: behind a proxy the script needs only the page's own origin.
func TestContentSecurityPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.policy = "default-src 'none'; script-src 'self'; connect-src 'self'"
	w.shop("", `<form data-rail></form>`)
	b := newTab(t, w)
	b.open("shop.test/?ref=ada&rail_debug=1")
	click := b.settled().ClickID
	require.Equal(t, click, eval[string](b, "document.querySelector('[name=rail_click]').value"))
	b.says(click)
	b.silent()
}

// TestDebug: with rail_debug=1 the console shows whether Rail counted a visit, or the reason if not.
func TestDebug(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("forger.test/", `<script async src="`+w.at("rail.test/rail.js")+`" data-rail="`+w.key+`"></script>`, "")
	b := newTab(t, w)
	for _, c := range []struct{ attributes, page, why string }{
		{"", "shop.test/?rail_debug=1", "not counted: no ref"},
		{"", "shop.test/?rail_debug=1&ref=nobody", "\"code\":\"tracking_value_not_found\""},
		{"", "forger.test/?rail_debug=1&ref=ada", "not counted yet: TypeError"}, // only the browser's own message names the origin
		{`data-consent="required"`, "shop.test/?rail_debug=1&ref=ada", "not counted: no consent"},
		{"", "shop.test/?rail_debug=1&ref=ada", "counted\n"},
		{"", "shop.test/?rail_debug=1&ref=ada", "counted before"},
		{`data-touch="first"`, "shop.test/?rail_debug=1&ref=bob", "not counted: first touch"},
		{"", "shop.test/#/?rail_debug=1&ref=nobody2", "\"code\":\"tracking_value_not_found\""},
	} {
		w.shop(c.attributes, "")
		b.mu.Lock()
		b.debug = nil
		b.mu.Unlock()
		b.open("shop.test/blank") // a change of only the fragment would not load the page
		b.open(c.page)
		b.says(c.why)
	}
	w.setRail(true, nil)
	b.open("shop.test/?rail_debug=1&ref=bob")
	b.says("not counted yet: TypeError")
	robot := newTab(t, w, chromedp.UserAgent("facebookexternalhit/1.1"))
	w.setRail(false, nil)
	robot.open("shop.test/?rail_debug=1&ref=ada")
	robot.says("not counted: robot or prefetch")
	b.mu.Lock()
	b.debug = nil
	b.mu.Unlock()
	b.open("shop.test/?ref=bob")
	b.settled()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.debug)
}

// TestRobot: an automated browser creates no click.
func TestRobot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop("", "")
	b := newTab(t, w, chromedp.Flag("disable-blink-features", false), chromedp.Flag("enable-automation", true))
	b.open("shop.test/?ref=ada&rail_debug=1")
	require.Nil(t, b.settled())
	require.Empty(t, w.requests("/t/c"))
	b.says("not counted: automated browser")
}

// TestPrerender: a prerendered page creates its click only when the visitor opens it. The test's page
// simulates prerendering.
func TestPrerender(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.page("shop.test/", `<script>Object.defineProperty(document, 'prerendering', { get: () => !window.seen })</script>`+w.proxied("defer"), "")
	b := newTab(t, w)
	b.open("shop.test/?ref=ada")
	b.until("window.Rail")
	b.run("rail('consent', true)") // consent banners call this on every page
	require.Nil(t, b.settled())
	require.Empty(t, w.requests("/t/c"))
	b.run("window.seen = 1; document.dispatchEvent(new Event('prerenderingchange'))")
	require.Equal(t, "ada", b.settled().Partner.Handle)
	require.Len(t, w.requests("/t/c"), 1)
}
