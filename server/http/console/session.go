package console

import (
	"net/http"
	"regexp"
	"time"

	"rail/server/team"
)

// sessionLife is the lifetime of the cookie; package team ends the session.
const sessionLife = 14 * 24 * time.Hour

// tokenForm is the form of a session's token.
var tokenForm = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// cookie carries the session's token. SameSite is Lax: people come from links in mails.
func (c *Console) cookie(token string, age int) *http.Cookie {
	k := &http.Cookie{
		Name: c.cookieName(), Value: token, Path: "/console", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if c.secure {
		k.Path, k.Secure = "/", true
	}
	return k
}

// rememberedName names the cookie of a browser that has signed in before. It grants no access.
func (c *Console) rememberedName() string { return c.cookieName() + "_browser" }

// remembered returns that cookie.
func (c *Console) remembered(token string) *http.Cookie {
	k := c.cookie(token, int(team.RememberedLife/time.Second))
	k.Name = c.rememberedName()
	return k
}

// from returns the origin of a sign-in.
func (v *visit) from() team.From {
	from := team.From{Address: v.console.Address(v)}
	if c, err := v.Cookie(v.console.rememberedName()); err == nil {
		from.Browser = c.Value
	}
	return from
}

// cookieName has the prefix __Host- over https: browsers take such a cookie only with Secure, from the
// host itself, and for the path "/".
func (c *Console) cookieName() string {
	if c.secure {
		return "__Host-rail_console"
	}
	return "rail_console"
}
