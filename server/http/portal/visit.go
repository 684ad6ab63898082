package portal

import (
	"context"
	"errors"
	"net/http"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/program/partner"
	"rail/server/work"
)

// visit is one request and its session.
type visit struct {
	site.Visit
	portal   *Portal
	session  db.PortalSession
	branding site.Branding // of the program
	accent   string        // of the program, as #rrggbb
	ranks    bool          // the program has a leaderboard
	frames   []string      // the hosts whose pages may frame an embedded portal
	frame    string        // the token in the address of an embedded portal; "" for the portal itself
	partner  db.Partner
	program  db.Program
}

// unit returns a unit of work of the partner, whom the audit log names.
func (v *visit) unit() *work.Unit {
	return v.Unit(work.Unit{
		OrgID: v.partner.OrgID, Plan: v.portal.Plan, Programs: []string{v.partner.ProgramID},
		Actor: work.Actor{Kind: work.Person, ID: v.partner.ID, User: v.partner.ID},
	})
}

// write runs a change in one transaction with its events. change gets the unit from its context; its error rolls
// back.
func (v *visit) write(change func(ctx context.Context) error) error {
	return v.unit().Within(v.Ctx(), func(u *work.Unit) error { return change(work.Into(v.Ctx(), u)) })
}

// done redirects after a change; what is the key of the notice on the next page.
func (v *visit) done(page, what string) error {
	return v.Redirect(http.StatusSeeOther, page+"?done="+what)
}

// Fail answers an error with a page. It returns internal errors, for the log.
func (v *visit) Fail(err error) error {
	status, title, text := explain(err)
	if errors.Is(err, errSignedOut) && v.portal.Partners.Mail.Ready() {
		title, text = "Sign in", "We’ll email you a sign-in link. It works once."
	}
	return site.Failed(v, err, status, func() error {
		if errors.Is(err, errSignedOut) || errors.Is(err, partner.ErrLink) {
			return v.showSignIn(status, title, text, site.Form{})
		}
		site.RetryAfter(v.Response().Header(), err)
		return v.note(status, title, text)
	})
}

// explain returns the status and texts for an error.
func explain(err error) (status int, title, text string) {
	switch {
	case errors.Is(err, partner.ErrLink):
		return http.StatusGone, "This link no longer works",
			"A sign-in link works once and only for a short time. Request a new one."
	case errors.Is(err, errSignedOut):
		return http.StatusUnauthorized, "You are not signed in",
			"Open the sign-in link that the program sent you, or request a new one."
	case errors.Is(err, errEmbed):
		return http.StatusGone, "This page has expired", "Reload the surrounding page."
	case errors.Is(err, errVisitor):
		return http.StatusForbidden, "You’re viewing this portal",
			"You opened it for the program. Nothing was changed: only the partner can make changes."
	case errors.Is(err, errStale):
		return http.StatusForbidden, "Please sign in again",
			"Nothing was changed. You can change your payout method within twelve hours of signing in."
	}
	return site.Explain(err)
}
