package team

import (
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/postgres/shortage"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

const (
	// Idle and absolute bound a session: since its last use, and since its start.
	Idle     = 12 * time.Hour
	absolute = 14 * 24 * time.Hour
	// useInterval is the precision of the last use.
	useInterval = time.Minute
	// maxSessions bounds the sessions of a user; another one ends the oldest.
	maxSessions = 50
	maxAgent    = 255
)

// Session is a signed-in user.
type Session struct {
	ID                           string
	User                         User
	Org                          db.Organization
	CreatedAt, SeenAt, ExpiresAt clock.Time
}

// Actor returns the session's user as the actor of requests of the API, with the scopes of the user's role.
func (s Session) Actor() auth.Actor {
	scopes, without := s.User.Role.Scopes()
	return auth.OfPerson(s.User.ID, s.Org, scopes, without)
}

// ListedSession is a session in a list. The address is that of a network.
type ListedSession struct {
	ID, UserAgent, Address       string
	CreatedAt, SeenAt, ExpiresAt clock.Time
}

// Begin starts a session for a ready challenge, and returns its token.
func (s *Service) Begin(ctx context.Context, c Challenge, agent, from string) (string, error) {
	if !c.ready {
		return "", ErrSignedOut
	}
	token := rand.Text()
	return token, s.asPerson(c.User.OrgID, c.User.ID).Within(ctx, func(u *work.Unit) error {
		n, err := queries.UserSessionInsert(ctx, u.DB(), db.UserSessionInsertParams{
			ID: ident.New(ident.UserSession), TokenHash: secret.HashToken(token), OrgID: u.OrgID, UserID: c.User.ID,
			UserAgent: cut(agent), Address: storedNetwork(from), Now: u.Now, ExpiresAt: u.Now.Plus(absolute), Proven: c.factor,
		})
		if err == nil && n == 0 {
			return ErrSignedOut
		}
		if err != nil {
			return err
		}
		p := db.UserSessionsTrimParams{OrgID: u.OrgID, UserID: c.User.ID, Keep: maxSessions}
		if err := queries.UserSessionsTrim(ctx, u.DB(), p); err != nil {
			return err
		}
		return note(ctx, u, "user.signed_in", c.User.ID, nil, nil)
	})
}

// Session returns the user signed in by a token, and records the use.
func (s *Service) Session(ctx context.Context, token string) (Session, error) {
	now := s.Clock.Now()
	row, err := queries.UserSession(ctx, s.Pool, db.UserSessionParams{
		TokenHash: secret.HashToken(token), Now: now, IdleSince: idleSince(now),
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Session{}, ErrSignedOut
	}
	if err != nil {
		return Session{}, err
	}
	at := row.UserSession
	if now.Sub(at.SeenAt.Time) >= useInterval {
		err = queries.UserSessionSeen(ctx, s.Pool, db.UserSessionSeenParams{Now: now, OrgID: at.OrgID, ID: at.ID})
		if shortage.Of(err) != shortage.None {
			err = nil // pages stay readable, and explain why nothing can be saved
		}
		at.SeenAt = now
	}
	return Session{
		ID: at.ID, User: userOf(row.User), Org: row.Organization, CreatedAt: at.CreatedAt, SeenAt: at.SeenAt,
		ExpiresAt: at.ExpiresAt,
	}, err
}

// End ends the session of a token.
func (s *Service) End(ctx context.Context, token string) error {
	return queries.UserSessionEnd(ctx, s.Pool, secret.HashToken(token))
}

// Sessions returns the sessions of a user, latest first. Only owners may list another user's sessions.
func (s *Service) Sessions(ctx context.Context, u *work.Unit, userID string) ([]ListedSession, error) {
	if err := checkAccess(ctx, u, userID); err != nil {
		return nil, err
	}
	rows, err := queries.UserSessionList(ctx, u.DB(), db.UserSessionListParams{
		OrgID: u.OrgID, UserID: userID, Now: u.Now, IdleSince: idleSince(u.Now), Lim: maxSessions,
	})
	out := make([]ListedSession, len(rows))
	for i, r := range rows {
		out[i] = ListedSession{r.ID, r.UserAgent, r.Address, r.CreatedAt, r.SeenAt, r.ExpiresAt}
	}
	return out, err
}

// Revoke ends a session of a user, or all of them for an empty id.
func (s *Service) Revoke(ctx context.Context, u *work.Unit, userID, id string) error {
	return u.Within(ctx, func(u *work.Unit) error {
		if err := checkAccess(ctx, u, userID); err != nil {
			return err
		}
		if id == "" {
			if err := endSessions(ctx, u, userID, ""); err != nil {
				return err
			}
			return note(ctx, u, "user.session_revoked", userID, nil, nil)
		}
		if !ident.Has(id, ident.UserSession) {
			return problem.NotFound("")
		}
		n, err := queries.UserSessionRevoke(ctx, u.DB(), db.UserSessionRevokeParams{OrgID: u.OrgID, UserID: userID, ID: id})
		if err == nil && n == 0 {
			return problem.NotFound("")
		}
		if err != nil {
			return err
		}
		return note(ctx, u, "user.session_revoked", userID, nil, nil)
	})
}

// checkAccess hides other users' sessions from callers who are not owners.
func checkAccess(ctx context.Context, u *work.Unit, userID string) error {
	if _, err := find(ctx, u, userID); err != nil || u.Actor.Kind == work.Operator || u.Actor.ID == userID {
		return err
	}
	me, err := currentUser(ctx, u)
	if err == nil && !Role(me.Role).ManagesPeople() {
		return problem.NotFound("")
	}
	return err
}

// endSessions ends every session of a user except keep; "" ends all.
func endSessions(ctx context.Context, u *work.Unit, id, keep string) error {
	return queries.UserSessionsEnd(ctx, u.DB(), db.UserSessionsEndParams{OrgID: u.OrgID, UserID: id, Keep: keep})
}

// cut returns the stored form of a User-Agent.
func cut(agent string) string {
	return plain.Cut(strings.ReplaceAll(strings.ToValidUTF8(agent, ""), "\x00", ""), maxAgent)
}

// storedNetwork returns the stored form of an address: its network, enough to recognize a place without
// identifying a person.
func storedNetwork(from string) string {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return ""
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return networkOf(a, 24)
	}
	return networkOf(a, 48)
}

// networkOf returns the network of an address.
func networkOf(a netip.Addr, bits int) string {
	p, err := a.Prefix(bits)
	if err != nil {
		return ""
	}
	return p.String()
}
