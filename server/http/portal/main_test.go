package portal_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// M is a JSON object.
type M = apitest.M

// cookieName is that of the session over https.
const cookieName = "__Host-rail_portal"

// browser is a partner at the portal, with a cookie and without JavaScript.
type browser struct {
	s      *apitest.Server
	cookie string
}

// link mints a sign-in link and returns its path.
func link(s *apitest.Server, partner string, body ...M) string {
	s.T.Helper()
	var sent any
	if len(body) > 0 {
		sent = body[0]
	}
	u, err := url.Parse(s.Must(200, s.Post("/v1/partners/"+partner+"/sso", sent)).String("url"))
	require.NoError(s.T, err)
	return u.Path
}

// visit asks for a page like a browser without a cookie.
func visit(s *apitest.Server, method, path string, headers ...string) apitest.Answer {
	s.T.Helper()
	return s.Do(method, path, "", nil, headers...)
}

// session is the cookie of an answer, or "".
func session(a apitest.Answer) string {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == cookieName {
			return c.Value
		}
	}
	return ""
}

// signIn opens the portal for a partner.
func signIn(s *apitest.Server, partner string) *browser {
	s.T.Helper()
	token := session(s.Must(303, visit(s, "GET", link(s, partner))))
	require.NotEmpty(s.T, token)
	return &browser{s, token}
}

// ask sends a request with the session's cookie.
func (b *browser) ask(method, path string, body any, headers ...string) apitest.Answer {
	b.s.T.Helper()
	return b.s.Do(method, path, "", body, append([]string{"Cookie", cookieName + "=" + b.cookie}, headers...)...)
}

// get returns the text of a page.
func (b *browser) get(path string) string {
	b.s.T.Helper()
	return string(b.s.Must(200, b.ask("GET", path, nil)).Raw)
}

var tokens = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// token is the token of the session's forms.
func (b *browser) token() string {
	b.s.T.Helper()
	found := tokens.FindStringSubmatch(b.get("/portal/settings"))
	require.Len(b.s.T, found, 2)
	return found[1]
}

// send submits a form; fields are pairs of a name and a value.
func (b *browser) send(path string, fields ...string) apitest.Answer {
	b.s.T.Helper()
	form := url.Values{"form_token": {b.token()}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.post(path, form)
}

func (b *browser) post(path string, form url.Values, headers ...string) apitest.Answer {
	b.s.T.Helper()
	return b.ask("POST", path, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// says fails the test unless the answer is a page with that status and text.
func (b *browser) says(status int, text string, a apitest.Answer) {
	b.s.T.Helper()
	b.s.Must(status, a)
	require.Contains(b.s.T, html.UnescapeString(string(a.Raw)), text)
}

// moved fails the test unless the answer sends the browser on.
func (b *browser) moved(to string, a apitest.Answer) {
	b.s.T.Helper()
	require.Equal(b.s.T, to, b.s.Must(303, a).Header.Get("Location"))
}

// audit returns the actions and reasons of a program's audit log, oldest first.
func audit(s *apitest.Server, program string) (actions, reasons []string, after []M) {
	s.T.Helper()
	for _, e := range s.Must(200, s.Get("/v1/audit_log_entries?program_id="+program)).Data() {
		require.Nil(s.T, e["api_key_id"])
		reason, _ := e["reason"].(string)
		change, _ := e["after"].(M)
		actions, reasons, after = append([]string{e["action"].(string)}, actions...), append([]string{reason}, reasons...), append([]M{change}, after...)
	}
	return actions, reasons, after
}

// countOf counts the events of a type.
func countOf(s *apitest.Server, program, kind string) (n int) {
	for _, k := range s.EventTypes(program) {
		if k == kind {
			n++
		}
	}
	return n
}

var paths = []string{
	"/portal", "/portal/links", "/portal/customers", "/portal/commissions", "/portal/payouts", "/portal/resources", "/portal/settings", "/portal/postback",
	"/portal/assistants",
}
