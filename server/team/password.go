package team

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"rail/gen/db"
	"rail/server/problem"
	"rail/server/work"
)

const (
	// minPassword and maxPassword bound a password in characters. Length makes it strong; no kind of character is
	// required (NIST SP 800-63B).
	minPassword = 12
	maxPassword = 200
	// minDistinct refuses passwords of one or two repeated characters.
	minDistinct = 5
)

// cost is OWASP's recommendation for argon2id: 19 MiB, two passes, one lane.
var cost = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// unusableHash is a hash that no password matches, for users without one: comparing with it takes as long as with a
// real one.
const unusableHash = "$argon2id$v=19$m=19456,t=2,p=1$cmFpbC9ub2JvZHkvcmFpbA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// checkPassword refuses a weak password for the user of an address.
func checkPassword(password, email string) error {
	distinct := map[rune]bool{}
	for _, r := range password {
		distinct[r] = true
	}
	local, _, _ := strings.Cut(email, "@")
	n := utf8.RuneCountInString(password)
	switch {
	case password == "":
		return problem.Missing("password")
	case !utf8.ValidString(password):
		return problem.Invalid("password", "password must be text.")
	case n < minPassword || n > maxPassword:
		return problem.Invalid("password", "password must have %d to %d characters.", minPassword, maxPassword)
	case len(distinct) < minDistinct:
		return problem.Invalid("password", "password must have at least %d different characters.", minDistinct)
	case strings.EqualFold(password, email) || strings.EqualFold(password, local):
		return problem.Invalid("password", "password must not be your email address.")
	}
	return nil
}

// hash returns the hash of a known user's password: a link or a session identified the user.
func (s *Service) hash(ctx context.Context, email, password string) (string, error) {
	done, err := s.hashes.acquire(ctx, email, true, s.patience)
	if err != nil {
		return "", err
	}
	defer done()
	return argon2id.CreateHash(password, cost)
}

// findByPassword returns the first of the users with that password, or ErrWrong, when the queue admits the key. A miss
// costs the same number of hashes for any number of users, that of the address with the most users, so that the timing
// does not reveal whether an address is known.
func (s *Service) findByPassword(ctx context.Context, users []db.User, password, key string,
	known bool) (db.User, error) {
	if utf8.RuneCountInString(password) > maxPassword {
		return db.User{}, ErrWrong
	}
	most, err := queries.UsersPerEmail(ctx, s.Pool, maxTried)
	if err != nil {
		return db.User{}, err
	}
	done, err := s.hashes.acquire(ctx, key, known, s.patience)
	if err != nil {
		return db.User{}, err
	}
	defer done()
	for n := range max(1, int(most), len(users)) {
		hash := unusableHash
		if n < len(users) && users[n].PasswordHash != nil {
			hash = *users[n].PasswordHash
		}
		ok, err := argon2id.ComparePasswordAndHash(password, hash)
		if err != nil {
			return db.User{}, err
		}
		if ok && hash != unusableHash {
			return users[n], nil
		}
	}
	return db.User{}, ErrWrong
}

// ChangePassword changes the caller's password, given the current one if there is one, and ends all their
// sessions but keep.
func (s *Service) ChangePassword(ctx context.Context, u *work.Unit, current, password, keep string) error {
	me, err := currentUser(ctx, u)
	if err != nil {
		return err
	}
	if me.PasswordHash != nil {
		err = s.limited(ctx, me.Email, me.ID, "", func() error {
			_, err := s.findByPassword(ctx, []db.User{me}, current, me.Email, true)
			return err
		})
	}
	if errors.Is(err, ErrWrong) {
		return problem.Invalid("current_password", "That is not your current password.")
	}
	if err != nil {
		return err
	}
	if err := checkPassword(password, me.Email); err != nil {
		return err
	}
	hash, err := s.hash(ctx, me.Email, password)
	if err != nil {
		return err
	}
	return u.Within(ctx, func(u *work.Unit) error {
		return setPassword(ctx, u, me.ID, &hash, keep, "user.password_changed")
	})
}

// setPassword sets or removes a password, and ends the sessions (but keep) and links that the old one protected.
func setPassword(ctx context.Context, u *work.Unit, id string, hash *string, keep, action string) error {
	p := db.UserSetPasswordParams{PasswordHash: hash, Now: u.Now, OrgID: u.OrgID, ID: id}
	if err := queries.UserSetPassword(ctx, u.DB(), p); err != nil {
		return err
	}
	if err := endSessions(ctx, u, id, keep); err != nil {
		return err
	}
	if err := queries.UserLinksVoid(ctx, u.DB(), db.UserLinksVoidParams{OrgID: &u.OrgID, UserID: id}); err != nil {
		return err
	}
	return note(ctx, u, action, id, nil, nil)
}
