package console

import (
	"encoding/base32"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"rsc.io/qr"

	"rail/server/team"
)

var accountRoutes = map[string]route{
	"GET /console/account":                  {Do: account},
	"POST /console/account/name":            {Do: rename},
	"POST /console/account/password":        {Do: changePassword},
	"POST /console/account/factor":          {Do: enrolFactor},
	"POST /console/account/factor/confirm":  {Do: confirmFactor},
	"POST /console/account/factor/recovery": {Do: renewRecovery},
	"POST /console/account/factor/drop":     {Do: dropFactor},
	"POST /console/account/sessions":        {Do: endSession},
}

// accountData holds the data of the account page.
type accountData struct {
	User     team.User
	Sessions []team.ListedSession
	Current  string // the session of this visit
	Provider string // what the OpenID provider is called; "" for none
}

// account shows the person's account and ways to sign in.
func account(v *visit) error {
	user, err := v.console.People.User(v.Ctx(), v.unit(), v.session.User.ID)
	if err != nil {
		return err
	}
	sessions, err := v.console.People.Sessions(v.Ctx(), v.unit(), user.ID)
	if err != nil {
		return err
	}
	return v.show(sheet{"account", "", "Your account", accountData{user, sessions, v.session.ID, v.providerName()}})
}

func rename(v *visit) error {
	if err := v.console.People.Rename(v.Ctx(), v.unit(), v.value("name")); err != nil {
		return v.again(err, account)
	}
	return v.done("/console/account", "Your name is saved.")
}

// changePassword takes the passwords as they were typed: spaces at their ends count.
func changePassword(v *visit) error {
	typed := url.Values(v.Form)
	err := v.console.People.ChangePassword(v.Ctx(), v.unit(), typed.Get("current_password"), typed.Get("password"),
		v.session.ID)
	if err != nil {
		return v.again(err, account)
	}
	return v.done("/console/account", "Your password is changed. All your other sessions have ended.")
}

// factorData holds the data of the page that sets up a second factor.
type factorData struct {
	Secret string // in groups of four, for typing
	URL    string
	Code   template.HTML // the address as a picture
}

// enrolFactor begins with a second factor. Its secret is shown once, on this page.
func enrolFactor(v *visit) error {
	e, err := v.console.People.EnrolFactor(v.Ctx(), v.unit())
	if err != nil {
		return v.again(err, account)
	}
	return v.showFactor(e)
}

// showFactor shows the secret of a second factor that waits for its first code.
func (v *visit) showFactor(e team.Enrolment) error {
	picture, err := qrCode(e.URL)
	if err != nil {
		return err
	}
	return v.show(sheet{"factor", "", "Set up second factor", factorData{grouped(e.Secret), e.URL, picture}})
}

// confirmFactor turns the second factor on. A wrong code shows the same secret again, which the form carries.
func confirmFactor(v *visit) error {
	codes, err := v.console.People.ConfirmFactor(v.Ctx(), v.unit(), v.value("code"), v.session.ID)
	if err != nil {
		return v.again(err, func(v *visit) error {
			address := v.value("address")
			secret := secretOf(address)
			if secret == "" {
				return account(v)
			}
			return v.showFactor(team.Enrolment{Secret: secret, URL: address})
		})
	}
	return v.show(sheet{"recovery", "", "Recovery codes", codes})
}

func renewRecovery(v *visit) error {
	codes, err := v.console.People.RenewRecovery(v.Ctx(), v.unit(), v.value("code"))
	if err != nil {
		return v.again(err, account)
	}
	return v.show(sheet{"recovery", "", "Recovery codes", codes})
}

func dropFactor(v *visit) error {
	if err := v.console.People.DropFactor(v.Ctx(), v.unit(), v.value("code")); err != nil {
		return v.again(err, account)
	}
	return v.done("/console/account", "The second factor is off.")
}

// endSession ends a session of the person, or all of them. Ending the current session signs the person out.
func endSession(v *visit) error {
	if err := v.console.People.Revoke(v.Ctx(), v.unit(), v.session.User.ID, v.value("session")); err != nil {
		return err
	}
	if id := v.value("session"); id == "" || id == v.session.ID {
		v.console.cookie.Clear(v)
		return v.Redirect(http.StatusSeeOther, "/console/sign-in")
	}
	return v.done("/console/account", "The session has ended.")
}

// grouped is a secret as people type it.
func grouped(secret string) string {
	var b strings.Builder
	for i, c := range secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// maxAddress bounds the address of a second factor in bytes: a picture has room for 2,331.
const maxAddress = 2000

// secretOf is the secret in the address of a second factor; "" where that is none.
func secretOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "otpauth" || len(address) > maxAddress {
		return ""
	}
	secret := u.Query().Get("secret")
	if _, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret); err != nil {
		return ""
	}
	return secret
}

// qrCode is a text as a picture that phones read, with the quiet zone around it.
func qrCode(text string) (template.HTML, error) {
	code, err := qr.Encode(text, qr.M)
	if err != nil {
		return "", err
	}
	const quiet = 4
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				path.WriteString("M" + strconv.Itoa(x+quiet) + " " + strconv.Itoa(y+quiet) + "h1v1h-1z")
			}
		}
	}
	side := strconv.Itoa(code.Size + 2*quiet)
	//nolint:gosec // numbers alone are put in
	return template.HTML(`<svg class="qr" viewBox="0 0 ` + side + ` ` + side + `" role="img" aria-label="QR code">` +
		`<rect class="qr-ground" width="100%" height="100%"/><path class="qr-dots" d="` + path.String() + `"/></svg>`), nil
}
