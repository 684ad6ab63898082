package portal

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/problem"
	"rail/server/work"
)

// maxForm is the largest form that is read, in bytes.
const maxForm = 32 << 10

// visit is one request and who makes it.
type visit struct {
	echo.Context
	portal  *Portal
	now     clock.Time
	token   string // the session's; "" for nobody
	partner db.Partner
	program db.Program
	form    url.Values
}

// ctx ends with the time that the request may take.
func (v *visit) ctx() context.Context { return v.Request().Context() }

// unit is this request as a unit of work of the partner's.
// The audit log names the partner as the actor.
func (v *visit) unit() *work.Unit {
	return work.New(v.portal.Pool, work.Unit{
		OrgID: v.partner.OrgID, Plan: v.portal.Plan, Programs: []string{v.partner.ProgramID}, Now: v.now,
		Actor:     work.Actor{Kind: work.Person, ID: v.partner.ID, User: v.partner.ID},
		RequestID: v.Response().Header().Get(middleware.HeaderRequestID), Wake: v.portal.Wake,
	})
}

// write runs a change in one transaction with its events.
// change gets the unit from its context; an error from it undoes everything.
func (v *visit) write(change func(ctx context.Context) error) error {
	return v.unit().Within(v.ctx(), func(u *work.Unit) error { return change(work.Into(v.ctx(), u)) })
}

// readForm reads a form and validates its token.
// Forms of other kinds, larger than maxForm or without the token of this session are
// refused; nothing of them is used.
func (v *visit) readForm() error {
	r := v.Request()
	kind, _, err := mime.ParseMediaType(r.Header.Get(echo.HeaderContentType))
	if err != nil || kind != echo.MIMEApplicationForm {
		return errForm
	}
	r.Body = http.MaxBytesReader(v.Response(), r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	if !formTokenOf(v.token, r.PostForm.Get("form_token")) {
		return errForged
	}
	v.form = r.PostForm
	return nil
}

// value is one line of the form, without what cannot be typed into it.
// Control characters and broken UTF-8 never come from a browser's field, and the
// database would refuse some of them with an error that is not the partner's.
func (v *visit) value(name string) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(v.form.Get(name), ""))
	return strings.TrimSpace(plain)
}

// typed is what was typed into the form, to be shown again.
func (v *visit) typed(names ...string) map[string]string {
	out := make(map[string]string, len(names))
	for _, n := range names {
		out[n] = v.value(n)
	}
	return out
}

// done sends the browser on after a change, so that a reload repeats nothing.
func (v *visit) done(page, what string) error {
	return v.Redirect(http.StatusSeeOther, page+"?done="+what)
}

// refuseMethod answers a method that a path does not know.
// allowed goes into Allow, which a 405 must carry (RFC 9110, 15.5.6).
func (v *visit) refuseMethod(allowed string) error {
	v.Response().Header().Set("Allow", allowed)
	return problem.New(problem.MethodNotAllowed, "This page cannot be asked for in this way.")
}

// fieldErrors are the faults of a form by field; "" is the form itself.
type fieldErrors map[string]string

// faults turns a refusal of the input into faults of the form's fields. Any
// other error is not for the form to show.
func faults(err error, fields ...string) fieldErrors {
	var p *problem.Error
	if !errors.As(err, &p) || p.Status() >= http.StatusInternalServerError || p.Status() == http.StatusNotFound {
		return nil
	}
	// A fault in an array names its element; the form has one field for all.
	field, _, _ := strings.Cut(p.Param, "[")
	for _, name := range fields {
		if name == field {
			return fieldErrors{name: sentence(p.Message, p.Param)}
		}
	}
	return fieldErrors{"": sentence(p.Message, p.Param)}
}

// sentence is an API message for people: without the name of the parameter.
func sentence(message, param string) string {
	switch {
	case param == "country_code":
		return "This must be two letters, such as DE or US."
	case strings.HasPrefix(message, param+" must have at most"):
		return "This is too long."
	case strings.HasPrefix(message, param+" must "):
		return "This" + strings.TrimPrefix(message, param)
	}
	if rest, ok := strings.CutPrefix(message, param+": "); ok && param != "" && rest != "" {
		return strings.ToUpper(rest[:1]) + rest[1:]
	}
	return message
}

// fail answers an error with a page. The error itself goes on to the log.
// Errors below 500 are answered here and end here: they are the visitor's.
func (v *visit) fail(err error) error {
	if v.Response().Committed {
		return err
	}
	status, title, text := explain(err)
	if status == http.StatusServiceUnavailable {
		v.Response().Header().Set("Retry-After", "1")
	}
	if shown := v.note(status, title, text); shown != nil {
		return shown
	}
	if status >= http.StatusInternalServerError {
		return err
	}
	return nil
}

// explain finds the status and the words for an error. Refusals of the API are passed
// on in their own words; a fault of the server is never described.
func explain(err error) (status int, title, text string) {
	switch {
	case errors.Is(err, errLink):
		return http.StatusGone, "This link no longer works",
			"A sign-in link works once, and only for a short time. Ask the program for a new one."
	case errors.Is(err, errSignedOut):
		return http.StatusUnauthorized, "You are not signed in",
			"Open the sign-in link that the program has sent you, or ask for a new one."
	case errors.Is(err, errForged):
		return http.StatusForbidden, "This was not sent from your page",
			"Nothing was changed. Go back, load the page anew and try again."
	case errors.Is(err, errForm):
		return http.StatusBadRequest, "This form cannot be read", "Nothing was changed. Go back and try again."
	}
	p := middleware.Problem(err)
	switch status = p.Status(); {
	// A malformed id in an address is no mistake that a visitor can correct.
	case status == http.StatusNotFound || status == http.StatusBadRequest:
		return http.StatusNotFound, "There is nothing here", "The page that you asked for does not exist."
	case status == http.StatusMethodNotAllowed:
		return status, "This does not work here", p.Message
	case status == http.StatusServiceUnavailable:
		return status, "One moment", "The service is unavailable for a moment. Try again."
	case status >= http.StatusInternalServerError:
		return status, "Something went wrong", "The mistake is ours, and nothing was changed. Try again later."
	}
	return status, "This cannot be done", p.Message
}
