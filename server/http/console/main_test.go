package console_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/pgtest"
	"rail/server/secret"
	"rail/server/team"
	"rail/server/work"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// M is a JSON object.
type M = apitest.M

// cookieName is that of the session over https.
const cookieName = "__Host-rail_console"

// password is the password of all test users.
const password = "a long one for tests"

// fixture is a server with a program of one organization.
type fixture struct {
	*apitest.Server
	program string
	at      string // the address of the program's pages
	people  *team.Service
	owner   *person
}

// newSite starts a server with a program and its owner, who is signed in.
func newSite(t *testing.T) *fixture {
	t.Helper()
	s := apitest.New(t)
	return newSiteOf(s, s.Program())
}

// newSiteOf is a server with one of its programs.
func newSiteOf(s *apitest.Server, program string) *fixture {
	s.T.Helper()
	keeper, err := secret.New(s.Config.SecretKey)
	require.NoError(s.T, err)
	people := team.New(team.Service{Pool: s.Pool, Keeper: keeper, Clock: s.Clock, BaseURL: s.Config.BaseURL})
	out := &fixture{s, program, "/console/p/" + program, people, nil}
	out.owner = out.person(s.Org, team.Owner)
	return out
}

// ownerUnit is a unit of work of the owner's.
func (s *fixture) ownerUnit() *work.Unit {
	return work.NewRun(s.Pool, work.Actor{Kind: work.Person, ID: s.owner.ID, User: s.owner.ID}, s.Clock.Now()).For(s.Org)
}

// person is a user of the console, with a cookie and without JavaScript.
type person struct {
	*fixture
	team.User
	token string // of the session
}

// person creates a user of an organization and signs them in.
func (s *fixture) person(org string, role team.Role) *person {
	s.T.Helper()
	u := work.NewRun(s.Pool, work.Actor{Kind: work.Operator}, s.Clock.Now()).For(org)
	name := apitest.Unique("Person ")
	user, link, err := s.people.Create(s.T.Context(), u, team.NewUser{
		Email: strings.ReplaceAll(strings.ToLower(name), " ", "") + "@shop.example", Name: name, Role: role,
	})
	require.NoError(s.T, err)
	c, err := s.people.Reset(s.T.Context(), path.Base(link), password)
	require.NoError(s.T, err)
	token, err := s.people.Begin(s.T.Context(), c, "test", "127.0.0.1")
	require.NoError(s.T, err)
	return &person{s, user, token}
}

// ask sends a request with the session's cookie.
func (p *person) ask(method, path string, body any, headers ...string) apitest.Answer {
	p.T.Helper()
	return p.Do(method, path, "", body, append([]string{"Cookie", cookieName + "=" + p.token}, headers...)...)
}

// page returns the text of a page; a path that does not begin with /console is of the program.
func (p *person) page(path string) string {
	p.T.Helper()
	text := html.UnescapeString(string(p.Must(200, p.ask("GET", p.full(path), nil)).Raw))
	require.NotContains(p.T, text, "<nil>", path)
	require.NotRegexp(p.T, `\b0xc[0-9a-f]{9}\b`, text, path) // a pointer
	return text
}

// full is a path of the program's pages as a whole.
func (p *person) full(path string) string {
	if strings.HasPrefix(path, "/console") {
		return path
	}
	return p.at + path
}

var tokens = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// send submits a form; fields are pairs of a name and a value.
func (p *person) send(path string, fields ...string) apitest.Answer {
	p.T.Helper()
	found := tokens.FindStringSubmatch(string(p.ask("GET", "/console/account", nil).Raw))
	require.Len(p.T, found, 2)
	form := url.Values{"form_token": {found[1]}, "once": {apitest.Unique("once")}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return p.ask("POST", p.full(path), form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// done fails the test unless the form did what it is for, and returns the sentence that the next page begins with.
func (p *person) done(a apitest.Answer) string {
	p.T.Helper()
	found := regexp.MustCompile(`(?s)<p class="flash" role="status">(.*?)</p>`).FindStringSubmatch(p.next(a))
	require.Len(p.T, found, 2, "nothing was said")
	return html.UnescapeString(found[1])
}

// next returns the page to which a form leads.
func (p *person) next(a apitest.Answer) string {
	p.T.Helper()
	p.Must(303, a)
	jar := []string{}
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		jar = append(jar, c.Name+"="+c.Value)
	}
	next := p.Do("GET", a.Header.Get("Location"), "", nil, "Cookie", cookieName+"="+p.token+"; "+strings.Join(jar, "; "))
	return string(p.Must(200, next).Raw)
}

// says fails the test unless the answer is a page with that status and text.
func (p *person) says(status int, text string, a apitest.Answer) {
	p.T.Helper()
	require.Contains(p.T, html.UnescapeString(string(p.Must(status, a).Raw)), text)
}

// quoted is a text as one of JavaScript.
func quoted(text string) string {
	raw, _ := json.Marshal(text) // a text always is JSON
	return string(raw)
}

var (
	keyForm      = regexp.MustCompile(`rail_live_[0-9A-Za-z]{38}`)
	keyRevoke    = regexp.MustCompile(`/keys/(key_[0-9a-z]+)/revoke`)
	otpAddress   = regexp.MustCompile(`name="address" value="([^"]+)"`)
	recoveryCode = regexp.MustCompile(`(?i)[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}-[a-z0-9]{4}`)
	challenges   = regexp.MustCompile(`name="challenge" value="([^"]+)"`)
	invitation   = regexp.MustCompile(`/console/invitation/[A-Za-z0-9_-]+`)
)

// unescaped is the text of an answer.
func (p *person) unescaped(a apitest.Answer) string { return html.UnescapeString(string(a.Raw)) }
