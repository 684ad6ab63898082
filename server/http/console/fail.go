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

// fail answers an error with a page, and returns what is for the log: only the server's own faults.
func (v *visit) fail(err error) error {
	if v.Response().Committed {
		return err
	}
	if errors.Is(err, team.ErrSignedOut) {
		return v.Redirect(http.StatusSeeOther, "/console/sign-in"+v.comeBack())
	}
	status, title, text := explain(err)
	site.RetryAfter(v.Response().Header(), err)
	if shown := v.note(status, title, text); shown != nil {
		return shown
	}
	if status >= http.StatusInternalServerError {
		return err
	}
	return nil
}

// comeBack is the query by which a page is found again after signing in: only pages of the console, and
// only what was read.
func (v *visit) comeBack() string {
	if v.Request().Method != http.MethodGet || v.Request().URL.Path == "/console" {
		return ""
	}
	return "?next=" + url.QueryEscape(v.Request().URL.RequestURI())
}

// explain finds the status and the words for an error. Refusals of the API are passed on in their own
// words; a fault of the server is never described.
func explain(err error) (status int, title, text string) {
	switch {
	case errors.Is(err, team.ErrLink):
		return http.StatusGone, "This link no longer works",
			"It was used, replaced or is too old. Ask for a new one."
	case errors.Is(err, team.ErrLastOwner):
		return http.StatusConflict, "Somebody must own this", "The organization needs at least one owner who can sign in."
	}
	p := middleware.Problem(err)
	if p.Code == problem.InsufficientScope {
		return p.Status(), "Your role cannot do this", "Ask an owner of your organization. Nothing was changed."
	}
	return site.Explain(err)
}
