package team

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/work"
)

// maxSubject bounds what a provider calls somebody (OpenID Connect Core, 2).
const maxSubject = 255

// Identity is whom an OpenID provider has signed in. The provider has verified the address.
type Identity struct{ Issuer, Subject, Email, Name string }

// SignInOIDC signs in whom a provider knows: the user it is linked to; else a user or
// somebody invited with its address, who is linked then. Anybody else gets the role
// first, where there is one organization; without a role they must be invited.
func (s *Service) SignInOIDC(ctx context.Context, id Identity, first Role) (Challenge, error) {
	email, err := address(id.Email)
	if err != nil || id.Issuer == "" || !sound(id.Subject) {
		return Challenge{}, ErrNotInvited
	}
	id.Email = email
	u, err := queries.UserOfSubject(ctx, s.Pool, db.UserOfSubjectParams{OIDCIssuer: &id.Issuer, OIDCSubject: &id.Subject})
	switch {
	case err == nil && u.DisabledAt != nil:
		return Challenge{}, ErrNotInvited
	case err == nil:
		return s.challenge(u)
	case !errors.Is(err, pgx.ErrNoRows):
		return Challenge{}, err
	}
	users, err := s.usersOf(ctx, id.Email)
	if err != nil {
		return Challenge{}, err
	}
	for _, u := range users {
		if u.OIDCSubject == nil {
			return s.linkSubject(ctx, u, id)
		}
	}
	return s.joinBy(ctx, id, first)
}

// sound reports whether a subject can be kept.
func sound(subject string) bool {
	return subject != "" && len(subject) <= maxSubject && !strings.ContainsFunc(subject, unprintable)
}

// linkSubject links a user to the provider's, and signs in.
func (s *Service) linkSubject(ctx context.Context, found db.User, id Identity) (Challenge, error) {
	err := s.by(found.OrgID, found.ID).Within(ctx, func(u *work.Unit) error {
		n, err := queries.UserSetSubject(ctx, u.DB(), db.UserSetSubjectParams{
			OIDCIssuer: &id.Issuer, OIDCSubject: &id.Subject, Now: u.Now, OrgID: u.OrgID, ID: found.ID,
		})
		if err == nil && n == 0 {
			return ErrSignedOut // somebody else was quicker, or disabled the user
		}
		if err != nil {
			return err
		}
		found.UpdatedAt = u.Now
		return note(ctx, u, "user.oidc_linked", found.ID, nil, nil)
	})
	if err != nil {
		return Challenge{}, err
	}
	return s.challenge(found)
}

// joinBy makes a user of whom the provider knows, by an invitation or by the role that
// everybody gets.
func (s *Service) joinBy(ctx context.Context, id Identity, first Role) (Challenge, error) {
	name, err := named("name", id.Name)
	if err != nil {
		name = id.Email
	}
	row := db.UserInsertParams{
		ID: ident.New(ident.User), Email: id.Email, Name: name, Role: string(first), OIDCIssuer: &id.Issuer,
		OIDCSubject: &id.Subject,
	}
	open, err := queries.InvitationOfEmail(ctx, s.Pool, db.InvitationOfEmailParams{Email: id.Email, Now: s.Clock.Now()})
	if err == nil {
		row.OrgID, row.Role = opt.Value(open.OrgID), opt.Value(open.Role)
		return s.joining(ctx, row, func(u *work.Unit) error { return s.accepted(ctx, u, open) })
	}
	if !errors.Is(err, pgx.ErrNoRows) || first == "" {
		return Challenge{}, uninvited(err)
	}
	orgs, err := queries.OrganizationList(ctx, s.Pool)
	if err != nil || len(orgs) != 1 {
		return Challenge{}, errors.Join(err, ErrNotInvited)
	}
	row.OrgID = orgs[0].ID
	return s.joining(ctx, row, func(u *work.Unit) error {
		// A user of the address is another provider's, or disabled.
		_, err := queries.UserByEmail(ctx, u.DB(), db.UserByEmailParams{OrgID: u.OrgID, Email: row.Email})
		if err == nil {
			return ErrNotInvited
		}
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
}

// accepted uses an invitation up by its row.
func (s *Service) accepted(ctx context.Context, u *work.Unit, open db.UserLink) error {
	_, err := queries.UserLinkUse(ctx, u.DB(), db.UserLinkUseParams{
		Now: u.Now, TokenHash: open.TokenHash, Kind: string(Invitation),
	})
	return uninvited(err)
}

// uninvited returns ErrNotInvited for an error of no rows.
func uninvited(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotInvited
	}
	return err
}
