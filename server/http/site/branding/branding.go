// Package branding serves a program's logos and picture, the style sheet of its theme, and the picture of links to its
// join page. Their addresses have a hash of the contents, so that they are cached forever. They are public.
package branding

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
	"rail/server/program/portalsettings"
)

// folder is where the looks of programs are.
const folder = "/look/"

var queries = db.New()

// ImagePath returns the path of a program's image, such as its logo, by its version.
func ImagePath(programID, version string) string { return folder + programID + "/" + version }

// StylePath is where the style sheet of a program's theme is; "" for the default theme.
func StylePath(programID string, t site.Theme) string {
	sheet := t.Sheet()
	if sheet == "" {
		return ""
	}
	return folder + programID + "/" + versionOf(sheet) + ".css"
}

// DraftStylePath returns the path of the style sheet of any theme, for previews; "" for the default theme.
func DraftStylePath(t site.Theme) string {
	if t.Sheet() == "" {
		return ""
	}
	version := strings.Join([]string{
		strings.TrimPrefix(t.Accent, "#"), strings.TrimPrefix(t.Second, "#"), string(t.Typeface), string(t.Corners),
	}, "-")
	return folder + draft + "/" + version + ".css"
}

// draft replaces the program in the paths of themes that no program has.
const draft = "theme"

// draftForm is the form of a theme in a path.
var draftForm = regexp.MustCompile(`^([0-9a-f]{6})?-([0-9a-f]{6})?-(inter|system|serif|rounded)-(square|soft|round)$`)

// draftSheet returns the style sheet of a theme in a path; "" for none.
func draftSheet(version string) string {
	found := draftForm.FindStringSubmatch(version)
	if found == nil {
		return ""
	}
	t := site.Theme{Typeface: db.Typeface(found[3]), Corners: db.Corners(found[4])}
	if found[1] != "" {
		t.Accent = "#" + found[1]
	}
	if found[2] != "" {
		t.Second = "#" + found[2]
	}
	return t.Sheet()
}

// ThemeOf returns the theme of a program's settings.
func ThemeOf(s portalsettings.Settings) site.Theme {
	return site.Theme{
		Accent:   opt.Value(s.AccentColor),
		Second:   opt.Value(s.SecondColor),
		Typeface: s.Typeface,
		Corners:  s.Corners,
	}
}

// OfSettings returns the look of a program's settings.
func OfSettings(s portalsettings.Settings) site.Branding {
	return Of(s.ProgramID, ThemeOf(s), s.LogoVersion, s.LogoDarkVersion)
}

// Of returns the look of a program with the versions of its logos.
func Of(programID string, t site.Theme, logo, logoDark *string) site.Branding {
	l := site.Branding{Typeface: t.Typeface, Style: StylePath(programID, t)}
	if logo != nil {
		l.Logo = ImagePath(programID, *logo)
	}
	if logoDark != nil {
		l.LogoDark = ImagePath(programID, *logoDark)
	}
	return l
}

// versionOf names a content.
func versionOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:8])
}

// Files serves the looks of all programs.
type Files struct {
	Pool  *pgxpool.Pool
	cards cards
}

// Register adds the looks to e.
func (l *Files) Register(e *echo.Echo) {
	e.Match([]string{http.MethodGet, http.MethodHead}, folder+":program/:version", l.serve)
}

// none is the answer where nothing is.
func none() error { return problem.New(problem.RouteNotFound, "There is no such file.") }

// serve answers with a style sheet or an image.
func (l *Files) serve(c echo.Context) error {
	version, kindOf, _ := strings.Cut(c.Param("version"), ".")
	if !site.IsStorable(c.Param("program") + version) {
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

// style returns the style sheet of a program's theme, nil where it has become another.
func (l *Files) style(c echo.Context, version string) (kind string, body []byte, err error) {
	const css = "text/css; charset=utf-8"
	if c.Param("program") == draft {
		if sheet := draftSheet(version); sheet != "" {
			body = []byte(sheet)
		}
		return css, body, nil
	}
	row, err := queries.PortalThemePublic(c.Request().Context(), l.Pool, c.Param("program"))
	if err != nil {
		return "", nil, err
	}
	theme := site.Theme{
		Accent:   opt.Value(row.AccentColor),
		Second:   opt.Value(row.SecondColor),
		Typeface: row.Typeface,
		Corners:  row.Corners,
	}
	if sheet := theme.Sheet(); sheet != "" && versionOf(sheet) == version {
		body = []byte(sheet)
	}
	return css, body, nil
}

// image returns a program's logo or picture, if it is still the one of this version.
func (l *Files) image(c echo.Context, version string) (kind string, body []byte, err error) {
	row, err := queries.PortalImagePublic(c.Request().Context(), l.Pool, db.PortalImagePublicParams{
		ProgramID: c.Param("program"), Version: version,
	})
	return row.ContentType, row.Image, err
}

// card returns the picture of links to a program's join page, nil where its contents have changed.
func (l *Files) card(c echo.Context, version string) (kind string, body []byte, err error) {
	row, err := queries.PortalCardPublic(c.Request().Context(), l.Pool, c.Param("program"))
	if err != nil {
		return "", nil, err
	}
	of := Card{
		Name:        row.Name,
		Website:     row.WebsiteURL,
		Headline:    row.Headline,
		Accent:      row.AccentColor,
		Second:      row.SecondColor,
		LogoVersion: row.LogoVersion,
		logo:        row.Logo,
	}
	if of.version() == version {
		body, err = l.cards.of(c.Param("program"), of)
	}
	return "image/png", body, err
}
