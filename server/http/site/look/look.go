// Package look serves a program's logo and the style sheet of its colour. Their addresses have a hash of the
// contents, so that they are cached forever. They are public.
package look

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"

	"rail/gen/db"
	"rail/server/http/site"
	"rail/server/opt"
	"rail/server/problem"
)

// folder is where the looks of programs are.
const folder = "/look/"

var queries = db.New()

// LogoPath is where a logo of a program is, by its version.
func LogoPath(programID, version string) string { return folder + programID + "/" + version }

// StylePath is where the style sheet of a program's colour is.
func StylePath(programID, accent string) string {
	return folder + programID + "/" + versionOf(site.Theme(accent)) + ".css"
}

// Look holds the addresses of a program's style sheet and logo, "" for none.
type Look struct{ Style, Logo string }

// Of returns the look of a program.
func Of(programID string, accent, logoVersion *string) (l Look) {
	if accent != nil {
		l.Style = StylePath(programID, *accent)
	}
	if logoVersion != nil {
		l.Logo = LogoPath(programID, *logoVersion)
	}
	return l
}

// versionOf names a content.
func versionOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}

// Looks serves the looks of all programs.
type Looks struct{ Pool *pgxpool.Pool }

// Register adds the looks to e.
func (l Looks) Register(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, folder+":program/:version", l.serve)
}

// none is the answer where nothing is.
func none() error { return problem.New(problem.RouteNotFound, "There is no such file.") }

// serve answers with a style sheet or a logo.
func (l Looks) serve(c echo.Context) error {
	version, styled := strings.CutSuffix(c.Param("version"), ".css")
	if !site.Spelled(c.Param("program") + version) {
		return none()
	}
	ask := l.logo
	if styled {
		ask = l.style
	}
	kind, body, err := ask(c, version)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && body == nil {
		return none()
	}
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox") // an image that is opened by itself runs nothing
	h.Set("X-Content-Type-Options", "nosniff")
	return c.Blob(http.StatusOK, kind, body)
}

// style returns the style sheet of a program's colour, nil where it has become another.
func (l Looks) style(c echo.Context, version string) (kind string, body []byte, err error) {
	accent, err := queries.PortalAccentShown(c.Request().Context(), l.Pool, c.Param("program"))
	if err != nil {
		return "", nil, err
	}
	if sheet := site.Theme(opt.Value(accent)); versionOf(sheet) == version {
		body = []byte(sheet)
	}
	return "text/css; charset=utf-8", body, nil
}

// logo returns a program's logo, if it is still the one of this version.
func (l Looks) logo(c echo.Context, version string) (kind string, body []byte, err error) {
	row, err := queries.PortalLogoShown(c.Request().Context(), l.Pool, db.PortalLogoShownParams{
		ProgramID: c.Param("program"), Version: version,
	})
	return row.ContentType, row.Image, err
}
