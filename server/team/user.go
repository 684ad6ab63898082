package team

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/ident"
	"rail/server/locale/plain"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// maxUsers bounds the users of an organization together with its open invitations.
	maxUsers = 200
	// maxLogged bounds the page of the log.
	maxLogged = 100
	// maxEmail is the maximum length of an email address.
	maxEmail = 254
	maxName  = 255
)

// User is a user of the console. A nil time means never.
type User struct {
	ID, OrgID, Email, Name string
	Role                   Role
	// Password, Factor and OIDC report whether the user has a password, a second factor, and a link to an OpenID
	// provider.
	Password, Factor, OIDC bool
	RecoveryCodes          int // the unused ones
	DisabledAt, SeenAt     *clock.Time
	CreatedAt              clock.Time
	Views                  []View
}

func userOf(u db.User) User {
	return User{
		ID: u.ID, OrgID: u.OrgID, Email: u.Email, Name: u.Name, Role: Role(u.Role), Password: u.PasswordHash != nil,
		Factor: u.TOTPSecret != nil, OIDC: u.OIDCSubject != nil, RecoveryCodes: len(u.RecoveryHashes),
		DisabledAt: u.DisabledAt, SeenAt: u.SeenAt, CreatedAt: u.CreatedAt, Views: viewsOf(u.Views),
	}
}

// described is the audit log's copy of a user, whose row may be deleted.
type described struct {
	Email string `json:"email,omitempty"`
	Name  string `json:"name,omitempty"`
	Role  Role   `json:"role,omitempty"`
}

func describe(u db.User) described { return described{u.Email, u.Name, Role(u.Role)} }

// find returns a user of the organization.
func find(ctx context.Context, u *work.Unit, id string) (db.User, error) {
	if !ident.Has(id, ident.User) {
		return db.User{}, problem.NotFound("")
	}
	row, err := queries.UserGet(ctx, u.DB(), db.UserGetParams{OrgID: u.OrgID, ID: id})
	return row, absent(err)
}

// Users returns the users of the organization, by name.
func (s *Service) Users(ctx context.Context, u *work.Unit) ([]User, error) {
	rows, err := queries.UserList(ctx, u.DB(), db.UserListParams{OrgID: u.OrgID, Lim: maxUsers})
	out := make([]User, len(rows))
	for i, r := range rows {
		out[i] = userOf(r)
	}
	return out, err
}

// User returns one of them.
func (s *Service) User(ctx context.Context, u *work.Unit, id string) (User, error) {
	row, err := find(ctx, u, id)
	return userOf(row), err
}

// NewUser is a user that the operator creates.
type NewUser struct {
	Email, Name string
	Role        Role
}

// Create creates a user without a password, and returns a link to set one.
func (s *Service) Create(ctx context.Context, u *work.Unit, in NewUser) (created User, url string, err error) {
	row := db.UserInsertParams{ID: ident.New(ident.User), OrgID: u.OrgID, Role: string(in.Role), CreatedAt: u.Now}
	if row.Email, err = address(in.Email); err != nil {
		return created, "", err
	}
	if row.Name, err = cleanName("name", in.Name); err != nil {
		return created, "", err
	}
	if err := in.Role.check(); err != nil {
		return created, "", err
	}
	err = s.asManager(ctx, u, func(u *work.Unit) error {
		if err := s.checkFree(ctx, u, row.Email); err != nil {
			return err
		}
		if err := insert(ctx, u, row, "user.created"); err != nil {
			return err
		}
		got, err := find(ctx, u, row.ID)
		if err != nil {
			return err
		}
		created = userOf(got)
		url, err = s.linkTo(ctx, u, ResetLink, row.ID, helpLife)
		return err
	})
	return created, url, err
}

// insert adds a user, deletes their open invitation, and logs it.
func insert(ctx context.Context, u *work.Unit, row db.UserInsertParams, action string) error {
	of := db.InvitationVoidParams{OrgID: &u.OrgID, Email: row.Email}
	if _, err := queries.InvitationVoid(ctx, u.DB(), of); err != nil {
		return err
	}
	if err := queries.UserInsert(ctx, u.DB(), row); err != nil {
		return err
	}
	return note(ctx, u, action, row.ID, nil, described{row.Email, row.Name, Role(row.Role)})
}

// checkFree refuses the address of an existing user, and a user beyond the limit.
func (s *Service) checkFree(ctx context.Context, u *work.Unit, email string) error {
	_, err := queries.UserByEmail(ctx, u.DB(), db.UserByEmailParams{OrgID: u.OrgID, Email: email})
	if err == nil {
		return problem.Invalid("email", "%s is already a user here.", email)
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	n, err := queries.UserSeats(ctx, u.DB(), db.UserSeatsParams{OrgID: u.OrgID, Now: u.Now})
	if err == nil && n >= maxUsers {
		return problem.Invalid("email", "An organization has at most %d users and open invitations.", maxUsers)
	}
	return err
}

// ChangeRole changes a user's role.
func (s *Service) ChangeRole(ctx context.Context, u *work.Unit, id string, role Role) error {
	if err := role.check(); err != nil {
		return err
	}
	return s.changeUser(ctx, u, id, func(u *work.Unit, was db.User) error {
		if Role(was.Role) == role {
			return nil
		}
		p := db.UserSetRoleParams{Role: string(role), Now: u.Now, OrgID: u.OrgID, ID: id}
		if err := queries.UserSetRole(ctx, u.DB(), p); err != nil {
			return err
		}
		if !role.ManagesPeople() {
			if err := withdraw(ctx, u, id); err != nil {
				return err
			}
		}
		return note(ctx, u, "user.role_changed", id, described{Role: Role(was.Role)}, described{Role: role})
	})
}

// Disable ends a user's sessions and links, and blocks new ones.
func (s *Service) Disable(ctx context.Context, u *work.Unit, id string) error {
	return s.changeUser(ctx, u, id, func(u *work.Unit, was db.User) error {
		if was.DisabledAt != nil {
			return nil
		}
		p := db.UserSetDisabledParams{DisabledAt: &u.Now, Now: u.Now, OrgID: u.OrgID, ID: id}
		if err := queries.UserSetDisabled(ctx, u.DB(), p); err != nil {
			return err
		}
		if err := expel(ctx, u, id); err != nil {
			return err
		}
		return note(ctx, u, "user.disabled", id, nil, nil)
	})
}

// Enable lets a disabled user sign in again.
func (s *Service) Enable(ctx context.Context, u *work.Unit, id string) error {
	return s.changeUser(ctx, u, id, func(u *work.Unit, was db.User) error {
		if was.DisabledAt == nil {
			return nil
		}
		p := db.UserSetDisabledParams{Now: u.Now, OrgID: u.OrgID, ID: id}
		if err := queries.UserSetDisabled(ctx, u.DB(), p); err != nil {
			return err
		}
		return note(ctx, u, "user.enabled", id, nil, nil)
	})
}

// Remove deletes a user with their sessions and links. The log keeps the name.
func (s *Service) Remove(ctx context.Context, u *work.Unit, id string) error {
	return s.changeUser(ctx, u, id, func(u *work.Unit, was db.User) error {
		if err := withdraw(ctx, u, id); err != nil {
			return err
		}
		if err := queries.UserDelete(ctx, u.DB(), db.UserDeleteParams{OrgID: u.OrgID, ID: id}); err != nil {
			return err
		}
		return note(ctx, u, "user.removed", id, describe(was), nil)
	})
}

// changeUser runs do on a user as a change of users. An owner may be changed only if another one remains.
func (s *Service) changeUser(ctx context.Context, u *work.Unit, id string, do func(*work.Unit, db.User) error) error {
	return s.asManager(ctx, u, func(u *work.Unit) error {
		was, err := find(ctx, u, id)
		if err != nil {
			return err
		}
		if err := do(u, was); err != nil || Role(was.Role) != Owner || was.DisabledAt != nil {
			return err
		}
		owners, err := queries.OwnersCount(ctx, u.DB(), u.OrgID)
		if err == nil && owners == 0 {
			return ErrLastOwner
		}
		return err
	})
}

// expel ends a user's access, and their open invitations to others.
func expel(ctx context.Context, u *work.Unit, id string) error {
	if err := endSessions(ctx, u, id, ""); err != nil {
		return err
	}
	if err := queries.UserLinksVoid(ctx, u.DB(), db.UserLinksVoidParams{OrgID: &u.OrgID, UserID: id}); err != nil {
		return err
	}
	return withdraw(ctx, u, id)
}

// withdraw revokes the open invitations by a user who may no longer invite.
func withdraw(ctx context.Context, u *work.Unit, id string) error {
	return queries.InvitationsVoidBy(ctx, u.DB(), db.InvitationsVoidByParams{OrgID: &u.OrgID, InvitedBy: id})
}

// Rename changes the caller's name.
func (s *Service) Rename(ctx context.Context, u *work.Unit, name string) error {
	name, err := cleanName("name", name)
	if err != nil {
		return err
	}
	return u.Within(ctx, func(u *work.Unit) error {
		me, err := currentUser(ctx, u)
		if err != nil || me.Name == name {
			return err
		}
		p := db.UserSetNameParams{Name: name, Now: u.Now, OrgID: u.OrgID, ID: me.ID}
		if err := queries.UserSetName(ctx, u.DB(), p); err != nil {
			return err
		}
		return note(ctx, u, "user.renamed", me.ID, described{Name: me.Name}, described{Name: name})
	})
}

// Log returns changes to the organization's users, latest first.
func (s *Service) Log(ctx context.Context, u *work.Unit) ([]db.AuditLogEntry, error) {
	return queries.PeopleLog(ctx, u.DB(), db.PeopleLogParams{OrgID: u.OrgID, Lim: maxLogged})
}

// Names returns the names of users by their ids, including removed ones.
func (s *Service) Names(ctx context.Context, u *work.Unit, ids []string) (map[string]string, error) {
	rows, err := queries.PeopleNames(ctx, u.DB(), db.PeopleNamesParams{OrgID: u.OrgID, Ids: ids})
	out := make(map[string]string, len(rows))
	for _, r := range rows {
		out[r.ID] = r.Name
	}
	return out, err
}

// check refuses an invalid role.
func (r Role) check() error {
	if r.known() {
		return nil
	}
	allowed := make([]string, len(Roles))
	for i, role := range Roles {
		allowed[i] = string(role)
	}
	return problem.NotOneOf("role", string(r), allowed)
}

// address normalizes an email address to lower case.
func address(text string) (string, error) {
	email := strings.ToLower(strings.TrimSpace(text))
	if email == "" {
		return "", problem.Missing("email")
	}
	a, err := mail.ParseAddress(email)
	if err != nil || a.Address != email || len(email) > maxEmail || !plain.Addressed(email) {
		return "", problem.Invalid("email", "email must be an email address of at most %d characters.", maxEmail)
	}
	return email, nil
}

// cleanName returns a name without surrounding spaces and invisible characters.
func cleanName(param, text string) (string, error) {
	name := strings.TrimSpace(plain.Name(text))
	if name == "" {
		return "", problem.Missing(param)
	}
	if !utf8.ValidString(name) || utf8.RuneCountInString(name) > maxName || strings.ContainsFunc(name, unprintable) {
		return "", problem.Invalid(param, "%s must be one line of at most %d characters.", param, maxName)
	}
	return name, nil
}

// unprintable reports whether a character must not appear in a line.
func unprintable(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }
