package team

import (
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"rail/server/outbound/mail"
	"rail/server/problem"
)

// mailed returns the token of the link in the latest mail of a purpose.
func (o *office) mailed(purpose string) string {
	o.Helper()
	var url string
	require.NoError(o, o.pool.QueryRow(o.Context(), `SELECT substring(plain FROM 'https://rail.example/console/\S+') FROM mails
		WHERE purpose = $1 ORDER BY created_at DESC, id DESC LIMIT 1`, purpose).Scan(&url))
	return path.Base(url)
}

// invite invites an address and returns the mailed token.
func (o *office) invite(by User, email string, role Role) string {
	o.Helper()
	url, err := o.Invite(o.Context(), o.as(by), email, role)
	require.NoError(o, err)
	require.Empty(o, url, "the link goes to the address alone")
	return o.mailed("console_invitation")
}

func TestLinkByMail(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, "Ada@acme.example", atHome))
	first := o.mailed("console_sign_in")
	o.clock.Advance(time.Second)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome))
	second := o.mailed("console_sign_in")
	_, err := o.Use(t.Context(), first)
	require.ErrorIs(t, err, ErrLink, "a later one takes its place")
	l, err := o.LookUp(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, Link{
		Kind: SignInLink, OrgID: o.org, Organization: "Acme", Email: ada.Email, Name: "ada",
		Mailed: true, ExpiresAt: o.clock.Now().Plus(signInLife),
	}, l)
	_, err = o.Reset(t.Context(), second, "another password")
	require.ErrorIs(t, err, ErrLink, "of another kind")
	c, err := o.Use(t.Context(), second)
	require.NoError(t, err)
	require.True(t, c.Ready())
	_, err = o.LookUp(t.Context(), second)
	require.ErrorIs(t, err, ErrLink)

	mails := o.count("SELECT count(*) FROM mails")
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, "nobody@acme.example", atHome))
	require.NoError(t, o.LinkByMail(t.Context(), SetUpLink, "no address\x00", atHome))
	require.Equal(t, mails, o.count("SELECT count(*) FROM mails"))
	for range perAccount - 2 {
		require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome))
	}
	refused(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome), problem.RateLimitExceeded, "")
	o.Mail = &mail.Outbox{}
	refused(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome), problem.EmailNotConfigured, "")
}

// A link works within its lifetime, for an enabled user, and up to the second factor.
func TestLinkEnds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome))
	o.clock.Advance(signInLife)
	_, err := o.Use(t.Context(), o.mailed("console_sign_in"))
	require.ErrorIs(t, err, ErrLink)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ben.Email, atHome))
	require.NoError(t, o.Disable(t.Context(), o.as(ada), ben.ID))
	_, err = o.Use(t.Context(), o.mailed("console_sign_in"))
	require.ErrorIs(t, err, ErrLink)
	o.enrolled(ada)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome))
	c, err := o.Use(t.Context(), o.mailed("console_sign_in"))
	require.NoError(t, err)
	require.False(t, c.Ready())
	for _, bad := range []string{"", "x", "\x00\xff"} {
		_, err = o.LookUp(t.Context(), bad)
		require.ErrorIs(t, err, ErrLink)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	session := o.signedIn(ada)
	require.NoError(t, o.LinkByMail(t.Context(), ResetLink, ada.Email, atHome))
	token := o.mailed("console_password")
	_, err := o.Reset(t.Context(), token, "short")
	refused(t, err, problem.ParameterInvalid, "password")
	require.True(t, o.in(session))
	won := race(t, 3, func(int) error {
		_, err := o.Reset(t.Context(), token, "another password")
		return err
	}, ErrLink)
	require.Equal(t, 1, won)
	require.False(t, o.in(session))
	_, err = o.SignIn(t.Context(), ada.Email, "another password", atHome)
	require.NoError(t, err)
}

// A sign-in link used concurrently signs in once.
func TestLinkOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, atHome))
	token := o.mailed("console_sign_in")
	require.Equal(t, 1, race(t, 5, func(int) error {
		_, err := o.Use(t.Context(), token)
		return err
	}, ErrLink))
}

func TestResetLinkFor(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Manager)
	o.enrolled(ada)
	_, err := o.ResetLinkFor(t.Context(), o.as(ben), ada.ID, true)
	refused(t, err, problem.InsufficientScope, "")
	url, err := o.ResetLinkFor(t.Context(), o.operator(), ada.ID, false)
	require.NoError(t, err)
	_, err = o.SignIn(t.Context(), ada.Email, good, atHome)
	require.ErrorIs(t, err, ErrWrong, "the old password is gone")
	c, err := o.Reset(t.Context(), path.Base(url), "another password")
	require.NoError(t, err)
	require.False(t, c.Ready(), "the second factor stays")
	url, err = o.ResetLinkFor(t.Context(), o.operator(), ada.ID, true)
	require.NoError(t, err)
	c, err = o.Reset(t.Context(), path.Base(url), "another password")
	require.NoError(t, err)
	require.True(t, c.Ready())
}

func TestInvite(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	first := o.invite(ada, " Ben@acme.example", Finance)
	token := o.invite(ada, "ben@acme.example", Manager)
	_, err := o.LookUp(t.Context(), first)
	require.ErrorIs(t, err, ErrLink, "the later one takes its place")
	open, err := o.Invited(t.Context(), o.as(ada))
	require.NoError(t, err)
	require.Equal(t, []Invited{
		{"ben@acme.example", Manager, "ada", o.clock.Now(), o.clock.Now().Plus(invitationLife)},
	}, open)
	_, err = o.Accept(t.Context(), token, "", good)
	refused(t, err, problem.ParameterMissing, "name")
	_, err = o.Accept(t.Context(), token, "Ben", "ben@acme.example")
	refused(t, err, problem.ParameterInvalid, "password")
	var ben Challenge
	require.Equal(t, 1, race(t, 3, func(int) error {
		c, err := o.Accept(t.Context(), token, "Ben", good)
		if err == nil {
			ben = c
		}
		return err
	}, ErrLink))
	require.True(t, ben.Ready())
	require.Equal(t, []any{Manager, "ben@acme.example", "Ben"}, []any{ben.User.Role, ben.User.Email, ben.User.Name})
	_, err = o.Invite(t.Context(), o.as(ada), "ben@acme.example", Viewer)
	refused(t, err, problem.ParameterInvalid, "email")
	_, err = o.Invite(t.Context(), o.as(ada), "cleo@acme.example", "king")
	refused(t, err, problem.ParameterInvalid, "role")
	_, err = o.Invite(t.Context(), o.as(ada), "cleo\x00@acme.example", Viewer)
	refused(t, err, problem.ParameterInvalid, "email")
	_, err = o.Invite(t.Context(), o.as(ben.User), "cleo@acme.example", Viewer)
	refused(t, err, problem.InsufficientScope, "")
}

// An invitation ends when it is revoked, or when its author may no longer invite.
func TestInvitationEnds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Owner)
	stranger := o.personOf(o.newOrg("Other"), "eve", Owner)
	ends := map[string]func() error{
		"taken back": func() error { return o.Uninvite(t.Context(), o.as(ada), "cleo@acme.example") },
		"demoted":    func() error { return o.ChangeRole(t.Context(), o.as(ada), ben.ID, Manager) },
		"disabled":   func() error { return o.Disable(t.Context(), o.as(ada), ben.ID) },
		"removed":    func() error { return o.Remove(t.Context(), o.as(ada), ben.ID) },
		"expired":    func() error { o.clock.Advance(invitationLife); return nil },
	}
	for _, how := range []string{"taken back", "demoted", "disabled", "removed", "expired"} {
		by := ben
		if how == "removed" || how == "expired" {
			ben = o.person("ben"+how, Owner)
			by = ben
		}
		require.NoError(t, o.Enable(t.Context(), o.as(ada), by.ID))
		require.NoError(t, o.ChangeRole(t.Context(), o.as(ada), by.ID, Owner))
		token := o.invite(by, "cleo@acme.example", Owner)
		refused(t, o.Uninvite(t.Context(), o.as(stranger), "cleo@acme.example"), problem.ResourceNotFound, "")
		require.NoError(t, ends[how]())
		_, err := o.Accept(t.Context(), token, "Cleo", good)
		require.ErrorIs(t, err, ErrLink, how)
	}
}

// An invited person who is created in the meantime is one user.
func TestInvitedAndMade(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	token := o.invite(ada, "ben@acme.example", Viewer)
	_, link, err := o.Create(t.Context(), o.operator(), NewUser{Email: "ben@acme.example", Name: "Ben", Role: Manager})
	require.NoError(t, err)
	_, err = o.Accept(t.Context(), token, "Ben", good)
	require.ErrorIs(t, err, ErrLink)
	c, err := o.Reset(t.Context(), path.Base(link), good)
	require.NoError(t, err)
	require.Equal(t, Manager, c.User.Role)
	_, _, err = o.Create(t.Context(), o.operator(), NewUser{Email: "Ben@acme.example", Name: "Ben", Role: Manager})
	refused(t, err, problem.ParameterInvalid, "email")
	_, _, err = o.Create(t.Context(), o.as(c.User), NewUser{Email: "cleo@acme.example", Name: "Cleo", Role: Owner})
	refused(t, err, problem.InsufficientScope, "")
	for param, in := range map[string]NewUser{
		"email": {Name: "Ben", Role: Viewer}, "name": {Email: "dan@acme.example", Name: "\xff", Role: Viewer},
		"role": {Email: "dan@acme.example", Name: "Dan"},
	} {
		_, _, err = o.Create(t.Context(), o.operator(), in)
		var p *problem.Error
		require.ErrorAs(t, err, &p)
		require.Equal(t, param, p.Param)
	}
}

// An organization has a maximum of users and open invitations.
func TestUserQuota(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	_, err := o.pool.Exec(t.Context(), `INSERT INTO users (id, org_id, email, name, role, created_at, updated_at)
		SELECT 'usr_' || n, $1, n || '@acme.example', 'N', 'viewer', now(), now() FROM generate_series(1, $2) n`, o.org, maxUsers-2)
	require.NoError(t, err)
	_, err = o.Invite(t.Context(), o.as(ada), "ben@acme.example", Viewer)
	require.NoError(t, err)
	_, err = o.Invite(t.Context(), o.as(ada), "ben@acme.example", Manager)
	require.NoError(t, err, "in place of the first")
	_, err = o.Invite(t.Context(), o.as(ada), "cleo@acme.example", Viewer)
	refused(t, err, problem.ParameterInvalid, "email")
	all, err := o.Users(t.Context(), o.as(ada))
	require.NoError(t, err)
	require.Len(t, all, maxUsers-1)
}
