package console_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/app/config"
	"rail/server/harness/apitest"
	"rail/server/http/site"
	"rail/server/team"
)

// TestMailLinkTiming checks that an unknown address gets its answer no earlier than a known one.
func TestMailLinkTiming(t *testing.T) {
	t.Parallel()
	api := apitest.New(t, func(c *config.Config) { c.SMTPURL, c.MailFrom = "smtp://127.0.0.1:1", "rail@shop.example" })
	s := newSiteOf(api, api.Program())
	nobody := &person{s, team.User{}, ""}
	for _, email := range []string{s.owner.Email, "nobody@shop.example", "no address"} {
		begun := time.Now()
		nobody.says(200, "Check your inbox", nobody.before("/console/mail-link", "email", email, "kind", "sign_in"))
		require.GreaterOrEqual(t, time.Since(begun), site.Even)
	}
}

// TestKnownBrowser: ten wrong passwords keep strangers out of an account, and not the browser in
// which its person has signed in before.
func TestKnownBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nobody := &person{s, team.User{}, ""}
	in := nobody.before("/console/sign-in", "email", s.owner.Email, "password", password)
	s.Must(303, in)
	cookie := ""
	for _, c := range (&http.Response{Header: in.Header}).Cookies() {
		if c.Name == cookieName+"_browser" {
			require.True(t, c.HttpOnly && c.Secure && c.MaxAge > 30*24*3600)
			cookie = c.Name + "=" + c.Value
		}
	}
	require.NotEmpty(t, cookie)
	for range 10 {
		nobody.says(400, "is wrong", nobody.before("/console/sign-in", "email", s.owner.Email, "password", "not the one"))
	}
	nobody.says(429, "Too many attempts", nobody.before("/console/sign-in", "email", s.owner.Email, "password", password))
	form := url.Values{"form_token": {nobody.formToken()}, "email": {s.owner.Email}, "password": {password}}
	s.Must(303, s.Do("POST", "/console/sign-in", "", form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie))
}
