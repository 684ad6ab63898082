package team

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"rail/gen/db"
	"rail/server/ident"
	"rail/server/opt"
	"rail/server/problem"
	"rail/server/work"
)

// maxSubject bounds a provider's subject identifier (OpenID Connect Core, 2).
const maxSubject = 255

// choiceLife is the time limit for choosing an organization.
const choiceLife = 5 * time.Minute

// choicePlace is the place for sealing the token of a choice.
const choicePlace = "team/oidc-choice"

// maxEntries bounds the organizations to choose from.
const maxEntries = 20

// Identity is a user signed in by an OpenID provider, which verified the address.
type Identity struct{ Issuer, Subject, Email, Name string }

// Entry is an organization that a person may enter, as a user or by an invitation.
type Entry struct {
	OrgID, Organization string
	Role                Role
	Invited             bool

	user db.User
	open db.UserLink
}

// SignInResult is the result of a provider's sign-in: a challenge, or a choice between entries, whose Token Choose
// takes.
type SignInResult struct {
	Challenge Challenge
	Entries   []Entry
	Token     string
}

// SignInOIDC signs in a provider's user: the linked user; else a user with its proven address or an invited
// person, who is then linked. If there is more than one candidate, they choose the organization, since strangers
// may have invited the address too. Anyone else gets the role first, if there is one organization; without a
// role they must be invited.
func (s *Service) SignInOIDC(ctx context.Context, id Identity, first Role) (SignInResult, error) {
	email, err := address(id.Email)
	if err != nil || id.Issuer == "" || !validSubject(id.Subject) {
		return SignInResult{}, ErrNotInvited
	}
	id.Email = email
	entries, err := s.entries(ctx, id)
	if err != nil {
		return SignInResult{}, err
	}
	if len(entries) == 0 {
		c, err := s.joinFirst(ctx, id, first)
		return SignInResult{Challenge: c}, err
	}
	if sure, err := s.needsNoChoice(ctx, entries); err != nil || !sure {
		return s.choose(id, entries, err)
	}
	c, err := s.enterBy(ctx, entries[0], id)
	return SignInResult{Challenge: c}, err
}

// Choose signs a provider's user in to the chosen organization.
func (s *Service) Choose(ctx context.Context, token, orgID string) (Challenge, error) {
	var c choice
	if err := s.unseal(token, choicePlace, &c); err != nil {
		return Challenge{}, err
	}
	if s.Clock.Now().UnixMicro() >= c.Until {
		return Challenge{}, ErrSignedOut
	}
	entries, err := s.entries(ctx, c.Identity)
	if err != nil {
		return Challenge{}, err
	}
	for _, e := range entries {
		if e.OrgID == orgID {
			return s.enterBy(ctx, e, c.Identity)
		}
	}
	return Challenge{}, ErrNotInvited
}

// ConnectOIDC links the caller to a provider's identity, which must have the caller's address.
func (s *Service) ConnectOIDC(ctx context.Context, u *work.Unit, id Identity) error {
	me, err := currentUser(ctx, u)
	if err != nil {
		return err
	}
	email, err := address(id.Email)
	if err != nil || email != me.Email || id.Issuer == "" || !validSubject(id.Subject) {
		return problem.New(problem.ParameterInvalid, "Your provider has another address for you than %s.", me.Email)
	}
	_, err = s.linkSubject(ctx, me, id)
	return err
}

// choice is the content of a choice's token. Until is in microseconds.
type choice struct {
	Identity Identity
	Until    int64
}

// choose returns entries to choose from, unless there was an error before.
func (s *Service) choose(id Identity, entries []Entry, err error) (SignInResult, error) {
	if err != nil {
		return SignInResult{}, err
	}
	token, err := s.seal(choice{id, s.Clock.Now().Plus(choiceLife).UnixMicro()}, choicePlace)
	return SignInResult{Entries: entries, Token: token}, err
}

// needsNoChoice reports whether no choice is needed: there is a single user, or a single invitation in the only
// organization.
func (s *Service) needsNoChoice(ctx context.Context, entries []Entry) (bool, error) {
	if len(entries) > 1 || !entries[0].Invited {
		return len(entries) == 1, nil
	}
	orgs, err := queries.OrganizationList(ctx, s.Pool)
	return len(orgs) == 1, err
}

// entries returns the organizations that an identity may enter, each once.
func (s *Service) entries(ctx context.Context, id Identity) ([]Entry, error) {
	users, err := s.usersFor(ctx, id)
	if err != nil {
		return nil, err
	}
	var out []Entry
	seen := map[string]bool{}
	for _, u := range users {
		if seen[u.OrgID] {
			continue
		}
		org, err := queries.OrganizationGet(ctx, s.Pool, u.OrgID)
		if err != nil {
			return nil, err
		}
		seen[u.OrgID] = true
		out = append(out, Entry{OrgID: u.OrgID, Organization: org.Name, Role: Role(u.Role), user: u})
	}
	invited, err := queries.InvitationsOfEmail(ctx, s.Pool, db.InvitationsOfEmailParams{
		Email: id.Email, Now: s.Clock.Now(), Lim: maxEntries,
	})
	for _, i := range invited {
		l := i.UserLink
		if org := opt.Value(l.OrgID); !seen[org] {
			seen[org] = true
			out = append(out, Entry{OrgID: org, Organization: i.Name, Role: Role(opt.Value(l.Role)), Invited: true, open: l})
		}
	}
	return out, err
}

// usersFor returns the users whom a provider's identity signs in: linked users, and users with its proven
// address.
func (s *Service) usersFor(ctx context.Context, id Identity) ([]db.User, error) {
	linked, err := queries.UsersOfSubject(ctx, s.Pool, db.UsersOfSubjectParams{
		OIDCIssuer: &id.Issuer, OIDCSubject: &id.Subject, Lim: maxEntries,
	})
	if err != nil {
		return nil, err
	}
	named, err := queries.UsersOfEmail(ctx, s.Pool, db.UsersOfEmailParams{Email: id.Email, Lim: maxEntries})
	return slices.Concat(
		slices.DeleteFunc(linked, func(u db.User) bool { return u.DisabledAt != nil }),
		slices.DeleteFunc(named, func(u db.User) bool { return u.OIDCSubject != nil || u.ProvenAt == nil }),
	), err
}

// enterBy signs in to an organization by a provider's identity.
func (s *Service) enterBy(ctx context.Context, e Entry, id Identity) (Challenge, error) {
	switch {
	case e.Invited:
		row := s.newUser(id, e.Role)
		row.OrgID = e.OrgID
		return s.createUser(ctx, row, func(u *work.Unit) error { return s.acceptInvitation(ctx, u, e.open) })
	case e.user.OIDCSubject == nil:
		return s.linkSubject(ctx, e.user, id)
	}
	return s.challenge(e.user)
}

// validSubject reports whether a subject can be stored.
func validSubject(subject string) bool {
	return subject != "" && len(subject) <= maxSubject && !strings.ContainsFunc(subject, unprintable)
}

// linkSubject links a user to the provider's identity, and signs in.
func (s *Service) linkSubject(ctx context.Context, found db.User, id Identity) (Challenge, error) {
	err := s.asPerson(found.OrgID, found.ID).Within(ctx, func(u *work.Unit) error {
		n, err := queries.UserSetSubject(ctx, u.DB(), db.UserSetSubjectParams{
			OIDCIssuer: &id.Issuer, OIDCSubject: &id.Subject, Now: u.Now, OrgID: u.OrgID, ID: found.ID,
		})
		if err == nil && n == 0 {
			return ErrSignedOut // another request linked or disabled the user
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

// newUser returns the row of a provider's new user, without the organization.
func (s *Service) newUser(id Identity, role Role) db.UserInsertParams {
	name, err := cleanName("name", id.Name)
	if err != nil {
		name = id.Email
	}
	return db.UserInsertParams{
		ID: ident.New(ident.User), Email: id.Email, Name: name, Role: string(role), OIDCIssuer: &id.Issuer,
		OIDCSubject: &id.Subject, ProvenAt: new(s.Clock.Now()),
	}
}

// joinFirst creates a provider's user with the default role.
func (s *Service) joinFirst(ctx context.Context, id Identity, first Role) (Challenge, error) {
	refusal, err := s.refusalFor(ctx, id)
	if err != nil || first == "" {
		return Challenge{}, cmp.Or(err, refusal)
	}
	orgs, err := queries.OrganizationList(ctx, s.Pool)
	if err != nil || len(orgs) != 1 {
		return Challenge{}, cmp.Or(err, refusal)
	}
	row := s.newUser(id, first)
	row.OrgID = orgs[0].ID
	return s.createUser(ctx, row, func(u *work.Unit) error {
		// A user with the address exists: disabled, of another provider, or unproven.
		_, err := queries.UserByEmail(ctx, u.DB(), db.UserByEmailParams{OrgID: u.OrgID, Email: row.Email})
		if err == nil {
			return refusal
		}
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
}

// refusalFor returns why an identity may enter no organization.
func (s *Service) refusalFor(ctx context.Context, id Identity) (refusal, err error) {
	users, err := s.usersOf(ctx, id.Email)
	for _, u := range users {
		if u.OIDCSubject == nil {
			return ErrUnproven, err
		}
	}
	return ErrNotInvited, err
}

// acceptInvitation uses an invitation up, by its row.
func (s *Service) acceptInvitation(ctx context.Context, u *work.Unit, open db.UserLink) error {
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
