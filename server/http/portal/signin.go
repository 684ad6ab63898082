package portal

import (
	"errors"
	"net/http"
	"strings"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/http/site/branding"
	"rail/server/ident"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/program/portalsettings"
)

// signInPage holds the data of the sign-in page.
type signInPage struct {
	Text    string
	Token   string // of the link that the page's button uses; "" for the form that asks for one
	Mail    bool   // whether links can be mailed
	Program string // the program in the address
	Form    site.Form
}

// showSignIn shows the form for a sign-in link below a text.
func (v *visit) showSignIn(status int, title, text string, form site.Form) error {
	return v.writeSignIn(status, title, signInPage{
		Text: v.Locale.Said(text), Mail: v.portal.Partners.Mail.Ready(), Program: v.asksFor(), Form: form,
	})
}

func (v *visit) writeSignIn(status int, title string, d signInPage) error {
	return pages.Write(v, v.Locale, status, "sign-in", frame{Layout: v.signInLayout(title), Data: d})
}

// signInLayout returns the header of a sign-in page: that of the program in the address, or else of the service.
func (v *visit) signInLayout(title string) site.Layout {
	l := v.signedOutLayout(title)
	named := v.asksFor()
	if !ident.Has(named, ident.Program) { // a subdomain can be guessed
		return l
	}
	p, err := queries.JoinProgram(v.Ctx(), v.portal.Pool, named)
	if err != nil { // the page works without
		return l
	}
	s, err := portalsettings.Of(v.Ctx(), v.portal.Pool, p.OrgID, p.ID)
	if err != nil {
		return l
	}
	l.Name, l.Branding = p.Name, branding.OfSettings(s)
	return l
}

// asksFor returns the program in the address or the form; "" for none.
func (v *visit) asksFor() string {
	named := v.QueryParam("program")
	if v.Form != nil {
		named = v.Form.Value("program")
	}
	if len(named) > 64 || strings.ContainsRune(named, 0) {
		return ""
	}
	return strings.ToValidUTF8(named, "")
}

// mailLink emails a sign-in link. The response and its time are the same for an unknown address.
func mailLink(v *visit) error {
	wrong := site.Evenly(func() error { return v.sendLinks(v.Form.Value("email")) })
	if wrong != nil {
		faults := v.faults(wrong, "email")
		if faults == nil {
			return wrong
		}
		return v.showSignIn(problemStatus(wrong), "Sign in", "We’ll email you a sign-in link. It works once.",
			site.Form{Values: v.Form.Typed("email"), Errors: faults})
	}
	return v.note(http.StatusOK, "Check your inbox",
		"If this address belongs to a partner, we’ve sent a sign-in link. It works once, for 30 minutes.")
}

// sendLinks mails the links, where mails can be sent.
func (v *visit) sendLinks(email string) error {
	p := v.portal
	if !p.Partners.Mail.Ready() {
		return problem.New(problem.EmailNotConfigured, "This server does not send email. Ask the program for a link.")
	}
	if !strings.Contains(email, "@") || len(email) > 255 {
		return problem.Invalid("email", "email must be an email address.")
	}
	return p.Partners.LinksByMail(v.Ctx(), p.Attempts, email, v.asksFor(), p.Address(v),
		v.Request().Header.Get("Accept-Language"))
}

// problemStatus is that of a refusal.
func problemStatus(err error) int {
	var p *problem.Error
	if errors.As(err, &p) && p.Status() != http.StatusBadRequest {
		return p.Status()
	}
	return http.StatusUnprocessableEntity
}

// mailedToken returns the token of a mailed link in the address.
func (v *visit) mailedToken() (string, error) {
	token := v.PathValue("token")
	if own, mailed := strings.CutPrefix(token, partner.MailMark); !mailed || !partner.IsToken(own) {
		return "", partner.ErrLink
	}
	return token, nil
}

// mailedLink shows the button of a mailed link. A program that scans mails opens links and sends no forms.
func mailedLink(v *visit) error {
	token, err := v.mailedToken()
	if err != nil {
		return err
	}
	return v.writeSignIn(http.StatusOK, "Sign in", signInPage{
		Text: v.Locale.T("Press the button to open your portal. The link works once."), Token: token, Program: v.asksFor(),
	})
}

// useMailed signs in by the button of a mailed link.
func useMailed(v *visit) error {
	token, err := v.mailedToken()
	if err != nil {
		return err
	}
	err = v.enter(token)
	// A used link of a partner who is signed in leads to the portal.
	if errors.Is(err, partner.ErrLink) && v.Identify() == nil && v.program.ID == v.asksFor() {
		return v.Redirect(http.StatusSeeOther, "/portal")
	}
	return err
}

// again emails the signed-in partner a link to sign in again.
func again(v *visit) error {
	err := v.portal.Partners.RenewLink(v.Ctx(), v.portal.Attempts, v.partner, v.program)
	if err != nil {
		return err
	}
	return v.note(http.StatusOK, "Check your inbox",
		"We’ve sent you a link. It works once, for 30 minutes.")
}

// fresh reports whether the partner has signed in recently, which changes of the payout method require: an open
// browser is not enough, and neither is a frame, whose address the surrounding page knows.
func (v *visit) fresh() bool {
	return v.frame == "" && partner.Fresh(v.session, v.Now)
}

// extend extends a used session, at most once a day. It does not extend sessions of the organization's people.
func (v *visit) extend() error {
	until, due := partner.Extend(v.session, v.Now)
	if !due || v.frame != "" {
		return nil
	}
	v.portal.cookie.Set(v, v.Token, partner.SessionLife)
	return queries.PortalSessionExtend(v.Ctx(), v.portal.Pool, db.PortalSessionExtendParams{
		ExpiresAt: until, TokenHash: v.session.TokenHash,
	})
}
