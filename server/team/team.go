// Package team is who works in the console: users with roles, how they sign in, their
// sessions, and the links that invite them and help them back in. It knows no HTTP.
//
// Methods that take a unit take one without a transaction and write in one of their own:
// passwords are hashed before it begins. Changes of people are the owners' and the
// operator's, take turns within an organization, and leave it an owner who can sign in.
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

// What is refused with one answer for several causes, or not because of a field of a
// form. Each is a sentence for people.
var (
	// ErrWrong is the same for an unknown address and a wrong password.
	ErrWrong = errors.New("that is not right: check what you entered, and try again")
	// ErrLink means that a link is unknown, used, expired or of another kind.
	ErrLink = errors.New("this link does not work any more: links work once, and for a limited time")
	// ErrSignedOut means that there is no such session or challenge.
	ErrSignedOut = errors.New("you are not signed in any more: sign in again")
	// ErrNotInvited means that a provider knows somebody who is no user here.
	ErrNotInvited = errors.New("you have no account here: ask an owner for an invitation")
	// ErrUnproven means that nobody has shown that a user's address is theirs.
	ErrUnproven = errors.New("your address is not confirmed here: sign in by a link that is mailed to it, " +
		"or with your password and connect the provider on the page of your account")
	// ErrLastOwner means that a change would leave nobody who manages people.
	ErrLastOwner = errors.New("an organization keeps at least one owner who can sign in: make somebody else an owner first")
)

// queries is stateless; all of the package shares it.
var queries = db.New()

// Service is what the rules on people need. One serves a process: it bounds how many
// passwords are hashed at once.
type Service struct {
	Pool    *pgxpool.Pool
	Keeper  *secret.Keeper
	Mail    *mail.Outbox // what may be nil or not set up, and then sends nothing
	Clock   clock.Clock
	BaseURL string // where the service is reached, without a slash at its end

	turns    *turns
	patience time.Duration // of a hash that waits for its turn
}

// New returns s ready for use.
func New(s Service) *Service {
	s.turns, s.patience = &turns{}, patience
	return &s
}

// by returns a unit in which a person acts for themselves, such as signing in.
func (s *Service) by(orgID, userID string) *work.Unit {
	actor := work.Actor{Kind: work.Person, ID: userID, User: userID}
	return work.NewRun(s.Pool, actor, s.Clock.Now()).For(orgID)
}

// managing runs do as a change of the organization's people: one at a time, by the
// operator or by somebody who is an owner then.
func (s *Service) managing(ctx context.Context, u *work.Unit, do func(*work.Unit) error) error {
	return u.Within(ctx, func(u *work.Unit) error {
		if err := lock(ctx, u); err != nil {
			return err
		}
		if u.Actor.Kind != work.Operator {
			actor, err := acting(ctx, u)
			if err != nil {
				return err
			}
			if actor.DisabledAt != nil || !Role(actor.Role).ManagesPeople() {
				return problem.New(problem.InsufficientScope, "Only an owner may change who works here.")
			}
		}
		return do(u)
	})
}

// lock lets changes of an organization's people take turns.
func lock(ctx context.Context, u *work.Unit) error {
	_, err := queries.OrganizationLock(ctx, u.DB(), u.OrgID)
	return absent(err)
}

// acting returns the user who acts in a unit.
func acting(ctx context.Context, u *work.Unit) (db.User, error) {
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

// note writes the log. What concerns all of an organization is there under its own id in
// place of a program's (decisions, 261), and so is counted apart by tenant.
func note(ctx context.Context, u *work.Unit, action, target string, before, after any) error {
	return auditlog.Record(ctx, u, auditlog.Entry{
		ProgramID: u.OrgID, Action: action, TargetID: target, Before: before, After: after,
	})
}
