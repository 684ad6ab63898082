package portal

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/oapi-codegen/nullable"

	"rail/gen/api"
	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/http/site/branding"
	"rail/server/locale"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/program/partner"
	"rail/server/secret"
)

// signIn begins a session with the link's token. HEAD and prefetching do not use the link.
func signIn(v *visit) error {
	r, token := v.Request(), v.PathValue("token")
	purpose := r.Header.Get("Purpose") + r.Header.Get("Sec-Purpose") + r.Header.Get("X-Moz")
	// A link works once: a preview must not use it up.
	if strings.Contains(strings.ToLower(purpose), "prefetch") {
		return site.ErrForged
	}
	if r.Method == http.MethodHead {
		return v.NoContent(http.StatusOK)
	}
	if !partner.IsToken(strings.TrimPrefix(token, partner.VisitorMark)) {
		return partner.ErrLink // a mailed one works by its button alone
	}
	return v.enter(token)
}

// enter signs in with a link's token.
func (v *visit) enter(token string) error {
	p := v.portal
	from := partner.Client{Address: p.Address(v), UserAgent: v.Request().UserAgent()}
	session, life, err := p.Partners.Begin(v.Ctx(), p.Pool, token, from, v.Now)
	if err != nil {
		return err
	}
	p.cookie.Set(v, session, life)
	return v.Redirect(http.StatusSeeOther, "/portal")
}

// Identify loads the session; an invalid cookie is deleted. People who view the portal for the program change nothing.
func (v *visit) Identify() error {
	token := v.frame
	if token == "" {
		if token = v.portal.cookie.Value(v); token == "" {
			return errSignedOut
		}
	}
	session, err := db.PortalSessionRow{}, pgx.ErrNoRows
	if partner.IsToken(token) {
		of := db.PortalSessionParams{TokenHash: secret.HashToken(token), Embedded: v.frame != "", Now: v.Now}
		session, err = queries.PortalSession(v.Ctx(), v.portal.Pool, of)
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && v.frame != "" && len(session.EmbedHosts) == 0 {
		return v.signedOut()
	}
	v.Token, v.session, v.partner, v.program = token, session.PortalSession, session.Partner, session.Program
	v.accent = cmp.Or(opt.Value(session.AccentColor), site.DefaultAccent)
	v.branding, v.frames, v.ranks = brandingOf(session), session.EmbedHosts, session.Leaderboard
	v.Locale = locale.Of(v.Locale.Language(), opt.Value(session.Partner.LanguageCode)).
		In(clock.StoredZone(session.Program.TimeZone))
	if err != nil {
		return err
	}
	if v.session.Visitor && v.Request().Method == http.MethodPost && v.Request().URL.Path != "/portal/sign-out" {
		return errVisitor
	}
	return v.extend()
}

// brandingOf returns the look of a session's program.
func brandingOf(who db.PortalSessionRow) site.Branding {
	return branding.Of(who.Program.ID, site.Theme{
		Accent:   opt.Value(who.AccentColor),
		Second:   opt.Value(who.SecondColor),
		Typeface: db.Typeface(who.Typeface),
		Corners:  db.Corners(who.Corners),
	}, who.LogoVersion, who.LogoDarkVersion)
}

// signedOut deletes an invalid cookie. An embedded portal has none.
func (v *visit) signedOut() error {
	if v.frame != "" {
		return errEmbed
	}
	v.portal.cookie.Clear(v)
	return errSignedOut
}

// signOut ends the session in the database too, so that a copied cookie ends with it.
func signOut(v *visit) error {
	if err := queries.PortalSessionEnd(v.Ctx(), v.portal.Pool, secret.HashToken(v.Token)); err != nil {
		return err
	}
	v.portal.cookie.Clear(v)
	return v.note(http.StatusOK, "You are signed out", "To sign in again, request a new link.")
}

// switchPlace opens another program of the signed-in person.
func switchPlace(v *visit) error {
	p := v.portal
	from := partner.Client{Address: p.Address(v), UserAgent: v.Request().UserAgent()}
	session, life, err := p.Partners.Switch(v.Ctx(), p.Pool, v.Token, v.Form.Value("to"), from, v.Now)
	if errors.Is(err, partner.ErrPlace) {
		return problem.NotFound("")
	}
	if err != nil {
		return err
	}
	p.cookie.Set(v, session, life)
	return v.Redirect(http.StatusSeeOther, "/portal")
}

// places returns the other programs that the sign-in opens.
func (v *visit) places() (site.Switch, error) {
	out := site.Switch{Action: "/portal/switch"}
	if v.frame != "" {
		return out, nil
	}
	found, err := partner.Places(v.Ctx(), v.portal.Pool, v.session, v.Now)
	for _, f := range found {
		place := site.Place{Value: f.ID, Name: f.Name}
		if f.LogoVersion != nil {
			place.Logo = branding.ImagePath(f.ProgramID, *f.LogoVersion)
		}
		out.Places = append(out.Places, place)
	}
	return out, err
}

// saveLanguage stores the language of the partner's pages and mails, and shows the page again.
func saveLanguage(v *visit) error {
	body := api.PartnerUpdate{LanguageCode: nullable.NewNullableWithValue(v.Form.Value("language"))}
	if err := v.saveSelf(&body); err != nil {
		return err
	}
	to := "/portal"
	if from, err := url.Parse(v.Request().Referer()); err == nil && strings.HasPrefix(from.Path, "/portal/") {
		to = from.RequestURI()
	}
	return v.Redirect(http.StatusSeeOther, to)
}
