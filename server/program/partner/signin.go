package partner

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"time"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// SignIn returns a sign-in link for an active partner, valid for life.
func SignIn(
	ctx context.Context, u *work.Unit, base, id string, life time.Duration,
) (string, clock.Time, error) {
	// Concurrent requests are serialized, so that the later link is the valid one.
	p, err := Lock(ctx, u, id)
	if err != nil {
		return "", clock.Time{}, err
	}
	if p.Status != db.PartnerStatusActive {
		return "", clock.Time{}, problem.New(problem.PartnerNotActive,
			"The partner is %s; only an active partner can sign in.", p.Status)
	}
	if u.Actor.Kind != work.Person {
		return SignInLink(ctx, u.Later(), base, p, u.Now, life)
	}
	url, expires, err := signInLink(ctx, u.Later(), base, VisitorMark, p, u.Now, life)
	if err != nil {
		return "", expires, err
	}
	return url, expires, auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: p.ProgramID, Action: "partner.portal_opened", TargetID: p.ID,
	})
}

// VisitorMark begins the token of a sign-in link for the organization's staff, who view the portal as the
// partner: their network address reveals nothing about the partner (decisions, 251).
const VisitorMark = "visit-"

// MailMark begins the token of a mailed sign-in link, which works only by the button on its page: a mail scanner
// that opens it does not sign in.
const MailMark = "mail-"

// SignInLink returns an address that signs a partner into the portal at base once, and its expiry. It voids
// earlier links. Only the token's hash is stored.
func SignInLink(
	ctx context.Context, q db.DBTX, base string, p db.Partner, now clock.Time, life time.Duration,
) (string, clock.Time, error) {
	return signInLink(ctx, q, base, "", p, now, life)
}

func signInLink(
	ctx context.Context, q db.DBTX, base, mark string, p db.Partner, now clock.Time, life time.Duration,
) (string, clock.Time, error) {
	// Only one link of the program is valid at a time. Mailed links stay, so that a look at the portal does not void them.
	of := db.MagicLinkVoidParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID}
	if err := queries.MagicLinkVoid(ctx, q, of); err != nil {
		return "", clock.Time{}, err
	}
	token, err := newLink(ctx, q, mark, p, now, life)
	return base + "/portal/sso/" + token, now.Plus(life), err
}

// newLink stores a sign-in link of a partner, and returns its token. A mailed link stores the address to which it is
// mailed, which its use proves. The address of the partner may change before.
func newLink(
	ctx context.Context, q db.DBTX, mark string, p db.Partner, now clock.Time, life time.Duration,
) (string, error) {
	token, err := newToken()
	if err != nil {
		return "", err
	}
	token = mark + token
	link := db.MagicLinkInsertParams{
		TokenHash: secret.HashToken(token),
		OrgID:     p.OrgID,
		ProgramID: p.ProgramID,
		PartnerID: p.ID,
		CreatedAt: now,
		ExpiresAt: now.Plus(life),
		Mailed:    mark == MailMark,
	}
	if link.Mailed {
		link.Email = &p.Email
	}
	return token, queries.MagicLinkInsert(ctx, q, link)
}

// newToken returns 32 random bytes in an encoding for addresses. They cannot be guessed, so attempts need no
// limit.
func newToken() (string, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// endSessions ends a partner's portal sessions and voids unused sign-in links. A reinstated partner must sign in
// again.
func endSessions(ctx context.Context, u *work.Unit, p db.Partner) error {
	of := db.PartnerSessionsEndParams{ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID}
	if err := queries.PartnerSessionsEnd(ctx, u.Later(), of); err != nil {
		return err
	}
	return queries.MagicLinkVoid(ctx, u.Later(), db.MagicLinkVoidParams{
		ProgramID: p.ProgramID, OrgID: p.OrgID, PartnerID: p.ID, Mailed: true,
	})
}
