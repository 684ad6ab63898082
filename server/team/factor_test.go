package team

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"github.com/stretchr/testify/require"

	"rail/server/problem"
)

// code returns an authenticator's code, some steps from now.
func (o *office) code(key string, steps int) string {
	o.Helper()
	code, err := totp.GenerateCode(key, o.clock.Now().Add(time.Duration(steps)*step*time.Second))
	require.NoError(o, err)
	return code
}

// enrolled turns on a user's second factor, a moment ago, and returns its secret.
func (o *office) enrolled(u User) (key string, recovery []string) {
	o.Helper()
	e, err := o.EnrolFactor(o.Context(), o.as(u))
	require.NoError(o, err)
	recovery, err = o.ConfirmFactor(o.Context(), o.as(u), o.code(e.Secret, 0), "")
	require.NoError(o, err)
	o.clock.Advance(10 * step * time.Second)
	return e.Secret, recovery
}

// factorToken signs in by password up to the second factor.
func (o *office) factorToken(u User) string {
	o.Helper()
	c, err := o.SignIn(o.Context(), u.Email, good, atHome)
	require.NoError(o, err)
	require.False(o, c.Ready())
	_, err = o.Begin(o.Context(), c, "", home)
	require.ErrorIs(o, err, ErrSignedOut)
	return c.Token
}

func TestEnrol(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	_, err := o.ConfirmFactor(t.Context(), o.as(ada), "000000", "")
	refused(t, err, problem.ParameterInvalid, "code")
	here, there := o.signedIn(ada), o.signedIn(ada)
	s, err := o.Session(t.Context(), here)
	require.NoError(t, err)
	e, err := o.EnrolFactor(t.Context(), o.as(ada))
	require.NoError(t, err)
	require.Contains(t, e.URL, "otpauth://totp/Rail:ada@acme.example?")
	require.Contains(t, e.URL, "secret="+e.Secret)
	require.False(t, o.get(ada).Factor, "only pending")
	require.Zero(t, o.count("SELECT count(*) FROM users WHERE position($1::bytea IN totp_pending) > 0", []byte(e.Secret)))
	_, err = o.ConfirmFactor(t.Context(), o.as(ada), o.code(e.Secret, 2), s.ID)
	refused(t, err, problem.ParameterInvalid, "code")
	codes, err := o.ConfirmFactor(t.Context(), o.as(ada), o.code(e.Secret, 0), s.ID)
	require.NoError(t, err)
	require.Len(t, codes, recoveryCodes)
	require.Regexp(t, `^([0-9a-z]{4}-){3}[0-9a-z]{4}$`, codes[0])
	require.True(t, o.get(ada).Factor)
	require.Equal(t, recoveryCodes, o.get(ada).RecoveryCodes)
	require.True(t, o.in(here))
	require.False(t, o.in(there), "it began without the second factor")
	_, err = o.EnrolFactor(t.Context(), o.as(ada))
	refused(t, err, problem.ParameterInvalid, "code")
	_, err = o.Factor(t.Context(), o.factorToken(ada), o.code(e.Secret, 0), atHome)
	require.ErrorIs(t, err, ErrWrong, "the code that confirmed is used")
}

func TestFactor(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	key, _ := o.enrolled(ada)
	for _, steps := range []int{-1, 0, 1} {
		c, err := o.Factor(t.Context(), o.factorToken(ada), o.code(key, steps), atHome)
		require.NoError(t, err, steps)
		require.True(t, c.Ready())
		token, err := o.Begin(t.Context(), c, "", home)
		require.NoError(t, err)
		require.True(t, o.in(token))
	}
	o.clock.Advance(5 * step * time.Second)
	for _, code := range []string{o.code(key, -2), o.code(key, 2), "", "12345", "1234567", "\x00\xff", strings.Repeat("0", 1000)} {
		_, err := o.Factor(t.Context(), o.factorToken(ada), code, atHome)
		require.Equal(t, ErrWrong, err, code)
	}
	code := o.code(key, 0)
	_, err := o.Factor(t.Context(), o.factorToken(ada), " "+code[:3]+" "+code[3:]+" ", atHome)
	require.NoError(t, err, "as people type it")
}

// A code and a recovery code work once, even when used concurrently.
func TestCodesOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	key, recovery := o.enrolled(ada)
	for _, code := range []string{o.code(key, 0), strings.ToUpper(recovery[3])} {
		token := o.factorToken(ada)
		won := race(t, 4, func(int) error {
			_, err := o.Factor(t.Context(), token, code, atHome)
			return err
		}, ErrWrong)
		require.Equal(t, 1, won, code)
	}
	require.Equal(t, recoveryCodes-1, o.get(ada).RecoveryCodes)
}

func TestFactorIsLimited(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	key, _ := o.enrolled(ada)
	token := o.factorToken(ada)
	for range perAccount {
		_, err := o.Factor(t.Context(), token, "000000", atHome)
		require.ErrorIs(t, err, ErrWrong)
	}
	_, err := o.Factor(t.Context(), token, o.code(key, 0), atHome)
	refused(t, err, problem.RateLimitExceeded, "")
}

// A challenge is valid for five minutes, and only for the unchanged user.
func TestChallenge(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	key, _ := o.enrolled(ada)
	token := o.factorToken(ada)
	for _, bad := range []string{"", "x", "!", token[:len(token)-2], strings.Repeat("A", 200)} {
		_, err := o.Factor(t.Context(), bad, o.code(key, 0), atHome)
		require.ErrorIs(t, err, ErrSignedOut, bad)
	}
	o.clock.Advance(challengeLife)
	_, err := o.Factor(t.Context(), token, o.code(key, 0), atHome)
	require.ErrorIs(t, err, ErrSignedOut)
	token = o.factorToken(ada)
	require.NoError(t, o.Rename(t.Context(), o.as(ada), "Ada L."))
	_, err = o.Factor(t.Context(), token, o.code(key, 0), atHome)
	require.ErrorIs(t, err, ErrSignedOut)
	token = o.factorToken(ada)
	require.NoError(t, o.Remove(t.Context(), o.as(o.person("ben", Owner)), ada.ID))
	_, err = o.Factor(t.Context(), token, o.code(key, 0), atHome)
	require.ErrorIs(t, err, ErrSignedOut)
}

// A user who enrols between password and session must enter the second factor, too.
func TestFactorMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	c, err := o.SignIn(t.Context(), ada.Email, good, atHome)
	require.NoError(t, err)
	require.True(t, c.Ready())
	o.enrolled(ada)
	_, err = o.Begin(t.Context(), c, "", home)
	require.ErrorIs(t, err, ErrSignedOut)
}

// Two concurrent enrolments turn on one second factor: the later one.
func TestEnrolTwice(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	first, err := o.EnrolFactor(t.Context(), o.as(ada))
	require.NoError(t, err)
	second, err := o.EnrolFactor(t.Context(), o.as(ada))
	require.NoError(t, err)
	_, err = o.ConfirmFactor(t.Context(), o.as(ada), o.code(first.Secret, 0), "")
	refused(t, err, problem.ParameterInvalid, "code")
	_, err = o.ConfirmFactor(t.Context(), o.as(ada), o.code(second.Secret, 0), "")
	require.NoError(t, err)
	_, err = o.Factor(t.Context(), o.factorToken(ada), o.code(second.Secret, 1), atHome)
	require.NoError(t, err)
}

func TestDropFactor(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	key, old := o.enrolled(ada)
	_, err := o.RenewRecovery(t.Context(), o.as(ada), "000000")
	refused(t, err, problem.ParameterInvalid, "code")
	fresh, err := o.RenewRecovery(t.Context(), o.as(ada), o.code(key, 0))
	require.NoError(t, err)
	refused(t, o.DropFactor(t.Context(), o.as(ada), old[0]), problem.ParameterInvalid, "code")
	require.True(t, o.get(ada).Factor)
	require.NoError(t, o.DropFactor(t.Context(), o.as(ada), fresh[0]))
	require.Equal(t, []any{false, 0}, []any{o.get(ada).Factor, o.get(ada).RecoveryCodes})
	require.NotEmpty(t, o.signedIn(ada), "the password is enough again")
	refused(t, o.DropFactor(t.Context(), o.as(ada), fresh[1]), problem.ParameterInvalid, "code")
}
