package middleware

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

// Router registers routes; those for GET also answer HEAD.
type Router struct{ *echo.Echo }

// GET registers h for GET and for HEAD.
func (r Router) GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	r.Echo.HEAD(path, h, m...)
	return r.Echo.GET(path, h, m...)
}

// head answers HEAD with the headers of GET, including Content-Length, and without the body. It is
// the outermost step, so that it covers errors too.
func head(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method != http.MethodHead {
			return next(c)
		}
		m := &bodyCounter{ResponseWriter: c.Response().Writer}
		c.Response().Writer = m
		err := next(c)
		m.finish()
		return err
	}
}

// bodyCounter counts the bytes of a body instead of writing them, and delays the headers until the
// length is known.
type bodyCounter struct {
	http.ResponseWriter
	status, length int
}

// WriteHeader records the status.
func (m *bodyCounter) WriteHeader(status int) { m.status = status }

// Write counts p.
func (m *bodyCounter) Write(p []byte) (int, error) {
	m.length += len(p)
	return len(p), nil
}

// finish sends the headers. Without a status, nothing was written and the server answers itself.
func (m *bodyCounter) finish() {
	if m.status == 0 {
		return
	}
	if m.length > 0 {
		m.Header().Set(echo.HeaderContentLength, strconv.Itoa(m.length))
	}
	m.ResponseWriter.WriteHeader(m.status)
}
