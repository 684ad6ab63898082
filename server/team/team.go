// Package team has the users of the console: their roles, sign-in and sessions, and the links that invite them
// and restore their access. It is independent of HTTP.
//
// Methods with a unit expect one without a transaction and write in a separate one: passwords are hashed before
// it begins. Only owners and the operator change other users; such changes are serialized within an
// organization, and leave it an owner who can sign in.
package team

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/outbound/mail"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
	"rail/server/work/auditlog"
)

// Refusals with one answer for several causes, or without a form field. Each is a sentence for people.
var (
	// ErrWrong is the same for an unknown address and a wrong password.
	ErrWrong = errors.New("incorrect: check your input, and try again")
	// ErrLink means that a link is unknown, used, expired or of another kind.
	ErrLink = errors.New("this link is no longer valid: links work once, and for a limited time")
	// ErrSignedOut means that the session or challenge does not exist.
	ErrSignedOut = errors.New("you are no longer signed in: sign in again")
	// ErrNotInvited means that a provider's user is unknown here.
	ErrNotInvited = errors.New("you have no account here: ask an owner for an invitation")
	// ErrUnproven means that a user's address is not proven.
	ErrUnproven = errors.New("your address is not confirmed: sign in by a link mailed to it, " +
		"or with your password, and connect the provider on your account page")
	// ErrLastOwner means that a change would leave the organization without an owner.
	ErrLastOwner = errors.New("an organization needs at least one owner who can sign in: make another user an owner first")
)

// queries is stateless and shared by the package.
var queries = db.New()

// Service has the dependencies of the package. A process needs exactly one: it limits how many passwords are
// hashed at once.
type Service struct {
	Pool    *pgxpool.Pool
	Keeper  *secret.Keeper
	Mail    *mail.Outbox // may be nil or not configured, and then sends nothing
	Clock   clock.Clock
	BaseURL string // address of the service, without a trailing slash

	hashes   *hashQueue
	patience time.Duration // of a hash that waits for its turn
}

// New returns s ready for use.
func New(s Service) *Service {
	s.hashes, s.patience = &hashQueue{}, patience
	return &s
}

// asPerson returns a unit in which a person acts for themselves, such as signing in.
func (s *Service) asPerson(orgID, userID string) *work.Unit {
	actor := work.Actor{Kind: work.Person, ID: userID, User: userID}
	return work.NewRun(s.Pool, actor, s.Clock.Now()).For(orgID)
}

// asManager runs do as a change of the organization's users: one at a time, by the operator or by a present
// owner.
func (s *Service) asManager(ctx context.Context, u *work.Unit, do func(*work.Unit) error) error {
	return u.Within(ctx, func(u *work.Unit) error {
		if err := lock(ctx, u); err != nil {
			return err
		}
		if u.Actor.Kind != work.Operator {
			actor, err := currentUser(ctx, u)
			if err != nil {
				return err
			}
			if actor.DisabledAt != nil || !Role(actor.Role).ManagesPeople() {
				return problem.New(problem.InsufficientScope, "Only an owner may change users.")
			}
		}
		return do(u)
	})
}

// lock serializes changes of an organization's users.
func lock(ctx context.Context, u *work.Unit) error {
	_, err := queries.OrganizationLock(ctx, u.DB(), u.OrgID)
	return absent(err)
}

// currentUser returns the unit's user.
func currentUser(ctx context.Context, u *work.Unit) (db.User, error) {
	if u.Actor.Kind != work.Person {
		return db.User{}, problem.NotFound("")
	}
	return find(ctx, u, u.Actor.ID)
}

// absent returns the 404 of an object for an error of no rows.
func absent(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return problem.NotFound("")
	}
	return err
}

// note writes the audit log. Entries about the whole organization have its id in place of a program's
// (decisions, 261), and so are counted separately by tenant.
func note(ctx context.Context, u *work.Unit, action, target string, before, after any) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: u.OrgID, Action: action, TargetID: target, Before: before, After: after,
	})
}
