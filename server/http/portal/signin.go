package portal

import (
	"errors"
	"net/http"
	"strings"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/problem"
	"rail/server/program/partner"
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
		Text: v.locale.Said(text), Mail: v.portal.Partners.Mail.Ready(), Program: v.asksFor(), Form: form,
	})
}

func (v *visit) writeSignIn(status int, title string, d signInPage) error {
	return pages.Write(v, v.locale, status, "sign-in", frame{
		Title: v.locale.Said(title), Program: v.portal.Service, FormToken: guard.Token(""), Data: d,
	})
}

// asksFor returns the program in the address or the form; "" for none.
func (v *visit) asksFor() string {
	named := v.QueryParam("program")
	if v.form != nil {
		named = v.form.Value("program")
	}
	if len(named) > 64 || strings.ContainsRune(named, 0) {
		return ""
	}
	return strings.ToValidUTF8(named, "")
}

// mailLink emails a sign-in link. The response and its time are the same for an unknown address.
func (p *Portal) mailLink(v *visit) error {
	if err := p.origin.Check(v.Request()); err != nil {
		return site.ErrForged
	}
	form, err := guard.Read(v.Response(), v.Request(), "")
	if err != nil {
		return err
	}
	v.form = form
	wrong := site.Evenly(func() error { return p.sendLinks(v, form.Value("email")) })
	if wrong != nil {
		faults := v.faults(wrong, "email")
		if faults == nil {
			return wrong
		}
		return v.showSignIn(problemStatus(wrong), "Sign in", "We’ll email you a sign-in link. It works once.",
			site.Form{Values: form.Typed("email"), Errors: faults})
	}
	return v.note(http.StatusOK, "Check your inbox",
		"If this address belongs to a partner, we’ve sent a sign-in link. It works once, for 30 minutes.")
}

// sendLinks mails the links, where mails can be sent.
func (p *Portal) sendLinks(v *visit, email string) error {
	if !p.Partners.Mail.Ready() {
		return problem.New(problem.EmailNotConfigured, "This server does not send email. Ask the program for a link.")
	}
	if !strings.Contains(email, "@") || len(email) > 255 {
		return problem.Invalid("email", "email must be an e-mail address.")
	}
	return p.Partners.LinksByMail(v.ctx(), p.Attempts, email, v.asksFor(), p.Address(v),
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

// useMailed shows the button of a mailed link, and signs in by it. A program that scans mails
// opens links and sends no forms.
func (p *Portal) useMailed(v *visit, token string) error {
	own, mailed := strings.CutPrefix(token, partner.MailMark)
	if !mailed || !partner.IsToken(own) {
		return partner.ErrLink
	}
	switch v.Request().Method {
	case http.MethodPost:
		if err := p.origin.Check(v.Request()); err != nil {
			return site.ErrForged
		}
		return p.enter(v, token)
	case http.MethodGet, http.MethodHead:
	default:
		return site.RefuseMethod(v, "GET, HEAD, POST")
	}
	return v.writeSignIn(http.StatusOK, "Sign in", signInPage{
		Text: v.locale.T("Press the button to open your portal. The link works once."), Token: token,
	})
}

// again emails the signed-in partner a link to sign in again.
func again(v *visit) error {
	err := v.portal.Partners.RenewLink(v.ctx(), v.portal.Attempts, v.partner, v.program)
	if err != nil {
		return err
	}
	return v.note(http.StatusOK, "Check your inbox",
		"We’ve sent you a link. It works once, for 30 minutes.")
}

// fresh reports whether the partner has signed in recently, which changes of the payout method require: an open
// browser is not enough, and neither is a frame, whose address the surrounding page knows.
func (v *visit) fresh() bool {
	return v.frame == "" && partner.Fresh(v.session, v.now)
}

// extend extends a used session, at most once a day. It does not extend sessions of the organization's people.
func (v *visit) extend() error {
	until, due := partner.Extend(v.session, v.now)
	if !due || v.frame != "" {
		return nil
	}
	v.portal.cookie.Set(v, v.token, partner.SessionLife)
	return queries.PortalSessionExtend(v.ctx(), v.portal.Pool, db.PortalSessionExtendParams{
		ExpiresAt: until, TokenHash: v.session.TokenHash,
	})
}
