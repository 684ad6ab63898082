package team

import (
	"context"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/work"
)

// SetUp is the first owner's input. Organization is required if there is none yet.
type SetUp struct{ Organization, Name, Email, Password string }

// StartLink returns the address of the page that creates the first owner of an organization or, for an empty id,
// of a new one. It replaces earlier links. Once there is a user it returns "".
func (s *Service) StartLink(ctx context.Context, orgID string) (url string, err error) {
	err = work.NewRun(s.Pool, work.Actor{Kind: work.Operator}, s.Clock.Now()).Within(ctx, func(u *work.Unit) error {
		if err := queries.SetUpLock(ctx, u.DB()); err != nil {
			return err
		}
		if begun, err := queries.UsersExist(ctx, u.DB()); err != nil || begun {
			return err
		}
		if err := queries.SetUpLinksVoid(ctx, u.DB()); err != nil {
			return err
		}
		row := db.UserLinkInsertParams{CreatedAt: u.Now}
		if orgID != "" {
			row.OrgID = &orgID
		}
		token, err := newLink(ctx, u.DB(), SetUpLink, row, setUpLife)
		url = s.url(SetUpLink, token)
		return err
	})
	return url, err
}

// SetUp creates the first owner, with the organization if there is none, and signs in.
func (s *Service) SetUp(ctx context.Context, token string, in SetUp) (Challenge, error) {
	l, err := s.findLink(ctx, token, SetUpLink)
	if err != nil {
		return Challenge{}, err
	}
	row, err := s.firstOwner(ctx, in)
	if err != nil {
		return Challenge{}, err
	}
	org := db.OrganizationInsertParams{ID: ident.New(ident.Organization), OwnerEmail: &row.Email}
	if l.OrgID == "" {
		if org.Name, err = cleanName("organization", in.Organization); err != nil {
			return Challenge{}, err
		}
		l.OrgID = org.ID
	}
	row.OrgID = l.OrgID
	var user db.User
	err = s.asPerson(l.OrgID, row.ID).Within(ctx, func(u *work.Unit) error {
		if err := s.claim(ctx, u, token); err != nil {
			return err
		}
		org.CreatedAt, row.CreatedAt = u.Now, u.Now
		if err := begin(ctx, u, org); err != nil {
			return err
		}
		if err := insert(ctx, u, row, "user.created"); err != nil {
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

// firstOwner returns the row of the first owner, without organization and time.
func (s *Service) firstOwner(ctx context.Context, in SetUp) (row db.UserInsertParams, err error) {
	row = db.UserInsertParams{ID: ident.New(ident.User), Role: string(Owner)}
	if row.Email, err = address(in.Email); err != nil {
		return row, err
	}
	if row.Name, err = cleanName("name", in.Name); err != nil {
		return row, err
	}
	if err = checkPassword(in.Password, row.Email); err != nil {
		return row, err
	}
	hash, err := s.hash(ctx, row.Email, in.Password)
	row.PasswordHash = &hash
	return row, err
}

// claim uses the link up, unless another person has set Rail up.
func (s *Service) claim(ctx context.Context, u *work.Unit, token string) error {
	if err := queries.SetUpLock(ctx, u.DB()); err != nil {
		return err
	}
	begun, err := queries.UsersExist(ctx, u.DB())
	if err == nil && begun {
		return ErrLink
	}
	if err != nil {
		return err
	}
	_, err = s.useLink(ctx, u.DB(), token, SetUpLink)
	return err
}

// begin creates the unit's organization, if it is the new one.
func begin(ctx context.Context, u *work.Unit, org db.OrganizationInsertParams) error {
	if u.OrgID != org.ID {
		return nil
	}
	if err := queries.OrganizationInsert(ctx, u.DB(), org); err != nil {
		return err
	}
	return note(ctx, u, "organization.created", org.ID, nil, described{Name: org.Name})
}
