package mail_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/harness/browsertest"
	"rail/server/locale"
	"rail/server/outbound/mail"
)

// judged are the rules of axe that concern mails, which have no landmarks and no header.
var judged = []string{
	"color-contrast", "image-alt", "empty-heading", "heading-order", "html-has-lang", "html-lang-valid", "document-title",
	"link-name", "link-in-text-block", "list", "listitem", "duplicate-id", "meta-viewport", "aria-roles", "table-duplicate-name",
}

// rich is a campaign with most elements of Markdown.
const rich = "Hello {{first_name|there}},\n\n## What is new\n\nThe **AI pack** is here. *Show* it to your readers, as " +
	"[our page](https://acme.example/news) says:\n\n- Your link: {{link}}\n- Your code: `{{coupon}}`\n\n" +
	"1. Copy it\n2. Put it into your newsletter\n\n> We write better notes since we have it.\n\n---\n\n" +
	"[Open your portal]({{portal_link}} \"button\")\n\nhttps://acme.example/a/very/long/address/" +
	"0123456789012345678901234567890123456789012345678901234567890123456789\n\n    code {{coupon}} in a line that is " +
	"longer than a phone is wide, and longer than the mail, too, so that it has to be wrapped\n\nSee you\\\nAcme"

// pages returns the mail of each kind by its name.
func pages(t *testing.T, base string) map[string]string {
	t.Helper()
	plain := &db.MailReaderRow{ProgramID: "prg_1", ProgramName: "Acme partners"}
	logo := &db.MailReaderRow{ProgramID: "prg_1", ProgramName: "Acme", AccentColor: new("#ffe000"), LogoVersion: new("0a1b")}
	dark := &db.MailReaderRow{ProgramID: "prg_1", ProgramName: "Nachtigall & Söhne", AccentColor: new("#102040")}
	to := func(language string) mail.Recipient {
		return mail.Recipient{Email: "ada@example.com", ProgramID: "prg_1", Program: "Acme", Locale: locale.Of("", language)}
	}
	en, out := to("en"), map[string]string{}
	add := func(name string, m mail.Message, reader *db.MailReaderRow) {
		page, err := mail.Page(base, m, reader)
		require.NoError(t, err)
		out[name] = page
	}
	add("sign-in", mail.PortalSignIn(en, "k", "token"), plain)
	add("approved", mail.Approved(en, "app_1", "token"), logo)
	add("rejected", mail.Rejected(en, "app_1", "We take shops only.\n\nTry again in spring."), dark)
	add("referral", mail.NewReferral(en, "cus_1", true), logo)
	add("payout", mail.PayoutPaid(to("de"), "pyt_1", 123456, "EUR"), dark)
	add("details", mail.PayoutDetailsChanged(en, "part_1", mail.Start), plain)
	add("invited", mail.Invited(to("ja"), "part_1", "token"), plain)
	add("banned", mail.Banned(en, "part_1", "Self-referrals.", mail.Lost{Commissions: true, Links: true}, mail.Start), plain)
	add("join-confirm", mail.JoinConfirm(to("fr"), "k", "token"), logo)
	add("join-known", mail.JoinKnown(to("es"), "k"), plain)
	add("join-waiting", mail.JoinWaiting(to("pt-BR"), "k"), plain)
	add("console-sign-in", mail.SignIn("o@acme.example", "k", "Acme Inc", base+"/console/token"), nil)
	add("console-password", mail.Password("o@acme.example", "k", "Acme Inc", base+"/console/token"), nil)
	add("console-invitation", mail.Invitation("o@acme.example", "k", "Acme Inc", base+"/console/token"), nil)
	add("endpoint", mail.EndpointOff("o@acme.example", "we_1", "https://acme.example/hook", "k"), nil)
	add("test", mail.Test("o@acme.example", "k", mail.Bulk{ProgramID: "prg_1", Subject: "News", Markdown: rich},
		mail.Values{"first_name": "Ada"}), plain)
	values := mail.Values{
		"first_name": "Ada", "coupon": "ADA10", "link": "https://acme.example/?ref=ada", "portal_link": base + "/portal",
	}
	for name, reader := range map[string]*db.MailReaderRow{"campaign": logo, "sequence": dark} {
		page, err := mail.BulkPage(base, "What is new in Acme", rich, reader, values)
		require.NoError(t, err)
		out[name] = page
	}
	return out
}

// TestPictures opens the mail of each kind on a phone and in a wide window, in light and in dark: axe finds nothing
// that concerns mails, nothing is wider than the window, and no request leaves the host.
func TestPictures(t *testing.T) {
	t.Parallel()
	var mails map[string]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/look/") {
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = w.Write([]byte(`<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><rect width="120" height="40" rx="8" fill="#e0a800"/></svg>`))
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(mails[strings.TrimPrefix(r.URL.Path, "/")]))
	}))
	t.Cleanup(server.Close)
	mails = pages(t, server.URL)
	tab := browsertest.New(t, server.URL)
	for _, width := range []int64{390, 700} {
		tab.Do(chromedp.EmulateViewport(width, 700))
		for name, page := range mails {
			for _, scheme := range []string{"light", "dark"} {
				where := name + "-" + strconv.FormatInt(width, 10) + "-" + scheme
				require.Less(t, len(page), 16_000, where) // Gmail cuts mails of 102 kB
				tab.Scheme(scheme)
				tab.Open("/" + name)
				require.LessOrEqual(t, browsertest.Eval[int64](tab, "document.documentElement.scrollWidth"), width, where)
				require.Empty(t, tab.Violations(judged...), where)
				for _, address := range browsertest.Eval[[]string](tab,
					"performance.getEntriesByType('resource').map(r => r.name)") {
					require.True(t, strings.HasPrefix(address, server.URL+"/"), "%s: %s", where, address)
				}
				tab.Picture("mail-" + where)
			}
		}
	}
	require.Equal(t, "rgb(255, 224, 0)",
		browsertest.Eval[string](tab, "fetch('/approved').then(r => r.text()).then(text => { document.body.innerHTML = text; return getComputedStyle(document.querySelector('.button')).backgroundColor })"))
}
