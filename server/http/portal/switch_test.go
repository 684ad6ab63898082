package portal_test

import (
	"html"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
)

var placeButton = regexp.MustCompile(`name="to" value="([^"]+)"`)

// places are the partners that a session offers in the header.
func (b *browser) places() (ids []string) {
	b.s.T.Helper()
	for _, found := range placeButton.FindAllStringSubmatch(b.get("/portal/links"), -1) {
		ids = append(ids, found[1])
	}
	return ids
}

// switches opens another program and takes the cookie.
func (b *browser) switches(to string) apitest.Answer {
	b.s.T.Helper()
	a := b.send("/portal/switch", "to", to)
	if now := session(a); now != "" {
		b.cookie = now
	}
	return a
}

// proven signs in with a link that is mailed to an address of a partner of the program.
func proven(s *apitest.Server, email, program string) *browser {
	s.T.Helper()
	s.Must(200, asks(s, email, program))
	paths := mailsTo(s, email)
	require.NotEmpty(s.T, paths)
	return &browser{s, session(s.Must(303, visit(s, "POST", paths[len(paths)-1])))}
}

// twoOrganizations has a partner with the same address in each, and a stranger in the second.
func twoOrganizations(t *testing.T) (s *apitest.Server, programs [2]string, ada [2]string, stranger string) {
	t.Helper()
	s = mailing(t)
	programs[0] = s.Program(M{"name": "Northwind"})
	ada[0] = s.Partner(programs[0], M{"email": "ada@example.com"})
	key := s.Key
	s.Key = s.NewKey(s.NewOrg("Other"), true, "read", "write")
	programs[1] = s.Program(M{"name": "Contoso <&>", "payout_methods": []string{"paypal"}})
	ada[1] = s.Partner(programs[1], M{"email": "Ada@Example.com"})
	stranger = s.Partner(programs[1], M{"email": "bob@example.com"})
	s.Key = key
	return s, programs, ada, stranger
}

// TestSwitch opens the program of another organization with one sign-in, and returns.
func TestSwitch(t *testing.T) {
	t.Parallel()
	s, programs, ada, stranger := twoOrganizations(t)
	b := proven(s, "ada@example.com", programs[0])
	require.Equal(t, []string{ada[1]}, b.places())
	require.Contains(t, html.UnescapeString(b.get("/portal")), "Contoso <&>")
	first := b.cookie
	s.Clock.Advance(time.Hour)
	b.moved("/portal", b.switches(ada[1]))
	require.NotEqual(t, first, b.cookie)
	require.Contains(t, b.get("/portal"), `<p class="brand">Contoso &lt;&amp;&gt;`)
	require.Equal(t, []string{ada[0]}, b.places())
	(&browser{s, first}).says(401, "sign-in link", (&browser{s, first}).ask("GET", "/portal", nil))
	for _, to := range []string{stranger, ada[1] + "x", "", "part_none"} {
		b.says(404, "Page not found", b.switches(to))
	}
	require.Contains(t, b.get("/portal"), "Contoso", "the session stays")

	s.Clock.Advance(12 * time.Hour)
	b.says(403, "Please sign in again", b.send("/portal/settings/payout", "method", "paypal", "email", "a@example.com"))
	b.moved("/portal", b.switches(ada[0]))
	s.Must(200, s.Post("/v1/partners/"+ada[0], M{"status": "suspended"}))
	b.says(401, "", b.ask("GET", "/portal", nil))
}

// TestSwitchNeedsTheAddress offers no other program to sessions that have not proven the address, or long ago.
func TestSwitchNeedsTheAddress(t *testing.T) {
	t.Parallel()
	s, programs, ada, _ := twoOrganizations(t)
	refused := func(b *browser, why string) {
		t.Helper()
		require.Empty(t, b.places(), why)
		b.says(404, "Page not found", b.switches(ada[1]))
	}
	refused(signIn(s, ada[0]), "a link that the program made")
	eve := s.Partner(programs[0], M{"email": "eve@example.com"})
	s.Must(200, asks(s, "eve@example.com", programs[0]))
	address := func(partner, email string) {
		_, err := s.Pool.Exec(t.Context(), "UPDATE partners SET email = $2 WHERE id = $1", partner, email)
		require.NoError(t, err)
	}
	address(ada[0], "ada@elsewhere.example")
	address(eve, "ada@example.com")
	refused(&browser{s, session(s.Must(303, visit(s, "POST", mailsTo(s, "eve@example.com")[0])))},
		"the program gave the partner another address after the mail")

	address(eve, "eve@example.com")
	address(ada[0], "ada@example.com")
	b := proven(s, "ada@example.com", programs[0])
	require.Len(t, b.places(), 1)
	for range 31 {
		s.Clock.Advance(24 * time.Hour)
		b.get("/portal") // extends the session
	}
	refused(b, "a sign-in of a month ago")
}

// TestSwitchOnlyToActive offers no partner that is not active.
func TestSwitchOnlyToActive(t *testing.T) {
	t.Parallel()
	s := mailing(t)
	program, other := s.Program(), s.Program()
	s.Partner(program, M{"email": "ada@example.com"})
	second := s.Partner(other, M{"email": "ada@example.com"})
	b := proven(s, "ada@example.com", program)
	require.Equal(t, []string{second}, b.places())
	s.Must(200, s.Post("/v1/partners/"+second, M{"status": "suspended"}))
	require.Empty(t, b.places())
	b.says(404, "Page not found", b.switches(second))
	b.says(403, "", b.post("/portal/switch", map[string][]string{"form_token": {"forged"}, "to": {second}}))
}

// TestLanguageInFooter saves the partner's language with a button in the footer, and shows the same page in it.
func TestLanguageInFooter(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	partner := s.Partner(s.Program())
	b := signIn(s, partner)
	require.Contains(t, b.get("/portal"), `value="de" lang="de"`)
	form := map[string][]string{"form_token": {b.token()}, "language": {"de"}}
	b.moved("/portal/links?after=x", b.post("/portal/language", form, "Referer", "https://rail.example/portal/links?after=x"))
	require.Contains(t, b.get("/portal"), `<html lang="de">`)
	require.Equal(t, "de", s.Get("/v1/partners/"+partner).String("language_code"))
	for _, from := range []string{"https://evil.example/x", "https://evil.example//portal/", "", "x:%"} {
		b.moved("/portal", b.post("/portal/language", form, "Referer", from))
	}
	out := string(visit(s, "GET", "/portal?language=ja", "Accept-Language", "de").Raw)
	require.Contains(t, out, `<html lang="ja">`)
	require.Contains(t, b.get("/portal?language=ja"), `<html lang="de">`, "the partner's choice counts")
}
