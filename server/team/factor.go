package team

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/problem"
	"rail/server/secret"
	"rail/server/work"
)

const (
	// step is the validity of a code in seconds, and drift the number of codes accepted before and after the present
	// one, since clocks differ and people type slowly (RFC 6238, 5.2).
	step  = 30
	drift = 1
	// recoveryCodes is their number. Each has 80 random bits, so that a plain hash protects it.
	recoveryCodes  = 10
	recoveryLength = 10
)

// FactorPlace returns the place for sealing a user's second factor.
func FactorPlace(id string) string { return "users.totp/" + id }

// Enrolment is the input of an authenticator app.
type Enrolment struct {
	Secret string // in base 32, for typing
	URL    string // otpauth://, for a QR code
}

// EnrolFactor creates the secret of a second factor for the caller. It is pending until ConfirmFactor.
func (s *Service) EnrolFactor(ctx context.Context, u *work.Unit) (Enrolment, error) {
	me, err := currentUser(ctx, u)
	if err != nil {
		return Enrolment{}, err
	}
	if me.TOTPSecret != nil {
		return Enrolment{}, problem.Invalid("code", "The second factor is on already: turn it off first.")
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Rail", AccountName: me.Email, Period: step, SecretSize: 20})
	if err != nil {
		return Enrolment{}, err
	}
	sealed, err := s.Keeper.Seal([]byte(key.Secret()), FactorPlace(me.ID))
	if err != nil {
		return Enrolment{}, err
	}
	err = u.Within(ctx, func(u *work.Unit) error {
		return queries.UserSetPending(ctx, u.DB(), db.UserSetPendingParams{
			TOTPPending: sealed, Now: u.Now, OrgID: u.OrgID, ID: me.ID,
		})
	})
	return Enrolment{Secret: key.Secret(), URL: key.URL()}, err
}

// ConfirmFactor turns the second factor on with a first code, and returns the recovery codes. It ends all
// sessions but keep, since they began without it.
func (s *Service) ConfirmFactor(ctx context.Context, u *work.Unit, code, keep string) ([]string, error) {
	me, err := currentUser(ctx, u)
	if err != nil {
		return nil, err
	}
	var at int64
	err = s.limited(ctx, me.ID, me.ID, "", func() (err error) {
		at, err = s.checkCode(me.ID, me.TOTPPending, code)
		return err
	})
	if err != nil {
		return nil, wrongCode(err)
	}
	shown, hashes := newRecovery()
	return shown, u.Within(ctx, func(u *work.Unit) error {
		n, err := queries.UserSetFactor(ctx, u.DB(), db.UserSetFactorParams{
			TOTPUsed: at, RecoveryHashes: hashes, Now: u.Now, OrgID: u.OrgID, ID: me.ID, TOTPPending: me.TOTPPending,
		})
		if err == nil && n == 0 {
			return wrongCode(ErrWrong) // another enrolment has begun since
		}
		if err != nil {
			return err
		}
		if err := endSessions(ctx, u, me.ID, keep); err != nil {
			return err
		}
		return note(ctx, u, "user.factor_enrolled", me.ID, nil, nil)
	})
}

// RenewRecovery replaces the recovery codes, for a code.
func (s *Service) RenewRecovery(ctx context.Context, u *work.Unit, code string) ([]string, error) {
	shown, hashes := newRecovery()
	return shown, s.withCode(ctx, u, code, func(u *work.Unit, id string) error {
		p := db.UserSetRecoveryParams{RecoveryHashes: hashes, Now: u.Now, OrgID: u.OrgID, ID: id}
		if err := queries.UserSetRecovery(ctx, u.DB(), p); err != nil {
			return err
		}
		return note(ctx, u, "user.recovery_renewed", id, nil, nil)
	})
}

// DropFactor turns the second factor off, for a code.
func (s *Service) DropFactor(ctx context.Context, u *work.Unit, code string) error {
	return s.withCode(ctx, u, code, dropFactor(ctx))
}

// dropFactor returns a function that turns a user's second factor off.
func dropFactor(ctx context.Context) func(*work.Unit, string) error {
	return func(u *work.Unit, id string) error {
		p := db.UserDropFactorParams{Now: u.Now, OrgID: u.OrgID, ID: id}
		if err := queries.UserDropFactor(ctx, u.DB(), p); err != nil {
			return err
		}
		return note(ctx, u, "user.factor_dropped", id, nil, nil)
	}
}

// withCode checks a code of the caller, and then runs do.
func (s *Service) withCode(ctx context.Context, u *work.Unit, code string, do func(*work.Unit, string) error) error {
	me, err := currentUser(ctx, u)
	if err != nil {
		return err
	}
	if err := s.limited(ctx, me.ID, me.ID, "", func() error { return s.takeCode(ctx, me, code) }); err != nil {
		return wrongCode(err)
	}
	return u.Within(ctx, func(u *work.Unit) error { return do(u, me.ID) })
}

// wrongCode names the field of a wrong code.
func wrongCode(err error) error {
	if errors.Is(err, ErrWrong) {
		return problem.Invalid("code", "The code is wrong, or was used already. Wait for the next one.")
	}
	return err
}

// takeCode uses a code of a user once, or returns ErrWrong.
func (s *Service) takeCode(ctx context.Context, u db.User, code string) error {
	code = asMade(code)
	var n int64
	var err error
	if len(code) == otp.DigitsSix.Length() {
		at, wrong := s.checkCode(u.ID, u.TOTPSecret, code)
		if wrong != nil {
			return wrong
		}
		n, err = queries.UserUseStep(ctx, s.Pool, db.UserUseStepParams{Step: at, OrgID: u.OrgID, ID: u.ID})
	} else {
		n, err = queries.UserUseRecovery(ctx, s.Pool, db.UserUseRecoveryParams{
			Hash: secret.HashToken(code), OrgID: u.OrgID, ID: u.ID,
		})
	}
	if err == nil && n == 0 {
		return ErrWrong
	}
	return err
}

// checkCode returns the time step of a code, or ErrWrong.
func (s *Service) checkCode(id string, sealed []byte, code string) (int64, error) {
	if sealed == nil {
		return 0, ErrWrong
	}
	key, err := s.Keeper.Open(sealed, FactorPlace(id))
	if err != nil {
		return 0, err
	}
	present := clock.Wall(s.Clock).Now().Unix() / step // as the device with the codes
	for at := present - drift; at <= present+drift; at++ {
		if hotp.Validate(asMade(code), uint64(at), string(key)) {
			return at, nil
		}
	}
	return 0, ErrWrong
}

// asMade normalizes a code, without separators that people type.
func asMade(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(code)))
}

// letters is the alphabet of recovery codes, the same as in ids, without look-alike characters.
var letters = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newRecovery returns new recovery codes, and their hashes.
func newRecovery() (shown []string, hashes [][]byte) {
	for range recoveryCodes {
		var raw [recoveryLength]byte
		_, _ = rand.Read(raw[:]) // never fails: crypto/rand aborts the program instead
		code := letters.EncodeToString(raw[:])
		shown = append(shown, fmt.Sprintf("%s-%s-%s-%s", code[:4], code[4:8], code[8:12], code[12:]))
		hashes = append(hashes, secret.HashToken(code))
	}
	return shown, hashes
}
