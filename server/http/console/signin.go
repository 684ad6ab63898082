package console

import (
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"rail/server/http/site"
	"rail/server/problem"
	"rail/server/team"
)

// The ways to sign in: an address with a password and, if enabled, a second factor; a link by email; an OpenID
// provider; and the one-time links of invitations, resets and a first run. Opening a link shows a button, and only
// the button uses the link, so that mail scanners do not use it up.

var signInRoutes = map[string]route{
	"GET /console/sign-in":             {Do: signInPage, Open: true},
	"POST /console/sign-in":            {Do: signIn, Open: true},
	"POST /console/code":               {Do: giveCode, Open: true},
	"POST /console/mail-link":          {Do: mailLink, Open: true},
	"POST /console/sign-out":           {Do: signOut},
	"GET /console/link/{token}":        {Do: linkPage, Open: true},
	"POST /console/link/{token}":       {Do: useLink, Open: true},
	"GET /console/start/{token}":       {Do: linkPage, Open: true},
	"POST /console/start/{token}":      {Do: useLink, Open: true},
	"GET /console/invitation/{token}":  {Do: linkPage, Open: true},
	"POST /console/invitation/{token}": {Do: useLink, Open: true},
	"GET /console/password/{token}":    {Do: linkPage, Open: true},
	"POST /console/password/{token}":   {Do: useLink, Open: true},
}

// signInData holds the data of the sign-in page.
type signInData struct {
	Next     string
	Mail     bool   // links by mail can be sent
	Provider string // the name of the OpenID provider; "" for none
}

// signInPage asks for the address and the password.
func signInPage(v *visit) error {
	data := signInData{Next: next(v), Mail: v.console.People.Mail.Ready(), Provider: v.providerName()}
	return v.show(sheet{"sign-in", "", "Sign in", data})
}

// providerName returns the name of the OpenID provider; "" for none.
func (v *visit) providerName() string {
	if v.console.Provider == nil {
		return ""
	}
	return v.console.Provider.Name()
}

// next returns the console page requested before signing in, or "".
func next(v *visit) string {
	address := v.QueryParam("next")
	if v.Form != nil {
		address = v.value("next")
	}
	to, err := url.Parse(address)
	if err != nil || to.Host != "" || to.Scheme != "" || !strings.HasPrefix(to.Path, "/console/") {
		return ""
	}
	// Browsers resolve dots before they ask, also escaped ones, and read a backslash as a slash. No page's path
	// has any of them.
	if to.EscapedPath() != to.Path || strings.TrimSuffix(to.Path, "/") != path.Clean(to.Path) {
		return ""
	}
	return to.RequestURI()
}

// signIn takes the address and the password.
func signIn(v *visit) error {
	c, err := v.console.People.SignIn(v.Ctx(), v.value("email"), url.Values(v.Form).Get("password"), v.from())
	if errors.Is(err, team.ErrWrong) {
		err = problem.New(problem.ParameterInvalid, "The address or the password is wrong.")
	}
	if err != nil {
		return v.again(err, signInPage)
	}
	return v.proceed(c)
}

// proceed asks for the second factor where it is on, and begins the session otherwise.
func (v *visit) proceed(c team.Challenge) error {
	if c.Ready() {
		return v.begin(c)
	}
	return v.show(sheet{"code", "", "Your code", codeData{c.Token, next(v)}})
}

// codeData holds the data of the second factor's page.
type codeData struct{ Challenge, Next string }

// giveCode takes the second factor's code.
func giveCode(v *visit) error {
	challenge := v.value("challenge")
	c, err := v.console.People.Factor(v.Ctx(), challenge, v.value("code"), v.from())
	if errors.Is(err, team.ErrWrong) {
		err = problem.On("code", problem.ParameterInvalid, "This code is wrong, or was used before.")
	}
	if err != nil {
		return v.again(err, func(v *visit) error {
			return v.show(sheet{"code", "", "Your code", codeData{challenge, next(v)}})
		})
	}
	return v.begin(c)
}

// begin begins the session of an authenticated person.
func (v *visit) begin(c team.Challenge) error {
	token, err := v.console.People.Begin(v.Ctx(), c, v.Request().UserAgent(), v.console.Address(v))
	if err != nil {
		return err
	}
	browser, err := v.console.People.Remember(c)
	if err != nil {
		return err
	}
	v.console.cookie.Set(v, token, sessionLife)
	v.console.remembered.Set(v, browser, team.RememberedLife)
	to := next(v)
	if to == "" {
		to = "/console"
	}
	return v.Redirect(http.StatusSeeOther, to)
}

// mailLink emails a link for signing in or for a new password. The response and its time are the same for an unknown
// address.
func mailLink(v *visit) error {
	kind := team.SignInLink
	if v.value("kind") == string(team.ResetLink) {
		kind = team.ResetLink
	}
	err := site.Evenly(func() error {
		return v.console.People.LinkByMail(v.Ctx(), kind, v.value("email"), v.from())
	})
	if err != nil {
		return v.again(err, signInPage)
	}
	return v.note(http.StatusOK, "Check your inbox",
		"If this address belongs to a user, we’ve sent a link. It works once.")
}

// signOut ends the session, so that a copied cookie ends with it.
func signOut(v *visit) error {
	if err := v.console.People.End(v.Request().Context(), v.Token); err != nil {
		return err
	}
	v.console.cookie.Clear(v)
	v.Token = ""
	return v.note(http.StatusOK, "You are signed out", "To come back, sign in again.")
}

// linkPage shows the purpose of a one-time link.
func linkPage(v *visit) error {
	link, err := v.console.People.LookUp(v.Ctx(), v.PathValue("token"))
	if err != nil {
		return err
	}
	return v.show(sheet{"link", "", linkTitles[link.Kind], link})
}

var linkTitles = map[team.Kind]string{
	team.SetUpLink: "Set up Rail", team.Invitation: "Your invitation", team.SignInLink: "Sign in",
	team.ResetLink: "New password",
}

// useLink uses a one-time link and signs its person in.
func useLink(v *visit) error {
	token := v.PathValue("token")
	link, err := v.console.People.LookUp(v.Ctx(), token)
	if err != nil {
		return err
	}
	c, err := v.use(link.Kind, token)
	if err != nil {
		return v.again(err, linkPage)
	}
	return v.proceed(c)
}

// use performs the action of a link.
func (v *visit) use(kind team.Kind, token string) (team.Challenge, error) {
	people, password := v.console.People, url.Values(v.Form).Get("password")
	switch kind {
	case team.SetUpLink:
		return people.SetUp(v.Ctx(), token, team.SetUp{
			Organization: v.value("organization"), Name: v.value("name"), Email: v.value("email"), Password: password,
		})
	case team.Invitation:
		return people.Accept(v.Ctx(), token, v.value("name"), password)
	case team.ResetLink:
		return people.Reset(v.Ctx(), token, password)
	case team.SignInLink:
	}
	return people.Use(v.Ctx(), token)
}
