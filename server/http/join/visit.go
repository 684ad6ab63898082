package join

import (
	"context"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/locale"
	"rail/server/program/joining"
	"rail/server/program/portalsettings"
	"rail/server/work"
	"rail/server/work/quota"
)

// visit is one request and its program.
type visit struct {
	echo.Context
	pages    *Pages
	now      clock.Time
	locale   *locale.Locale
	program  db.Program
	settings portalsettings.Settings
	group    *db.Group // in the address; nil for none
	token    string    // of a mailed link
	form     site.Posted
}

// Refusals of these pages.
var (
	errNoMail = errors.New("join: no mails can be sent")
	errTaken  = errors.New("join: the applicant is a partner already")
)

// ctx ends with the time that the request may take.
func (v *visit) ctx() context.Context { return v.Request().Context() }

// enter loads the program of an address, and its group. A closed or paused program is a 404, like an unknown one.
func (v *visit) enter(door, group string) error {
	err := v.find(door, group)
	if err != nil { // a 404 does not look like the program
		v.program, v.settings = db.Program{}, portalsettings.Settings{}
	}
	return err
}

// find reads the program of an address, and its group.
func (v *visit) find(door, group string) error {
	p, err := queries.JoinDoor(v.ctx(), v.pages.Pool, door)
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
	g, err := queries.JoinGroup(v.ctx(), v.pages.Pool, db.JoinGroupParams{ProgramID: p.ID, OrgID: p.OrgID, Name: group})
	v.group = &g
	return err
}

// setProgram sets the visit's program.
func (v *visit) setProgram(p db.Program) (err error) {
	v.program = p
	v.settings, err = portalsettings.Of(v.ctx(), v.pages.Pool, p.OrgID, p.ID)
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
	return work.New(v.pages.Pool, work.Unit{
		OrgID: v.program.OrgID, Plan: v.pages.Plan.With(own), Programs: []string{v.program.ID}, Now: v.now,
		Actor:     work.Actor{Kind: work.Visitor},
		RequestID: v.Response().Header().Get(middleware.HeaderRequestID), Wake: v.pages.Wake,
	})
}

// fail answers an error with a page. It returns internal errors, for the log.
func (v *visit) fail(err error) error {
	status, title, text := explain(err)
	site.RetryAfter(v.Response().Header(), err)
	err = site.Failed(v, err, status, func() error { return v.note(status, v.locale.Said(title), v.locale.Said(text)) })
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
		return http.StatusConflict, "You’re already a partner",
			"There is already an application with your address. You don’t need to do anything."
	}
	return site.Explain(err)
}
