package middleware

import (
	"bytes"
	"io"
	"mime"
	"strings"

	"github.com/labstack/echo/v4"

	"rail/server/problem"
)

// checkBody accepts a body only as JSON in UTF-8 (step 10). It refuses a body on an operation
// without one. It removes invisible characters from names.
func (f *Front) checkBody(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		s := stateOf(c)
		if len(s.body) == 0 && s.unread == nil {
			return next(c)
		}
		// The scope has been checked, so the refusal reveals nothing.
		if s.route.Body == nil {
			if err := f.Document.checkNoBody(s); err != nil {
				return err
			}
			return next(c)
		}
		// limits could not read the body.
		if s.unread != nil {
			return s.unread
		}
		kind, params, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
		// A charset other than UTF-8 is refused: the bytes are read as UTF-8
		// below.
		charset := params["charset"]
		if err != nil || kind != echo.MIMEApplicationJSON || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return problem.New(problem.UnsupportedMediaType, "Content-Type must be application/json.")
		}
		if p := CheckJSON(s.body); p != nil {
			return p
		}
		if s.body, err = cleanNames(s.body); err != nil {
			return err
		}
		c.Request().Body, c.Request().ContentLength = io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
		return next(c)
	}
}
