package site

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// Cookie is a site's cookie, such as the one with the token of a session. Scripts cannot read it. Over https no other
// host can set it, and it is never sent in the clear. SameSite is Lax: with Strict, people who follow a link from an
// email would arrive signed out.
type Cookie struct {
	Name   string // without the prefix __Host-
	Path   string // of the site
	Secure bool   // the site is reached over https
}

// FullName returns the name as browsers send it. They accept the prefix __Host- only on a cookie with Secure, from the
// host itself, and for the path "/".
func (k Cookie) FullName() string {
	if k.Secure {
		return "__Host-" + k.Name
	}
	return k.Name
}

// Value returns the value that the browser sent; "" for none.
func (k Cookie) Value(c echo.Context) string {
	sent, err := c.Cookie(k.FullName())
	if err != nil {
		return ""
	}
	return sent.Value
}

// Set stores a value in the browser for a time.
func (k Cookie) Set(c echo.Context, value string, life time.Duration) {
	k.set(c, value, int(life/time.Second))
}

// Clear deletes the cookie in the browser.
func (k Cookie) Clear(c echo.Context) { k.set(c, "", -1) }

func (k Cookie) set(c echo.Context, value string, age int) {
	h := &http.Cookie{
		Name: k.FullName(), Value: value, Path: k.Path, MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if k.Secure {
		h.Path, h.Secure = "/", true
	}
	c.SetCookie(h)
}

// Failed answers an error with a page, which show writes, unless the response has begun. It returns internal errors
// and a failure of show, for the log.
func Failed(c echo.Context, err error, status int, show func() error) error {
	if c.Response().Committed {
		return err
	}
	if shown := show(); shown != nil {
		return shown
	}
	if status >= http.StatusInternalServerError {
		return err
	}
	return nil
}
