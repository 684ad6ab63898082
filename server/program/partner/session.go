package partner

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
	"rail/server/program/risk"
	"rail/server/secret"
)

const (
	// SessionLife is the lifetime of a partner's session after its last use.
	SessionLife = 30 * 24 * time.Hour
	// visitLife is the lifetime of a session in which a person of the organization views a partner's portal.
	visitLife = 12 * time.Hour
	// freshFor is the time after sign-in in which a partner may change the payout method.
	freshFor = 12 * time.Hour
	// provenFor is the time after a sign-in with a mailed link in which its address opens other programs. Addresses are
	// given to other people.
	provenFor = 30 * 24 * time.Hour
	// placesOf bounds the programs that one sign-in opens.
	placesOf = 20
)

// ErrLink is returned for a sign-in link that is used, expired or unknown.
var ErrLink = errors.New("partner: the sign-in link does not work")

// ErrPlace is returned for a partner that the session does not open.
var ErrPlace = errors.New("partner: the session does not open this partner")

// tokenForm is the form of the tokens of sign-in links, without their marks, and of sessions.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// IsToken reports whether a text has the form of a token.
func IsToken(text string) bool { return tokenForm.MatchString(text) }

// Client is the browser in which a session begins.
type Client struct{ Address, UserAgent string }

// Begin exchanges a sign-in link for a session, and returns the session's token and lifetime. The session's row has a
// hash of the token, so that a reader of the table cannot sign in. The risk checks get the client, unless it is a
// person of the organization (decisions, 251).
func (s *Service) Begin(
	ctx context.Context, pool *pgxpool.Pool, link string, from Client, now clock.Time,
) (token string, life time.Duration, err error) {
	visitor := strings.HasPrefix(link, VisitorMark)
	if life = SessionLife; visitor {
		life = visitLife
	}
	if token, err = newToken(); err != nil {
		return "", 0, err
	}
	err = pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
		row, err := queries.MagicLinkUse(ctx, tx, db.MagicLinkUseParams{Now: now, TokenHash: secret.HashToken(link)})
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrLink
		}
		if err != nil {
			return err
		}
		err = queries.PortalSessionInsert(ctx, tx.Later(), db.PortalSessionInsertParams{
			TokenHash: secret.HashToken(token), OrgID: row.OrgID, ProgramID: row.ProgramID, PartnerID: row.PartnerID,
			CreatedAt: now, ExpiresAt: now.Plus(life), Visitor: visitor, Email: row.Email,
		})
		if err != nil || visitor {
			return err
		}
		of := db.Partner{ID: row.PartnerID, OrgID: row.OrgID, ProgramID: row.ProgramID}
		return risk.SeenPartner(ctx, tx.Later(), s.Keeper, of, from.Address, from.UserAgent, now)
	})
	return token, life, err
}

// Fresh reports whether a partner has signed in recently, which changes of the payout method require: an open browser
// is not enough.
func Fresh(s db.PortalSession, now clock.Time) bool {
	return !s.Visitor && s.CreatedAt.Plus(freshFor).After(now.Time)
}

// Extend returns the new end of a used session, at most once a day; false for no change. Sessions of the
// organization's people are not extended.
func Extend(s db.PortalSession, now clock.Time) (clock.Time, bool) {
	until := now.Plus(SessionLife)
	return until, !s.Visitor && !s.ExpiresAt.After(until.Plus(-24*time.Hour).Time)
}

// Places lists the partners of other programs that the session opens: those with the address to which its sign-in link
// was mailed. Links that were not mailed prove no address: a program can give its partners any.
func Places(
	ctx context.Context, tx pgtx.DBTX, s db.PortalSession, now clock.Time,
) ([]db.PortalOtherPartnersRow, error) {
	if s.Email == nil || !s.CreatedAt.Plus(provenFor).After(now.Time) {
		return nil, nil
	}
	return queries.PortalOtherPartners(ctx, tx, db.PortalOtherPartnersParams{
		Email: *s.Email, Folded: folded(*s.Email), PartnerID: s.PartnerID, Lim: placesOf,
	})
}

// folded returns an address with small ASCII letters, as lower does in the collation "C".
func folded(email string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, email)
}

// Switch exchanges a session for one of another partner of Places. Its times stay, so that it is as fresh as the
// sign-in. The session ends.
func (s *Service) Switch(
	ctx context.Context, pool *pgxpool.Pool, session, partnerID string, from Client, now clock.Time,
) (token string, life time.Duration, err error) {
	if token, err = newToken(); err != nil {
		return "", 0, err
	}
	err = pgtx.Within(ctx, pool, func(tx *pgtx.Tx) error {
		old, err := queries.PortalSessionTake(ctx, tx, db.PortalSessionTakeParams{
			TokenHash: secret.HashToken(session), Now: now, Since: now.Plus(-provenFor),
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrPlace
		}
		if err != nil {
			return err
		}
		to, err := queries.PortalOtherPartnerLock(ctx, tx, db.PortalOtherPartnerLockParams{
			ID: partnerID, Email: *old.Email, Folded: folded(*old.Email),
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrPlace // the session stays
		}
		if err != nil {
			return err
		}
		life = old.ExpiresAt.Sub(now.Time)
		err = queries.PortalSessionInsert(ctx, tx.Later(), db.PortalSessionInsertParams{
			TokenHash: secret.HashToken(token),
			OrgID:     to.OrgID,
			ProgramID: to.ProgramID,
			PartnerID: to.ID,
			CreatedAt: old.CreatedAt,
			ExpiresAt: old.ExpiresAt,
			Email:     old.Email,
		})
		if err != nil {
			return err
		}
		of := db.Partner{ID: to.ID, OrgID: to.OrgID, ProgramID: to.ProgramID}
		return risk.SeenPartner(ctx, tx.Later(), s.Keeper, of, from.Address, from.UserAgent, now)
	})
	return token, life, err
}
