package console_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/team"
)

// TestKnownBrowser: ten wrong passwords keep strangers out of an account, and not the browser in
// which its person has signed in before.
func TestKnownBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	nobody := &person{s, team.User{}, ""}
	in := nobody.before("/console/sign-in", "email", s.owner.Email, "password", password)
	s.Must(303, in)
	known := ""
	for _, c := range (&http.Response{Header: in.Header}).Cookies() {
		if c.Name == cookieName+"_browser" {
			require.True(t, c.HttpOnly && c.Secure && c.MaxAge > 30*24*3600)
			known = c.Name + "=" + c.Value
		}
	}
	require.NotEmpty(t, known)
	for range 10 {
		nobody.says(400, "is wrong", nobody.before("/console/sign-in", "email", s.owner.Email, "password", "not the one"))
	}
	nobody.says(429, "Too many attempts", nobody.before("/console/sign-in", "email", s.owner.Email, "password", password))
	form := url.Values{"form_token": {nobody.formToken()}, "email": {s.owner.Email}, "password": {password}}
	s.Must(303, s.Do("POST", "/console/sign-in", "", form.Encode(),
		"Content-Type", "application/x-www-form-urlencoded", "Cookie", known))
}
