package team

import (
	"context"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// Invited is an open invitation. InvitedBy is the name of an owner, "" for the operator and for removed users.
type Invited struct {
	Email                string
	Role                 Role
	InvitedBy            string
	CreatedAt, ExpiresAt clock.Time
}

// Invited returns the open invitations of the organization, latest first.
func (s *Service) Invited(ctx context.Context, u *work.Unit) ([]Invited, error) {
	rows, err := queries.InvitationList(ctx, u.DB(), db.InvitationListParams{OrgID: &u.OrgID, Now: u.Now, Lim: maxUsers})
	out := make([]Invited, len(rows))
	for i, r := range rows {
		out[i] = Invited{opt.Value(r.Email), Role(opt.Value(r.Role)), r.Inviter, r.CreatedAt, r.ExpiresAt}
	}
	return out, err
}

// Invite offers an address a role, and mails the link. Without mail it returns the link instead; otherwise it
// does not, since accepting a link that others have seen would not prove the address. It replaces an earlier
// invitation of the address.
func (s *Service) Invite(ctx context.Context, u *work.Unit, email string, role Role) (url string, err error) {
	if email, err = address(email); err != nil {
		return "", err
	}
	if err := role.check(); err != nil {
		return "", err
	}
	err = s.asManager(ctx, u, func(u *work.Unit) error {
		if _, err := queries.InvitationVoid(ctx, u.DB(), db.InvitationVoidParams{OrgID: &u.OrgID, Email: email}); err != nil {
			return err
		}
		if err := s.checkFree(ctx, u, email); err != nil {
			return err
		}
		row := db.UserLinkInsertParams{
			OrgID: &u.OrgID, Email: &email, Role: new(string(role)), InvitedBy: &u.Actor.ID, CreatedAt: u.Now,
			Mailed: s.Mail.Ready(),
		}
		token, err := newLink(ctx, u.DB(), Invitation, row, invitationLife)
		if err != nil {
			return err
		}
		if url = s.url(Invitation, token); row.Mailed {
			if err := s.mailInvitation(ctx, u, email, url); err != nil {
				return err
			}
			url = ""
		}
		return note(ctx, u, "user.invited", u.OrgID, nil, described{Email: email, Role: role})
	})
	return url, err
}

// mailInvitation queues the mail of an invitation.
func (s *Service) mailInvitation(ctx context.Context, u *work.Unit, email, url string) error {
	org, err := queries.OrganizationGet(ctx, u.DB(), u.OrgID)
	if err != nil {
		return err
	}
	return s.Mail.Queue(ctx, u.DB(), u.OrgID, mail.Invitation(email, secret.NameOf(url), org.Name, url), u.Now)
}

// Uninvite revokes the open invitation of an address.
func (s *Service) Uninvite(ctx context.Context, u *work.Unit, email string) error {
	email, err := address(email)
	if err != nil {
		return err
	}
	return s.asManager(ctx, u, func(u *work.Unit) error {
		n, err := queries.InvitationVoid(ctx, u.DB(), db.InvitationVoidParams{OrgID: &u.OrgID, Email: email})
		if err == nil && n == 0 {
			return problem.NotFound("")
		}
		if err != nil {
			return err
		}
		return note(ctx, u, "user.uninvited", u.OrgID, described{Email: email}, nil)
	})
}

// Accept creates the invited user, and signs in.
func (s *Service) Accept(ctx context.Context, token, name, password string) (Challenge, error) {
	l, err := s.findLink(ctx, token, Invitation)
	if err != nil {
		return Challenge{}, err
	}
	row := db.UserInsertParams{ID: ident.New(ident.User), OrgID: l.OrgID, Email: l.Email, Role: string(l.Role)}
	if row.Name, err = cleanName("name", name); err != nil {
		return Challenge{}, err
	}
	if err := checkPassword(password, l.Email); err != nil {
		return Challenge{}, err
	}
	hash, err := s.hash(ctx, l.Email, password)
	if err != nil {
		return Challenge{}, err
	}
	row.PasswordHash = &hash
	if l.Mailed {
		row.ProvenAt = new(s.Clock.Now())
	}
	return s.createUser(ctx, row, func(u *work.Unit) error {
		_, err := s.useLink(ctx, u.DB(), token, Invitation)
		return err
	})
}

// createUser creates a user if allow permits it, and signs in.
func (s *Service) createUser(
	ctx context.Context, row db.UserInsertParams, allow func(*work.Unit) error,
) (Challenge, error) {
	var user db.User
	err := s.asPerson(row.OrgID, row.ID).Within(ctx, func(u *work.Unit) error {
		if err := lock(ctx, u); err != nil {
			return err
		}
		if err := allow(u); err != nil {
			return err
		}
		if err := s.checkFree(ctx, u, row.Email); err != nil {
			return err
		}
		row.CreatedAt = u.Now
		if err := insert(ctx, u, row, "user.accepted"); err != nil {
			return err
		}
		var err error
		user, err = find(ctx, u, row.ID)
		return err
	})
	if err != nil {
		return Challenge{}, err
	}
	return s.challenge(user)
}
