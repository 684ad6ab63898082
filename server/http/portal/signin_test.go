package portal_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/harness/browsertest"
)

// mailing is a server that takes mails.
func mailing(t *testing.T) *apitest.Server {
	t.Helper()
	return apitest.New(t, func(c *config.Config) { c.SMTPURL = "dir:" + t.TempDir() })
}

// asks sends the form that asks for a link.
func asks(s *apitest.Server, email, program string, headers ...string) apitest.Answer {
	s.T.Helper()
	form := url.Values{"email": {email}, "program": {program}}
	if found := tokens.FindStringSubmatch(string(visit(s, "GET", "/portal").Raw)); found != nil {
		form.Set("form_token", found[1])
	}
	headers = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)
	return s.Do("POST", "/portal/sign-in", "", form.Encode(), headers...)
}

var mailed = regexp.MustCompile(`rail://(/portal/sign-in/\S+)`)

// mailsTo are the paths of the links that were mailed to an address, the newest last.
func mailsTo(s *apitest.Server, email string) (paths []string) {
	s.T.Helper()
	rows, err := s.Pool.Query(s.T.Context(),
		"SELECT plain FROM mails WHERE recipient = $1 AND purpose IN ('portal_sign_in', 'application_approved') ORDER BY created_at, id", email)
	require.NoError(s.T, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(s.T, rows.Scan(&text))
		found := mailed.FindStringSubmatch(text)
		require.Len(s.T, found, 2, text)
		paths = append(paths, found[1])
	}
	return paths
}

// TestSignInByMail: a partner asks for a link, a scanner looks at it, and the button signs in,
// once. The page does not reveal whether an address belongs to a partner.
func TestSignInByMail(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	program, other := s.Program(), s.Program()
	s.Partner(program, M{"email": "Ada@example.com"})
	s.Partner(other, M{"email": "ada@example.com"})
	s.Partner(program, M{"email": "waits@example.com", "status": "pending"})
	page := string(s.Must(401, visit(s, "GET", "/portal")).Raw)
	require.Contains(t, page, "Send me a link")

	answer := s.Must(200, asks(s, " ada@EXAMPLE.com ", ""))
	for _, stranger := range []string{"nobody@example.com", "waits@example.com"} {
		require.Equal(t, answer.Raw, s.Must(200, asks(s, stranger, "")).Raw)
		require.Empty(t, mailsTo(s, stranger))
	}
	require.Len(t, append(mailsTo(s, "Ada@example.com"), mailsTo(s, "ada@example.com")...), 2, "one for each program")
	path := mailsTo(s, "Ada@example.com")[0]
	s.Must(410, visit(s, "GET", strings.Replace(path, "sign-in", "sso", 1))) // by the button alone
	for range 2 {
		page := s.Must(200, visit(s, "GET", path))
		require.Contains(t, string(page.Raw), `action="`+path+`"`)
		require.Empty(t, session(page))
		require.Empty(t, s.Must(200, visit(s, "HEAD", path)).Raw)
	}
	s.Must(403, visit(s, "POST", path, "Origin", "https://evil.example"))
	in := s.Must(303, visit(s, "POST", path))
	(&browser{s, session(in)}).get("/portal")
	s.Must(410, visit(s, "POST", path))
	token, _, _ := strings.Cut(strings.TrimPrefix(path, "/portal/sign-in/"), "?")
	require.NotContains(t, s.Log(), token, "tokens are not logged")

	s.Must(200, asks(s, "ada@example.com", other))
	require.Len(t, append(mailsTo(s, "Ada@example.com"), mailsTo(s, "ada@example.com")...), 3, "one program is asked for")
	require.Contains(t, string(s.Must(422, asks(s, "ada", "")).Raw), "must be an email address")
	s.Must(403, asks(s, "ada@example.com", "", "Sec-Fetch-Site", "cross-site"))
}

// TestWelcomeLink checks the link in the mail of an approval: links of the program do not void it, its page has the name of
// the program, and once used it leads a signed-in partner to the portal.
func TestWelcomeLink(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	program := s.Program(M{"name": "Northwind"})
	partner := s.Partner(program, M{"email": "ada@example.com", "status": "pending"})
	application := s.Must(200, s.Get("/v1/applications?program_id="+program)).Data()[0]["id"].(string)
	s.Must(200, s.Post("/v1/applications/"+application+"/approve", nil))
	path := mailsTo(s, "ada@example.com")[0]
	require.True(t, strings.HasSuffix(path, "?program="+program), path)
	link(s, partner)
	require.Contains(t, string(s.Must(200, visit(s, "GET", path)).Raw), "Northwind")
	b := &browser{s, session(s.Must(303, visit(s, "POST", path)))}
	b.get("/portal")
	b.moved("/portal", b.ask("POST", path, nil))
	s.Must(410, visit(s, "POST", path))
	other := signIn(s, s.Partner(s.Program()))
	s.Must(410, other.ask("POST", path, nil))
}

// TestLinksAreBounded: neither one address nor one network can be made to get many links.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	s.Partner(s.Program(), M{"email": "ada@example.com"})
	for range 3 {
		s.Must(200, asks(s, "ada@example.com", ""))
	}
	require.NotEmpty(t, string(s.Must(429, asks(s, "ada@example.com", "")).Raw))
	require.Len(t, mailsTo(s, "ada@example.com"), 3)
	for i := range 17 {
		s.Must(200, asks(s, strings.Repeat("x", i+1)+"@example.com", ""))
	}
	s.Must(429, asks(s, "another@example.com", ""))
	s.Clock.Advance(15 * time.Minute)
	s.Must(200, asks(s, "ada@example.com", ""))
}

// TestLinksOfADay checks that links to a mailbox are limited, except for a signed-in partner.
func TestLinksOfADay(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	b := signIn(s, s.Partner(s.Program(), M{"email": "ada@example.com"}))
	for range 10 {
		for range 3 {
			s.Must(200, asks(s, "ada@example.com", ""))
		}
		s.Clock.Advance(16 * time.Minute)
	}
	require.Len(t, mailsTo(s, "ada@example.com"), 20)
	s.Must(200, b.send("/portal/again"))
	require.Len(t, mailsTo(s, "ada@example.com"), 21)
}

// TestLinksRunOut: a mailed link works for half an hour, and leaves others as they are.
func TestLinksRunOut(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	partner := s.Partner(s.Program(), M{"email": "ada@example.com"})
	address := link(s, partner)
	s.Must(200, asks(s, "ada@example.com", ""))
	s.Must(303, visit(s, "GET", address))
	s.Clock.Advance(30 * time.Minute)
	s.Must(410, visit(s, "POST", mailsTo(s, "ada@example.com")[0]))
}

// TestPayoutDetailsAskAgain: how money is paid is changed soon after signing in, or not at all.
func TestPayoutDetailsAskAgain(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	partner := s.Partner(s.Program(), M{"email": "ada@example.com"})
	b := signIn(s, partner)
	paypal := []string{"method", "paypal", "email", "ada@example.com"}
	s.Must(303, b.send("/portal/settings/payout", paypal...))
	s.Clock.Advance(12 * time.Hour)
	require.Contains(t, b.get("/portal/settings"), "Email me a link")
	b.says(403, "Please sign in again", b.send("/portal/settings/payout", "method", "paypal", "email", "eve@example.com"))
	s.Must(303, b.send("/portal/settings/profile", "first_name", "Ada"))
	s.Must(200, b.send("/portal/again"))
	in := s.Must(303, visit(s, "POST", mailsTo(s, "ada@example.com")[0]))
	s.Must(303, (&browser{s, session(in)}).send("/portal/settings/payout", paypal...))
}

// TestMerchantViewIsReadOnly checks that the program's people cannot change a partner's portal.
func TestMerchantViewIsReadOnly(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	b := signIn(s, s.Partner(s.Program()))
	_, err := s.Pool.Exec(t.Context(), "UPDATE portal_sessions SET visitor = true")
	require.NoError(t, err)
	b.says(403, "You’re viewing this portal", b.send("/portal/settings/profile", "first_name", "Eve"))
	s.Clock.Advance(11 * time.Hour)
	require.Empty(t, session(s.Must(http.StatusOK, b.ask("GET", "/portal", nil))), "the session is not extended")
	s.Must(200, b.send("/portal/sign-out"))
}

// TestSignInIsAccessible: so are the pages for who is not signed in, in light and in dark.
func TestSignInIsAccessible(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	s := apitest.New(t, apitest.Loopback, func(c *config.Config) {
		c.SMTPURL, c.BaseURL = "dir:"+t.TempDir(), "http://127.0.0.1:8080"
	})
	s.Partner(s.Program(), M{"email": "ada@example.com"})
	s.Must(200, asks(s, "ada@example.com", ""))
	b := browsertest.New(t, s.URL)
	b.Do(chromedp.EmulateViewport(390, 844))
	link := mailsTo(s, "ada@example.com")[0]
	b.Open("/portal?program=acme")
	b.Reads("Send me a link")
	b.Picture("door")
	b.Open(link)
	b.Reads("Press the button")
	b.Picture("page-link")
	b.Accessible("/portal", link, "/portal/sso/x")
}
