package console

import (
	"errors"
	"net/http"
	"time"

	"rail/server/http/console/oidc"
	"rail/server/problem"
	"rail/server/team"
)

var providerRoutes = map[string]route{
	"GET /console/oidc/start":   {do: toProvider, open: true},
	"GET /console/oidc":         {do: fromProvider, open: true},
	"POST /console/oidc/choose": {do: choose, open: true},
}

const tripCookie = "rail_console_trip"

// toProvider sends the browser to the OpenID provider, with a cookie that it has to bring back.
func toProvider(v *visit) error {
	if v.console.Provider == nil {
		return notFound(v)
	}
	address, state, err := v.console.Provider.Start(v.ctx())
	if err != nil {
		return err
	}
	v.SetCookie(v.providerCookie(state, int(oidc.Life/time.Second)))
	return v.Redirect(http.StatusFound, address)
}

// fromProvider signs in the person that the provider sends back. A person who is signed in with the same address is
// connected to the provider instead.
func fromProvider(v *visit) error {
	if v.console.Provider == nil {
		return notFound(v)
	}
	c, err := v.Cookie(tripCookie)
	if err != nil {
		return v.refuseSignIn(oidc.ErrRefused)
	}
	v.SetCookie(v.providerCookie("", -1))
	who, err := v.console.Provider.Finish(v.ctx(), c.Value, v.QueryParams())
	if err != nil {
		return v.refuseSignIn(err)
	}
	if v.identify() == nil && !v.session.User.OIDC {
		if err := v.console.People.ConnectOIDC(v.ctx(), v.unit(), who); err != nil {
			return v.again(err, account)
		}
		return v.done("/console/account", "Your provider is connected. You can now sign in with it.")
	}
	known, err := v.console.People.SignInOIDC(v.ctx(), who, v.console.FirstRole)
	if err != nil {
		return v.refuseSignIn(err)
	}
	if len(known.Entries) > 0 {
		return v.show(sheet{"choose", "", "Choose an organization", known})
	}
	return v.proceed(known.Challenge)
}

// choose signs in to the chosen organization.
func choose(v *visit) error {
	c, err := v.console.People.Choose(v.ctx(), v.value("choice"), v.value("organization"))
	if err != nil {
		return v.refuseSignIn(err)
	}
	return v.proceed(c)
}

// refuseSignIn shows the reason for a refused sign-in.
func (v *visit) refuseSignIn(err error) error {
	for _, why := range []error{
		oidc.ErrRefused, oidc.ErrUnverified, team.ErrNotInvited, team.ErrUnproven, team.ErrSignedOut,
	} {
		if errors.Is(err, why) {
			return v.again(problem.New(problem.ParameterInvalid, "%s", sentence(why)), signInPage)
		}
	}
	return err
}

// providerCookie returns the cookie for the way to the provider and back. It comes back from another site and is
// therefore Lax.
func (v *visit) providerCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: tripCookie, Value: value, Path: "/console/oidc", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: v.console.secure,
	}
}
