package site

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/locale"
	"rail/server/work"
)

// Visit is one request for a page. The visits of a site embed it, and replace Identify and Enter.
type Visit struct {
	echo.Context
	Now    clock.Time
	Locale *locale.Locale
	Token  string // of the session, which the page's forms are tied to; "" if signed out
	Form   Posted // nil for a GET
	Upload Upload // the form's file
	Parts  *Parts // the files of a form whose route reads them
	Err    error  // an internal error, for the log
	site   *Options
}

// Visitor is the visit of a site. Its methods are the steps of a request.
type Visitor interface {
	common() *Visit
	// Identify loads the session. It runs before the form is read.
	Identify() error
	// Enter loads the objects that the path names.
	Enter() error
	// Fail answers an error with a page. It returns internal errors, for the log.
	Fail(err error) error
}

func (v *Visit) common() *Visit { return v }

// Identify loads no session.
func (v *Visit) Identify() error { return nil }

// Enter loads nothing.
func (v *Visit) Enter() error { return nil }

// Ctx returns the request's context, which ends after the timeout of its route.
func (v *Visit) Ctx() context.Context { return v.Request().Context() }

// PathValue returns a part of the path by its name in the route.
func (v *Visit) PathValue(name string) string { return v.Request().PathValue(name) }

// Today returns the current day in the locale's time zone.
func (v *Visit) Today() time.Time { return v.Now.DayIn(v.Locale.Zone()) }

// FormToken returns the token of the page's forms.
func (v *Visit) FormToken() string { return v.site.Guard.Token(v.Token) }

// Unit returns a unit of work with the time, the id and the wake-up of the request.
func (v *Visit) Unit(u work.Unit) *work.Unit {
	u.Now, u.Wake = v.Now, v.site.Wake
	u.RequestID = v.Response().Header().Get(middleware.HeaderRequestID)
	return work.New(v.site.Pool, u)
}

// readForm reads the form of a POST.
func (v *Visit) readForm(file string, stream int64) (err error) {
	switch {
	case file == "":
		v.Form, err = v.site.Guard.Read(v.Response(), v.Request(), v.Token)
	case stream > 0:
		v.hold()
		v.Form, v.Parts, err = v.site.Guard.ReadStream(v.Response(), v.Request(), v.Token, file, stream)
	default:
		v.Form, v.Upload, err = v.site.Guard.ReadUpload(v.Response(), v.Request(), v.Token, file, maxFile)
	}
	return err
}

// hold keeps the connection open for as long as the route may take, since many bytes arrive.
func (v *Visit) hold() {
	until, ok := v.Ctx().Deadline()
	if !ok {
		return
	}
	connection := http.NewResponseController(v.Response())
	_ = connection.SetReadDeadline(until) // without such a connection, the server's limits hold
	_ = connection.SetWriteDeadline(until.Add(answerTime))
}

// answerTime is how long the answer to a form with many bytes may take.
const answerTime = 10 * time.Second

// maxFile is the largest file that a form may have, in bytes.
const maxFile = 1 << 20
