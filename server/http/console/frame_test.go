package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"rail/server/harness/apitest"
	"rail/server/harness/wait"
	"rail/server/team"
)

// TestPages opens every page that needs no object, as each role.
func TestPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, role := range team.Roles {
		p := s.person(s.Org, role)
		for _, path := range []string{
			"", "/setup", "/settings", "/groups", "/log", "/console/account", "/console/team", "/console/new",
		} {
			page := p.page(path)
			require.Contains(t, page, `<a class="skip" href="#main">`, path)
			require.Contains(t, page, "<h1>", path)
			require.Less(t, len(page), 40_000, path)
		}
	}
	s.owner.says(403, "Your role cannot do this", s.person(s.Org, team.Manager).ask("GET", s.at+"/keys", nil))
}

// TestStrangers checks that another organization's program is a 404 on every page and form.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	stranger := s.person(s.NewOrg("Other"), team.Owner)
	for _, path := range []string{"", "/setup", "/settings", "/groups", "/log", "/log.csv", "/keys"} {
		stranger.says(404, "Page not found", stranger.ask("GET", s.at+path, nil))
	}
	for _, path := range []string{"/settings", "/groups", "/tags", "/keys"} {
		stranger.says(404, "Page not found", stranger.send(path, "name", "Mine"))
	}
	stranger.says(404, "Page not found", stranger.send("/console/team/"+s.owner.ID+"/remove"))
	require.Contains(t, s.owner.page("/console/team"), s.owner.Email)
	require.NotContains(t, stranger.page("/console/team"), s.owner.Email)
}

// TestSignedOut: without a session every page leads to the sign-in, which leads back.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nobody := &person{s, team.User{}, strings.Repeat("A", 26)}
	a := s.Must(303, nobody.ask("GET", s.at+"/settings?x=1", nil))
	require.Equal(t, "/console/sign-in?next="+url.QueryEscape(s.at+"/settings?x=1"), a.Header.Get("Location"))
	s.Must(303, s.Do("GET", "/console", "", nil))
	s.Must(303, s.Do("POST", s.at+"/settings", "", "name=x", "Content-Type", "application/x-www-form-urlencoded"))
	// Only a page of the console is led to.
	signIn := func(next string) string {
		form := url.Values{"form_token": {nobody.formToken()}, "email": {s.owner.Email}, "password": {password}, "next": {next}}
		a := s.Do("POST", "/console/sign-in", "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
		return s.Must(303, a).Header.Get("Location")
	}
	require.Equal(t, s.at+"/settings?x=1", signIn(s.at+"/settings?x=1"))
	for _, inside := range []string{"/console/", "/console/account", "/console/team?a=../x", s.at + "/settings/"} {
		require.Equal(t, inside, signIn(inside))
	}
	for _, elsewhere := range []string{
		"https://evil.example/console/", "//evil.example/console/", "/v1/programs", "", "console",
		"/console/../r/8sT99yL", "/console/..", "/console/x/../../portal/sso/x", "/console/./../r/x", "/console//../r/x",
		"/console/%2e%2e/r/x", "/console/%2E./r/x", "/console/..%2fr/x", "/console/..%5cr/x", `/console/..\r/x`, `/console/\..\r`,
		"/console/%252e%252e/r/x", "/console//evil.example", "///console/x", "/console/..;/r/x%00",
	} {
		require.Equal(t, "/console", signIn(elsewhere))
	}
}

// formToken is the token of a form before signing in.
func (p *person) formToken() string {
	p.T.Helper()
	return tokens.FindStringSubmatch(string(p.Do("GET", "/console/sign-in", "", nil).Raw))[1]
}

// TestForgeries: a form of another origin, or without the session's token, changes nothing.
func TestForgeries(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := url.Values{"name": {"Forged"}}
	kind := []string{"Content-Type", "application/x-www-form-urlencoded"}
	s.owner.says(403, "This was not sent from your page", s.owner.ask("POST", s.at+"/settings", form.Encode(), kind...))
	other := s.person(s.Org, team.Owner)
	form.Set("form_token", tokens.FindStringSubmatch(other.page("/console/account"))[1])
	s.owner.says(403, "This was not sent from your page", s.owner.ask("POST", s.at+"/settings", form.Encode(), kind...))
	s.owner.says(403, "This was not sent from your page", other.ask("POST", s.at+"/settings", form.Encode(),
		append(kind, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")...))
	require.NotEqual(t, "Forged", s.Must(200, s.Get("/v1/programs/"+s.program)).String("name"))
}

// TestSettings sends a form as the body of an operation and finds refusals beside their fields.
func TestSettings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	notice := s.owner.done(s.owner.send("/settings", "name", "Renamed", "min_payout_minor", "12,5", "cookie_days", "45",
		"terms_url", "", "boxes", "require_tax_forms", "require_tax_forms", "on"))
	require.Equal(t, "The settings are saved.", notice)
	now := s.Must(200, s.Get("/v1/programs/"+s.program))
	require.Equal(t, "Renamed", now.String("name"))
	require.EqualValues(t, 1250, now.Int("min_payout_minor"))
	require.Equal(t, true, now.Body["require_tax_forms"])
	for _, days := range []string{"", "7"} {
		s.owner.done(s.owner.send("/settings", "name", "Renamed", "lead_match_days", days))
		require.Regexp(t, `name="lead_match_days"[^>]* value="`+days+`"`, s.owner.page("/settings"))
	}
	empty := s.owner.send("/settings", "name", "Renamed", "min_payout_minor", "")
	require.Equal(t, 400, empty.Status, "an emptied number keeps its value in the API, so it is refused")
	require.Contains(t, string(empty.Raw), `aria-invalid="true"`)
	refused := s.owner.send("/settings", "name", "Renamed again", "cookie_days", "0", "min_payout_minor", "ten")
	require.GreaterOrEqual(t, refused.Status, 400)
	require.Contains(t, string(refused.Raw), `value="Renamed again"`)
	require.Contains(t, string(refused.Raw), `aria-invalid="true"`)
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send("/settings", "name", "No"))
	entry := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+s.program)).Data()[0]
	require.Equal(t, "person", entry["actor_type"])
	require.Equal(t, s.owner.ID, entry["actor_id"])
	require.Contains(t, s.owner.page("/log"), s.owner.Name)
}

// TestOnce: a form that is sent twice counts once.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	form := url.Values{
		"form_token": {tokens.FindStringSubmatch(s.owner.page("/console/account"))[1]}, "once": {"one key"}, "name": {"Once"},
	}
	for range 2 {
		s.Must(303, s.owner.ask("POST", s.at+"/groups", form.Encode(), "Content-Type", "application/x-www-form-urlencoded"))
	}
	groups := s.Must(200, s.Get("/v1/groups?program_id="+s.program))
	require.EqualValues(t, 2, groups.Int("total_count"), "the default one and Once")
}

// TestKeys: a key is shown once, works, and is revoked.
func TestKeys(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	answer := s.owner.send("/keys", "scopes", "read", "scopes", "partners:write")
	s.Must(200, answer)
	token := keyForm.FindString(string(answer.Raw))
	require.NotEmpty(t, token)
	s.Must(200, s.Do("GET", "/v1/programs", token, nil))
	require.NotContains(t, s.owner.page("/keys"), token)
	s.owner.says(400, "is required", s.owner.send("/keys"))
	two := s.owner.send("/resources", "title", strings.Repeat("x", 300), "group_ids", "x",
		"url", "https://shop.example")
	require.Equal(t, 400, two.Status)
	require.NotContains(t, string(two.Raw), "Also at fault", "a message is beside one field")
	id := s.Must(200, s.Get("/v1/audit_log_entries?program_id="+s.program)).Data()
	require.Empty(t, id, "an organization's keys are no change of its program")
	found := keyRevoke.FindAllStringSubmatch(s.owner.page("/keys"), -1)
	require.NotEmpty(t, found)
	s.owner.done(s.owner.send("/keys/" + found[0][1] + "/revoke"))
	wait.Until(t, func() bool { return s.Do("GET", "/v1/programs", token, nil).Status == 401 }, "the key is refused")
	formToken := tokens.FindStringSubmatch(s.owner.page("/console/account"))[1]
	twice := url.Values{"form_token": {formToken}, "once": {"the same form"}, "scopes": {"read"}}.Encode()
	answers := make(chan apitest.Answer, 2)
	for range cap(answers) {
		go func() {
			answers <- s.owner.ask("POST", s.at+"/keys", twice, "Content-Type", "application/x-www-form-urlencoded")
		}()
	}
	first, second := <-answers, <-answers
	require.ElementsMatch(t, []int{200, 400}, []int{first.Status, second.Status})
	s.owner.says(400, "This form was sent before", s.owner.ask("POST", s.at+"/keys", twice, "Content-Type", "application/x-www-form-urlencoded"))
}

// TestSecondFactor turns it on, signs in by it, and turns it off by a recovery code.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	page := s.Must(200, s.owner.send("/console/account/factor"))
	address := otpAddress.FindStringSubmatch(s.owner.unescaped(page))[1]
	u, err := url.Parse(address)
	require.NoError(t, err)
	code := func() string {
		code, err := totp.GenerateCode(u.Query().Get("secret"), s.Clock.Now().Time)
		require.NoError(t, err)
		return code
	}
	wrong := s.owner.send("/console/account/factor/confirm", "code", "0000000", "address", address)
	require.Contains(t, s.owner.unescaped(wrong), address, "the same secret is shown again")
	on := s.Must(200, s.owner.send("/console/account/factor/confirm", "code", code(), "address", address))
	_, shown, _ := strings.Cut(string(on.Raw), "<h1>Recovery codes")
	recovery := recoveryCode.FindString(shown)
	require.NotEmpty(t, recovery)
	s.Clock.Advance(time.Minute)
	nobody := &person{s, s.owner.User, ""}
	answer := nobody.before("/console/sign-in", "email", s.owner.Email, "password", password)
	s.owner.says(200, "Six digits", answer)
	challenge := challenges.FindStringSubmatch(string(answer.Raw))[1]
	s.owner.says(400, "This code is wrong", nobody.before("/console/code", "challenge", challenge, "code", "1234567"))
	s.Must(303, nobody.before("/console/code", "challenge", challenge, "code", code()))
	require.Equal(t, "The second factor is off.", s.owner.done(s.owner.send("/console/account/factor/drop", "code", recovery)))
}

// before sends a form without a session.
func (p *person) before(path string, fields ...string) apitest.Answer {
	p.T.Helper()
	form := url.Values{"form_token": {p.formToken()}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return p.Do("POST", path, "", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// TestPeople invites a person, who joins, becomes a viewer, and is removed.
func TestPeople(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	invited := s.Must(200, s.owner.send("/console/team/invite", "email", "new@shop.example", "role", "manager"))
	link := invitation.FindString(string(invited.Raw))
	require.NotEmpty(t, link)
	s.Must(200, s.Do("GET", link, "", nil)) // looking uses nothing up
	nobody := &person{s, team.User{}, ""}
	nobody.says(400, "password", nobody.before(link, "name", "New", "password", "short"))
	s.Must(303, nobody.before(link, "name", "New Person", "password", password))
	nobody.says(410, "This link no longer works", nobody.before(link, "name", "New Person", "password", password))
	page := s.owner.page("/console/team")
	require.Contains(t, page, "New Person")
	var id string
	users, err := s.people.Users(t.Context(), s.ownerUnit())
	require.NoError(t, err)
	for _, u := range users {
		if u.Email == "new@shop.example" {
			id = u.ID
		}
	}
	require.Equal(t, "The role is changed.", s.owner.done(s.owner.send("/console/team/"+id+"/role", "role", "viewer")))
	refused := string(s.owner.send("/console/team/invite", "email", "no address", "role", "owner").Raw)
	require.Contains(t, refused, `<option value="viewer" selected`, "the role of another form")
	require.Equal(t, "This person is removed.", s.owner.done(s.owner.send("/console/team/"+id+"/remove")))
	s.owner.says(409, "owner", s.owner.send("/console/team/"+s.owner.ID+"/role", "role", "viewer"))
	viewer := s.person(s.Org, team.Viewer)
	viewer.says(403, "Your role cannot do this", viewer.send("/console/team/invite", "email", "x@shop.example", "role", "owner"))
}

// TestTrySettings shows who would have got the customers of the last 90 days with the typed settings, and saves nothing.
func TestTrySettings(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Flow(s.program)
	ada := s.Partner(s.program, M{"handle": "ada", "company_name": "Ada L."})
	bob := s.Partner(s.program, M{"handle": "bob"})
	s.Click(s.program, "ada", M{"visitor_token": "visitor-0001"})
	click := s.Click(s.program, "bob", M{"visitor_token": "visitor-0001"}).String("id")
	k := s.Must(201, s.Post("/v1/customers", M{"program_id": s.program, "click_id": click})).String("id")
	s.Sale(s.program, k, M{"amount_minor": 10000})
	typed := []string{"name", "Typed", "attribution_model", "first", "cookie_days", "30", "do", "rehearse"}
	viewer := s.person(s.Org, team.Viewer)
	for _, who := range []*person{s.owner, viewer} {
		page := string(s.Must(200, who.send("/settings", typed...)).Raw)
		require.Contains(t, page, "1 of 1 customers would have another partner.")
		require.Contains(t, page, `/partners/`+ada+`">Ada L.</a>`)
		require.Contains(t, page, `/partners/`+bob+`">bob</a>`)
		require.Contains(t, page, "−20.00 USD")
		require.Contains(t, page, `value="Typed"`)
	}
	page := string(s.Must(200, s.owner.send("/settings", "attribution_model", "last", "do", "rehearse")).Raw)
	require.Contains(t, page, "All 1 customers would keep their partner.")
	page = string(s.Must(400, s.owner.send("/settings", "cookie_days", "0", "do", "rehearse")).Raw)
	require.Contains(t, page, `aria-invalid="true"`)
	stored := s.Must(200, s.Get("/v1/programs/"+s.program))
	require.Equal(t, "last", stored.String("attribution_model"))
	require.NotEqual(t, "Typed", stored.String("name"))
}
