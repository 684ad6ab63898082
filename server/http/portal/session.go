package portal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/site"
	"rail/server/http/site/look"
	"rail/server/locale"
	"rail/server/opt"
	"rail/server/postgres/pgtx"
	"rail/server/program/partner"
	"rail/server/program/risk"
	"rail/server/secret"
)

const (
	// sessionLife is the lifetime of a partner's session after its last use.
	sessionLife = 30 * 24 * time.Hour
	// visitLife is the lifetime of a session in which a person of the organization views a partner's portal.
	visitLife = 12 * time.Hour
	// freshFor is the time after sign-in in which a partner may change the payout method.
	freshFor = 12 * time.Hour
)

// tokenForm is the form of a sign-in link's token and of a session's.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// signIn begins a session with the link's token. HEAD and prefetching do not use the link.
func (p *Portal) signIn(v *visit, token string) error {
	r := v.Request()
	purpose := r.Header.Get("Purpose") + r.Header.Get("Sec-Purpose") + r.Header.Get("X-Moz")
	// A link works once: a preview must not use it up.
	if strings.Contains(strings.ToLower(purpose), "prefetch") {
		return site.ErrForged
	}
	if r.Method == http.MethodHead {
		return v.NoContent(http.StatusOK)
	}
	if !tokenForm.MatchString(strings.TrimPrefix(token, partner.VisitorMark)) {
		return errLink // a mailed one works by its button alone
	}
	return p.enter(v, token)
}

// enter signs in by a link's token.
func (p *Portal) enter(v *visit, token string) error {
	visitor := strings.HasPrefix(token, partner.VisitorMark)
	life := sessionLife
	if visitor {
		life = visitLife
	}
	session, err := p.begin(v, token, visitor, life)
	if errors.Is(err, pgx.ErrNoRows) {
		return errLink
	}
	if err != nil {
		return err
	}
	v.SetCookie(p.cookie(session, int(life/time.Second)))
	return v.Redirect(http.StatusSeeOther, "/portal")
}

// begin exchanges a sign-in link for a session and returns the session's token. The risk checks get the client's
// address and browser. The session's row has a hash of the token, so that a reader of the table cannot sign in. It
// returns pgx.ErrNoRows for a used, expired or unknown link.
func (p *Portal) begin(v *visit, link string, visitor bool, life time.Duration) (string, error) {
	ctx, now := v.ctx(), v.now
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", err
	}
	token := base64.RawURLEncoding.EncodeToString(b[:])
	err := pgtx.Within(ctx, p.Pool, func(tx *pgtx.Tx) error {
		who, err := queries.MagicLinkUse(ctx, tx, db.MagicLinkUseParams{Now: now, TokenHash: secret.HashToken(link)})
		if err != nil {
			return err
		}
		err = queries.PortalSessionInsert(ctx, tx.Later(), db.PortalSessionInsertParams{
			TokenHash: secret.HashToken(token), OrgID: who.OrgID, ProgramID: who.ProgramID, PartnerID: who.PartnerID,
			CreatedAt: now, ExpiresAt: now.Plus(life), Visitor: visitor,
		})
		if err != nil {
			return err
		}
		if visitor { // not the partner (decisions, 251)
			return nil
		}
		of := db.Partner{ID: who.PartnerID, OrgID: who.OrgID, ProgramID: who.ProgramID}
		return risk.SeenPartner(ctx, tx.Later(), p.Keeper, of, p.Address(v), v.Request().UserAgent(), now)
	})
	return token, err
}

// cookie carries the session's token. Over https no other host can set it, and it is never sent in the clear.
// SameSite is Lax: with Strict, partners who follow a link from an email or the program's site would arrive signed
// out.
func (p *Portal) cookie(token string, age int) *http.Cookie {
	c := &http.Cookie{
		Name: p.cookieName(), Value: token, Path: "/portal", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if p.secure {
		c.Path, c.Secure = "/", true
	}
	return c
}

// cookieName has the prefix __Host- over https: browsers take such a cookie only with
// Secure, from the host itself, and for the path "/".
func (p *Portal) cookieName() string {
	if p.secure {
		return "__Host-rail_portal"
	}
	return "rail_portal"
}

// identify loads the session; an invalid cookie is deleted.
func (v *visit) identify() error {
	token := v.frame
	if token == "" {
		c, err := v.Cookie(v.portal.cookieName())
		if err != nil {
			return errSignedOut
		}
		token = c.Value
	}
	who, err := db.PortalSessionRow{}, pgx.ErrNoRows
	if tokenForm.MatchString(token) {
		of := db.PortalSessionParams{TokenHash: secret.HashToken(token), Embedded: v.frame != "", Now: v.now}
		who, err = queries.PortalSession(v.ctx(), v.portal.Pool, of)
	}
	if errors.Is(err, pgx.ErrNoRows) || err == nil && v.frame != "" && len(who.EmbedHosts) == 0 {
		return v.signedOut()
	}
	v.token, v.session, v.partner, v.program = token, who.PortalSession, who.Partner, who.Program
	v.look, v.frames = look.Of(who.Program.ID, who.AccentColor, who.LogoVersion), who.EmbedHosts
	v.locale = locale.Of(v.Request().Header.Get("Accept-Language"), opt.Value(who.Partner.LanguageCode)).
		In(clock.StoredZone(who.Program.TimeZone))
	if err != nil {
		return err
	}
	return v.extend()
}

// signedOut deletes an invalid cookie. An embedded portal has none.
func (v *visit) signedOut() error {
	if v.frame != "" {
		return errEmbed
	}
	v.SetCookie(v.portal.cookie("", -1))
	return errSignedOut
}

// signOut ends the session in the database too, so that a copied cookie ends with it.
func signOut(v *visit) error {
	if err := queries.PortalSessionEnd(v.ctx(), v.portal.Pool, secret.HashToken(v.token)); err != nil {
		return err
	}
	v.SetCookie(v.portal.cookie("", -1))
	return v.note(http.StatusOK, "You are signed out", "To sign in again, request a new link.")
}
