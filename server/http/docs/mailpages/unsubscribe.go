package mailpages

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"net/http"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
)

//go:embed unsubscribe.html
var unsubscribePage string

var page = template.Must(template.New("unsubscribe").Parse(unsubscribePage))

// policy allows only the page's own style, by its digest.
var policy = "default-src 'none'; style-src 'sha256-" + styleDigest() + "'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func styleDigest() string {
	_, rest, _ := strings.Cut(unsubscribePage, "<style>")
	style, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(style))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// view is the data of the page's template. It is empty for an unknown token.
type view struct {
	Known, Subscribed bool
	Program           string
}

// show changes nothing, because mail programs fetch every link. The page has a button.
func (p Pages) show(c echo.Context) error {
	token := c.Param("token")
	if !mailToken.MatchString(token) {
		return render(c, http.StatusNotFound, view{})
	}
	row, err := queries.PartnerByMailToken(c.Request().Context(), p.Pool, token)
	if errors.Is(err, pgx.ErrNoRows) {
		return render(c, http.StatusNotFound, view{})
	}
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, view{Known: true, Subscribed: row.UnsubscribedAt == nil, Program: row.ProgramName})
}

// mailToken matches the format of a token.
var mailToken = regexp.MustCompile("^[0-9a-f]{32}$")

// unsubscribe serves the page's button and the one-click request of mail programs (RFC
// 8058), which send no cookies and follow no redirects. With the field again=yes it
// subscribes the partner again.
func (p Pages) unsubscribe(c echo.Context) error {
	c.Request().Body = http.MaxBytesReader(c.Response(), c.Request().Body, 1<<12)
	again, now := c.FormValue("again") == "yes", p.Clock.Now()
	if token := c.Param("token"); mailToken.MatchString(token) {
		wish := db.PartnerUnsubscribeParams{Subscribed: again, Now: &now, MailToken: token}
		if _, err := queries.PartnerUnsubscribe(c.Request().Context(), p.Pool, wish); err != nil {
			return err
		}
	}
	return p.show(c)
}

func render(c echo.Context, status int, v view) error {
	h := c.Response().Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
	c.Response().WriteHeader(status)
	return page.Execute(c.Response(), v)
}
