package console

import (
	"errors"
	"net/http"
	"net/url"

	"rail/server/http/middleware"
	"rail/server/http/site"
	"rail/server/problem"
	"rail/server/team"
)

// Fail answers an error with a page. It returns internal errors, for the log.
func (v *visit) Fail(err error) error {
	if v.Response().Committed {
		return err
	}
	if errors.Is(err, team.ErrSignedOut) {
		return v.Redirect(http.StatusSeeOther, "/console/sign-in"+v.comeBack())
	}
	status, title, text := explain(err)
	site.RetryAfter(v.Response().Header(), err)
	return site.Failed(v, err, status, func() error { return v.note(status, title, text) })
}

// comeBack returns the query with which sign-in redirects back to a page that was read.
func (v *visit) comeBack() string {
	if v.Request().Method != http.MethodGet || v.Request().URL.Path == "/console" {
		return ""
	}
	return "?next=" + url.QueryEscape(v.Request().URL.RequestURI())
}

// explain returns the status and texts for an error. Refusals of the API keep their messages; internal errors are not
// described.
func explain(err error) (status int, title, text string) {
	switch {
	case errors.Is(err, team.ErrLink):
		return http.StatusGone, "This link no longer works",
			"It was used, replaced or has expired. Request a new one."
	case errors.Is(err, team.ErrLastOwner):
		return http.StatusConflict, "At least one owner is needed", "The organization needs at least one owner who can sign in."
	}
	p := middleware.Problem(err)
	if p.Code == problem.InsufficientScope {
		return p.Status(), "Your role cannot do this", "Ask an owner of your organization. Nothing was changed."
	}
	return site.Explain(err)
}
