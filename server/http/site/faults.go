package site

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/http/middleware"
	"rail/server/problem"
)

// Faults are the faults of a form by field; "" is the form itself.
type Faults map[string]string

// FaultsOf returns a refusal of the input as faults of the form's fields; nil for any other error.
func FaultsOf(err error, fields ...string) Faults {
	var p *problem.Error
	if !errors.As(err, &p) || p.Status() >= http.StatusInternalServerError || p.Status() == http.StatusNotFound {
		return nil
	}
	// A fault in an array names its element; most forms have one field for all.
	field, _, _ := strings.Cut(p.Param, "[")
	for _, name := range fields {
		if name == field || name == p.Param {
			return Faults{name: sentence(p.Message, p.Param)}
		}
	}
	return Faults{"": sentence(p.Message, p.Param)}
}

// sentence returns an API message without the name of the parameter.
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

// RetryAfter sets Retry-After if the error says when to try again, for example after a shortage of the database.
func RetryAfter(h http.Header, err error) {
	if wait := middleware.Problem(err).RetryAfter; wait > 0 {
		h.Set("Retry-After", strconv.Itoa(wait))
	}
}

// Explain returns the status and texts for an error. Refusals of the API keep their messages; internal errors are not
// described.
func Explain(err error) (status int, title, text string) {
	switch {
	case errors.Is(err, ErrForged):
		return http.StatusForbidden, "This was not sent from your page",
			"Nothing was changed. Go back, reload the page and try again."
	case errors.Is(err, ErrForm):
		return http.StatusBadRequest, "This form cannot be read", "Nothing was changed. Go back and try again."
	case errors.Is(err, ErrLarge):
		return http.StatusRequestEntityTooLarge, "This file is too large", "Nothing was changed. Go back and send less."
	}
	p := middleware.Problem(err)
	switch status = p.Status(); {
	// A visitor cannot correct a malformed id in an address.
	case status == http.StatusNotFound || status == http.StatusBadRequest:
		return http.StatusNotFound, "Page not found", "This page does not exist."
	case status == http.StatusMethodNotAllowed:
		return status, "Method not allowed", p.Message
	case status == http.StatusServiceUnavailable:
		return status, "Temporarily unavailable", "The service is temporarily unavailable. Try again in a moment."
	case status >= http.StatusInternalServerError:
		return status, "Something went wrong", "This is our fault. Nothing was changed. Try again later."
	}
	return status, "This is not possible", p.Message
}

// NotFound returns the refusal of an address without a page.
func NotFound() error { return problem.New(problem.RouteNotFound, "There is no such page.") }

// refuseMethod answers a method that a path does not know. allowed goes into Allow, which a 405 must carry
// (RFC 9110, 15.5.6).
func refuseMethod(c echo.Context, allowed string) error {
	c.Response().Header().Set("Allow", allowed)
	return problem.New(problem.MethodNotAllowed, "This page does not support this request method.")
}
