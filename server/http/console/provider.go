package console

import (
	"errors"
	"net/http"

	"rail/server/http/console/oidc"
	"rail/server/http/site"
	"rail/server/problem"
	"rail/server/team"
)

var providerRoutes = map[string]route{
	"GET /console/oidc/start":   {Do: toProvider, Open: true},
	"GET /console/oidc":         {Do: fromProvider, Open: true},
	"POST /console/oidc/choose": {Do: choose, Open: true},
}

// toProvider sends the browser to the OpenID provider, with a cookie that it has to bring back.
func toProvider(v *visit) error {
	if v.console.Provider == nil {
		return site.NotFound()
	}
	address, state, err := v.console.Provider.Start(v.Ctx())
	if err != nil {
		return err
	}
	v.console.trip.Set(v, state, oidc.Life)
	return v.Redirect(http.StatusFound, address)
}

// fromProvider signs in the person that the provider sends back. A person who is signed in with the same address is
// connected to the provider instead.
func fromProvider(v *visit) error {
	if v.console.Provider == nil {
		return site.NotFound()
	}
	state := v.console.trip.Value(v)
	if state == "" {
		return v.refuseSignIn(oidc.ErrRefused)
	}
	v.console.trip.Clear(v)
	identity, err := v.console.Provider.Finish(v.Ctx(), state, v.QueryParams())
	if err != nil {
		return v.refuseSignIn(err)
	}
	if v.Identify() == nil && !v.session.User.OIDC {
		if err := v.console.People.ConnectOIDC(v.Ctx(), v.unit(), identity); err != nil {
			return v.again(err, account)
		}
		return v.done("/console/account", "Your provider is connected. You can now sign in with it.")
	}
	signIn, err := v.console.People.SignInOIDC(v.Ctx(), identity, v.console.FirstRole)
	if err != nil {
		return v.refuseSignIn(err)
	}
	if len(signIn.Entries) > 0 {
		return v.show(sheet{"choose", "", "Choose an organization", signIn})
	}
	return v.proceed(signIn.Challenge)
}

// choose signs in to the chosen organization.
func choose(v *visit) error {
	c, err := v.console.People.Choose(v.Ctx(), v.value("choice"), v.value("organization"))
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
