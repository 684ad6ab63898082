// Package look serves a program's logo and picture, the style sheet of its colour, and the picture of links to its join
// page. Their addresses have a hash of the contents, so that they are cached forever. They are public.
package look

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"regexp"
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

// ImagePath returns the path of a program's image, such as its logo, by its version.
func ImagePath(programID, version string) string { return folder + programID + "/" + version }

// StylePath is where the style sheet of a program's colour is.
func StylePath(programID, accent string) string {
	return folder + programID + "/" + versionOf(site.Theme(accent)) + ".css"
}

// DraftStylePath returns the path of the style sheet of any accent #rrggbb, for previews.
func DraftStylePath(accent string) string {
	return folder + draft + "/" + strings.TrimPrefix(accent, "#") + ".css"
}

// draft stands in the place of a program in the paths of accents that no program has.
const draft = "accent"

// accentForm is the form of an accent in a path.
var accentForm = regexp.MustCompile(`^[0-9a-f]{6}$`)

// Look holds the addresses of a program's style sheet and logo, "" for none.
type Look struct{ Style, Logo string }

// Draft returns the look with an accent that may not be saved.
func (l Look) Draft(accent *string) Look {
	if l.Style = ""; accent != nil {
		l.Style = DraftStylePath(*accent)
	}
	return l
}

// Of returns the look of a program.
func Of(programID string, accent, logoVersion *string) (l Look) {
	if accent != nil {
		l.Style = StylePath(programID, *accent)
	}
	if logoVersion != nil {
		l.Logo = ImagePath(programID, *logoVersion)
	}
	return l
}

// versionOf names a content.
func versionOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}

// Looks serves the looks of all programs.
type Looks struct {
	Pool  *pgxpool.Pool
	cards cards
}

// Register adds the looks to e.
func (l *Looks) Register(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, folder+":program/:version", l.serve)
}

// none is the answer where nothing is.
func none() error { return problem.New(problem.RouteNotFound, "There is no such file.") }

// serve answers with a style sheet or an image.
func (l *Looks) serve(c echo.Context) error {
	version, kindOf, _ := strings.Cut(c.Param("version"), ".")
	if !site.Spelled(c.Param("program") + version) {
		return none()
	}
	ask := l.image
	switch kindOf {
	case "":
	case "css":
		ask = l.style
	case "png":
		ask = l.card
	default:
		return none()
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
func (l *Looks) style(c echo.Context, version string) (kind string, body []byte, err error) {
	const css = "text/css; charset=utf-8"
	if c.Param("program") == draft {
		if accentForm.MatchString(version) {
			body = []byte(site.Theme("#" + version))
		}
		return css, body, nil
	}
	accent, err := queries.PortalAccentShown(c.Request().Context(), l.Pool, c.Param("program"))
	if err != nil {
		return "", nil, err
	}
	if sheet := site.Theme(opt.Value(accent)); versionOf(sheet) == version {
		body = []byte(sheet)
	}
	return css, body, nil
}

// image returns a program's logo or picture, if it is still the one of this version.
func (l *Looks) image(c echo.Context, version string) (kind string, body []byte, err error) {
	row, err := queries.PortalImageShown(c.Request().Context(), l.Pool, db.PortalImageShownParams{
		ProgramID: c.Param("program"), Version: version,
	})
	return row.ContentType, row.Image, err
}

// card returns the picture of links to a program's join page, nil where its contents have changed.
func (l *Looks) card(c echo.Context, version string) (kind string, body []byte, err error) {
	row, err := queries.PortalCardShown(c.Request().Context(), l.Pool, c.Param("program"))
	if err != nil {
		return "", nil, err
	}
	of := Card{
		Name:        row.Name,
		Website:     row.WebsiteURL,
		Headline:    row.Headline,
		Accent:      row.AccentColor,
		LogoVersion: row.LogoVersion,
		logo:        row.Logo,
	}
	if of.version() == version {
		body, err = l.cards.of(c.Param("program"), of)
	}
	return "image/png", body, err
}
