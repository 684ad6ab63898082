package team

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/opt"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

// Kind is the purpose of a link.
type Kind string

// The kinds of links. Each works once.
const (
	SetUpLink  Kind = "setup"      // creates the first owner
	Invitation Kind = "invitation" // creates a user
	SignInLink Kind = "sign_in"    // signs a user in, up to the second factor
	ResetLink  Kind = "reset"      // sets a user's password
)

// Lifetimes of links.
const (
	setUpLife      = 24 * time.Hour
	invitationLife = 7 * 24 * time.Hour
	signInLife     = 15 * time.Minute
	resetLife      = time.Hour
	helpLife       = 24 * time.Hour // of a link passed on by an owner or the operator
)

// paths are the console pages of links.
var paths = map[Kind]string{SetUpLink: "start", Invitation: "invitation", SignInLink: "link", ResetLink: "password"}

// Link is a valid link, as its page shows it. OrgID is "" in a setup without an organization.
type Link struct {
	Kind                             Kind
	OrgID, Organization, Email, Name string
	Role                             Role
	Mailed                           bool // sent to the address only
	ExpiresAt                        clock.Time
}

// LookUp returns a link without using it, since mail scanners open links.
func (s *Service) LookUp(ctx context.Context, token string) (Link, error) {
	row, err := queries.UserLinkFind(ctx, s.Pool, db.UserLinkFindParams{
		TokenHash: secret.HashToken(token), Now: s.Clock.Now(),
	})
	l := row.UserLink
	return Link{
		Kind: Kind(l.Kind), OrgID: opt.Value(l.OrgID), Organization: row.Organization, Email: row.Address, Name: row.Name,
		Role: Role(opt.Value(l.Role)), Mailed: l.Mailed, ExpiresAt: l.ExpiresAt,
	}, linkError(err)
}

// findLink returns a link of a kind.
func (s *Service) findLink(ctx context.Context, token string, kind Kind) (Link, error) {
	l, err := s.LookUp(ctx, token)
	if err == nil && l.Kind != kind {
		return l, ErrLink
	}
	return l, err
}

// useLink uses a link up.
func (s *Service) useLink(ctx context.Context, q db.DBTX, token string, kind Kind) (db.UserLink, error) {
	l, err := queries.UserLinkUse(ctx, q, db.UserLinkUseParams{
		Now: s.Clock.Now(), TokenHash: secret.HashToken(token), Kind: string(kind),
	})
	return l, linkError(err)
}

// linkError returns ErrLink for an error of no rows.
func linkError(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrLink
	}
	return err
}

// newLink stores a link and returns its token, of which only the hash is stored.
func newLink(
	ctx context.Context, q db.DBTX, kind Kind, row db.UserLinkInsertParams, life time.Duration,
) (string, error) {
	token := rand.Text()
	row.TokenHash, row.Kind, row.ExpiresAt = secret.HashToken(token), string(kind), row.CreatedAt.Plus(life)
	return token, queries.UserLinkInsert(ctx, q, row)
}

// linkTo creates a link for a user, for another person to pass on, replaces earlier ones of its kind, and
// returns its address.
func (s *Service) linkTo(ctx context.Context, u *work.Unit, kind Kind, id string, life time.Duration) (string, error) {
	return s.insertLink(ctx, u, kind, db.UserLinkInsertParams{UserID: &id}, life)
}

// insertLink stores a link and replaces earlier ones of its user and kind.
func (s *Service) insertLink(
	ctx context.Context, u *work.Unit, kind Kind, row db.UserLinkInsertParams, life time.Duration,
) (string, error) {
	row.OrgID, row.CreatedAt = &u.OrgID, u.Now
	of := db.UserLinksVoidParams{OrgID: row.OrgID, UserID: *row.UserID, Kind: string(kind)}
	if err := queries.UserLinksVoid(ctx, u.DB(), of); err != nil {
		return "", err
	}
	token, err := newLink(ctx, u.DB(), kind, row, life)
	return s.url(kind, token), err
}

func (s *Service) url(kind Kind, token string) string {
	return s.BaseURL + "/console/" + paths[kind] + "/" + token
}

// LinkByMail mails a sign-in or password link to the users of an address. The result is the same for an unknown
// address. Links have the same limits as failures.
func (s *Service) LinkByMail(ctx context.Context, kind Kind, email string, from From) error {
	if !s.Mail.Ready() {
		return problem.New(problem.EmailNotConfigured, "This server sends no mails. Ask an owner for a link.")
	}
	if kind != SignInLink {
		kind = ResetLink // the other kind that may be mailed on request
	}
	account := "mail:" + strings.ToLower(strings.TrimSpace(email))
	if _, err := s.attempt(ctx, account, s.rememberedUser(from, email), from.Address); err != nil {
		return err
	}
	users, err := s.usersOf(ctx, email)
	if err != nil {
		return err
	}
	for _, to := range users {
		if err := s.mailLink(ctx, kind, to); err != nil {
			return err
		}
	}
	return nil
}

// mailLink mails a link to one user.
func (s *Service) mailLink(ctx context.Context, kind Kind, to db.User) error {
	return s.asPerson(to.OrgID, to.ID).Within(ctx, func(u *work.Unit) error {
		org, err := queries.OrganizationGet(ctx, u.DB(), u.OrgID)
		if err != nil {
			return err
		}
		life, message := resetLife, mail.Password
		if kind == SignInLink {
			life, message = signInLife, mail.SignIn
		}
		url, err := s.insertLink(ctx, u, kind, db.UserLinkInsertParams{UserID: &to.ID, Mailed: true}, life)
		if err != nil {
			return err
		}
		return s.Mail.Queue(ctx, u.DB(), u.OrgID, message(to.Email, secret.NameOf(url), org.Name, url), u.Now)
	})
}

// Use signs in by a link.
func (s *Service) Use(ctx context.Context, token string) (Challenge, error) {
	l, err := s.useLink(ctx, s.Pool, token, SignInLink)
	if err != nil {
		return Challenge{}, err
	}
	u, err := queries.UserGet(ctx, s.Pool, db.UserGetParams{OrgID: opt.Value(l.OrgID), ID: opt.Value(l.UserID)})
	if err == nil && u.DisabledAt != nil {
		return Challenge{}, ErrLink
	}
	if err != nil {
		return Challenge{}, linkError(err)
	}
	if err := s.markAddressProven(ctx, s.Pool, l); err != nil {
		return Challenge{}, err
	}
	return s.challenge(u)
}

// markAddressProven records that a mailed link was used, which proves the user's address.
func (s *Service) markAddressProven(ctx context.Context, q db.DBTX, l db.UserLink) error {
	if !l.Mailed {
		return nil
	}
	return queries.UserVerify(ctx, q, db.UserVerifyParams{
		Now: s.Clock.Now(), OrgID: opt.Value(l.OrgID), ID: opt.Value(l.UserID),
	})
}

// Reset sets a password by a link, and signs in.
func (s *Service) Reset(ctx context.Context, token, password string) (Challenge, error) {
	l, err := s.findLink(ctx, token, ResetLink)
	if err != nil {
		return Challenge{}, err
	}
	if err := checkPassword(password, l.Email); err != nil {
		return Challenge{}, err
	}
	hash, err := s.hash(ctx, l.Email, password)
	if err != nil {
		return Challenge{}, err
	}
	var signed db.User
	err = s.asPerson(l.OrgID, "").Within(ctx, func(u *work.Unit) error {
		used, err := s.useLink(ctx, u.DB(), token, ResetLink)
		if err != nil {
			return err
		}
		id := opt.Value(used.UserID)
		u.Actor.ID, u.Actor.User = id, id
		if err := setPassword(ctx, u, id, &hash, "", "user.password_reset"); err != nil {
			return err
		}
		if err := s.markAddressProven(ctx, u.DB(), used); err != nil {
			return err
		}
		signed, err = find(ctx, u, id)
		return err
	})
	if err != nil {
		return Challenge{}, err
	}
	return s.challenge(signed)
}

// ResetLinkFor helps a user who cannot sign in: it removes the password and, on request, the second factor, ends
// their sessions, and returns a link to set a password.
func (s *Service) ResetLinkFor(ctx context.Context, u *work.Unit, id string, drop bool) (url string, err error) {
	err = s.asManager(ctx, u, func(u *work.Unit) error {
		if _, err := find(ctx, u, id); err != nil {
			return err
		}
		if err := setPassword(ctx, u, id, nil, "", "user.reset_link_made"); err != nil {
			return err
		}
		if drop {
			if err := dropFactor(ctx)(u, id); err != nil {
				return err
			}
		}
		url, err = s.linkTo(ctx, u, ResetLink, id, helpLife)
		return err
	})
	return url, err
}
