package join

import (
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/program/joining"
	"rail/server/program/portalsettings"
	"rail/server/work"
	"rail/server/work/quota"
)

// visit is one request and its program.
type visit struct {
	site.Visit
	pages    *Pages
	program  db.Program
	settings portalsettings.Settings
	group    *db.Group // in the address; nil for none
	chosen   bool      // the visitor chose the language
	draft    bool      // a preview of settings
}

// Refusals of these pages.
var (
	errNoMail = errors.New("join: no mails can be sent")
	errTaken  = errors.New("join: the applicant is a partner already")
)

// Enter loads the program of an address, and its group. A closed or paused program is a 404, like an unknown one.
func (v *visit) Enter() error {
	name, group := v.PathValue("program"), v.PathValue("group")
	if name == "" { // the page of a mailed link
		return nil
	}
	if !site.IsStorable(name + group) {
		return site.NotFound()
	}
	err := v.find(name, group)
	if err != nil { // a 404 does not look like the program
		v.program, v.settings = db.Program{}, portalsettings.Settings{}
	}
	return err
}

// find reads the program of an address, and its group.
func (v *visit) find(name, group string) error {
	p, err := queries.JoinProgram(v.Ctx(), v.pages.Pool, name)
	if err != nil {
		return err
	}
	if err := v.setProgram(p); err != nil {
		return err
	}
	if p.Status == db.ProgramStatusPaused || v.settings.Join == db.JoinModeClosed {
		return pgx.ErrNoRows
	}
	if group == "" {
		return nil
	}
	g, err := queries.JoinGroup(v.Ctx(), v.pages.Pool, db.JoinGroupParams{ProgramID: p.ID, OrgID: p.OrgID, Name: group})
	v.group = &g
	return err
}

// setProgram sets the visit's program.
func (v *visit) setProgram(p db.Program) (err error) {
	v.program = p
	v.settings, err = portalsettings.Of(v.Ctx(), v.pages.Pool, p.OrgID, p.ID)
	return err
}

// groupID is the id of the group that the address names.
func (v *visit) groupID() *string {
	if v.group == nil {
		return nil
	}
	return &v.group.ID
}

// unit returns a unit of work on the program.
func (v *visit) unit(own quota.Own) *work.Unit {
	return v.Unit(work.Unit{
		OrgID: v.program.OrgID, Plan: v.pages.Plan.With(own), Programs: []string{v.program.ID},
		Actor: work.Actor{Kind: work.Visitor},
	})
}

// Fail answers an error with a page. It returns internal errors, for the log.
func (v *visit) Fail(err error) error {
	status, title, text := explain(err)
	site.RetryAfter(v.Response().Header(), err)
	err = site.Failed(v, err, status, func() error { return v.note(status, v.Locale.Said(title), v.Locale.Said(text)) })
	if errors.Is(err, errNoMail) || errors.Is(err, joining.ErrFull) { // not a fault of the server
		return nil
	}
	return err
}

// explain returns the status and texts for an error.
func explain(err error) (status int, title, text string) {
	switch {
	case errors.Is(err, joining.ErrLink):
		return http.StatusGone, "This link no longer works",
			"Applications must be confirmed within 48 hours. Please fill in the form again."
	case errors.Is(err, joining.ErrOften):
		return http.StatusTooManyRequests, "Too many applications", "Please wait an hour before applying again."
	case errors.Is(err, joining.ErrFull), errors.Is(err, errNoMail):
		return http.StatusServiceUnavailable, "Applications are temporarily closed", "Please come back later."
	case errors.Is(err, errTaken):
		return http.StatusConflict, "You have already applied",
			"There is already a partner or an application with your address. Partners can sign in to the portal."
	}
	return site.Explain(err)
}
