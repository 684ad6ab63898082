package portal

import (
	"errors"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/http/site/look"
	"rail/server/locale"
	"rail/server/opt"
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
	who, err := db.PortalSessionRow{}, pgx.ErrNoRows
	if partner.IsToken(token) {
		of := db.PortalSessionParams{TokenHash: secret.HashToken(token), Embedded: v.frame != "", Now: v.Now}
		who, err = queries.PortalSession(v.Ctx(), v.portal.Pool, of)
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && v.frame != "" && len(who.EmbedHosts) == 0 {
		return v.signedOut()
	}
	v.Token, v.session, v.partner, v.program = token, who.PortalSession, who.Partner, who.Program
	v.look, v.frames = look.Of(who.Program.ID, who.AccentColor, who.LogoVersion), who.EmbedHosts
	v.Locale = locale.Of(v.Request().Header.Get("Accept-Language"), opt.Value(who.Partner.LanguageCode)).
		In(clock.StoredZone(who.Program.TimeZone))
	if err != nil {
		return err
	}
	if v.session.Visitor && v.Request().Method == http.MethodPost && v.Request().URL.Path != "/portal/sign-out" {
		return errVisitor
	}
	return v.extend()
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
