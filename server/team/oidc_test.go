package team

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/gen/db"
	"rail/server/problem"
)

func identity(name string) Identity {
	return Identity{Issuer: "https://id.example", Subject: "sub-" + name, Email: name + "@Acme.example", Name: name}
}

// byProvider signs in by a provider, without a choice.
func (o *office) byProvider(id Identity, first Role) (Challenge, error) {
	o.Helper()
	signIn, err := o.SignInOIDC(o.Context(), id, first)
	require.Empty(o, signIn.Entries)
	return signIn.Challenge, err
}

// prove signs a user in by a mailed link.
func (o *office) prove(u User) {
	o.Helper()
	require.NoError(o, o.LinkByMail(o.Context(), SignInLink, u.Email, atHome))
	_, err := o.Use(o.Context(), o.mailed("console_sign_in"))
	require.NoError(o, err)
}

func TestSignInOIDC(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	_, err := o.byProvider(identity("ada"), "")
	require.ErrorIs(t, err, ErrUnproven, "an owner wrote the address")
	o.prove(ada)
	o.prove(ben)
	c, err := o.byProvider(identity("ada"), "")
	require.NoError(t, err)
	require.True(t, c.Ready())
	require.Equal(t, ada.ID, c.User.ID, "by the address")
	require.True(t, o.get(ada).OIDC)
	moved := identity("ada")
	moved.Email = "ada@elsewhere.example"
	c, err = o.byProvider(moved, "")
	require.NoError(t, err)
	require.Equal(t, ada.ID, c.User.ID, "by the subject, whatever the address")
	thief := identity("ada")
	thief.Subject = "sub-other"
	_, err = o.byProvider(thief, Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "the user is another's")
	thief = identity("ada")
	thief.Issuer = "https://other.example"
	_, err = o.byProvider(thief, Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "a subject is of its issuer")

	o.enrolled(ada)
	c, err = o.byProvider(identity("ada"), "")
	require.NoError(t, err)
	require.False(t, c.Ready(), "the second factor is asked for, too")

	_, err = o.byProvider(identity("ben"), "")
	require.NoError(t, err)
	require.NoError(t, o.Disable(t.Context(), o.as(ada), ben.ID))
	_, err = o.byProvider(identity("ben"), Viewer)
	require.ErrorIs(t, err, ErrNotInvited)
	moved = identity("ben")
	moved.Subject = "sub-ben-2"
	_, err = o.byProvider(moved, Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "nor under another subject")
	for _, bad := range []Identity{
		{}, {Issuer: "i", Subject: "s"}, {Issuer: "i", Email: "a@acme.example"},
		{Issuer: "i", Subject: "s\x00", Email: "a@acme.example"},
	} {
		_, err = o.byProvider(bad, Viewer)
		require.ErrorIs(t, err, ErrNotInvited)
	}
}

func TestJoinByOIDC(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	_, err := o.byProvider(identity("cleo"), "")
	require.ErrorIs(t, err, ErrNotInvited)
	_, err = o.Invite(t.Context(), o.as(ada), "cleo@acme.example", Finance)
	require.NoError(t, err)
	c, err := o.byProvider(identity("cleo"), Viewer)
	require.NoError(t, err)
	require.Equal(t, []any{Finance, true, false}, []any{c.User.Role, c.User.OIDC, c.User.Password}, "as invited")
	open, err := o.Invited(t.Context(), o.as(ada))
	require.NoError(t, err)
	require.Empty(t, open)
	nameless := identity("dan")
	nameless.Name = ""
	c, err = o.byProvider(nameless, Viewer)
	require.NoError(t, err)
	require.Equal(t, []any{Viewer, "dan@acme.example"}, []any{c.User.Role, c.User.Name})
	_, err = o.SignIn(t.Context(), "dan@acme.example", "", atHome)
	require.ErrorIs(t, err, ErrWrong, "who has no password signs in with none")
	o.newOrg("Other")
	_, err = o.byProvider(identity("eve"), Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "of which organization is not known")
}

// TestOIDCAsksToChoose: an organization whose owner entered an address, and even accepted the invitation in its place,
// does not get the person by the provider; a person with several organizations, or invited by one of several,
// must choose.
func TestOIDCAsksToChoose(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	evil := o.newOrg("Evil Ltd")
	mallory := o.personOf(evil, "mallory", Owner)
	o.Mail.Configured = false
	url, err := o.Invite(t.Context(), o.as(mallory), "cleo@acme.example", Owner)
	require.NoError(t, err)
	stolen, err := o.Accept(t.Context(), path.Base(url), "Cleo", good)
	require.NoError(t, err)
	o.Mail.Configured = true
	_, err = o.SignInOIDC(t.Context(), identity("cleo"), "")
	require.ErrorIs(t, err, ErrUnproven)
	o.invite(ada, "cleo@acme.example", Finance)
	signIn, err := o.SignInOIDC(t.Context(), identity("cleo"), "")
	require.NoError(t, err)
	require.False(t, signIn.Challenge.Ready())
	require.Equal(t, [][]any{{o.org, "Acme", Finance, true}}, offered(signIn))
	_, err = o.Choose(t.Context(), signIn.Token, evil)
	require.ErrorIs(t, err, ErrNotInvited)
	c, err := o.Choose(t.Context(), signIn.Token, o.org)
	require.NoError(t, err)
	require.Equal(t, []any{o.org, Finance, true}, []any{c.User.OrgID, c.User.Role, c.Ready()})
	again, err := o.byProvider(identity("cleo"), "")
	require.NoError(t, err)
	require.Equal(t, c.User.ID, again.User.ID)
	require.False(t, o.get(stolen.User).OIDC)

	// Cleo also uses the mail that names Evil Ltd.
	require.NoError(t, queries.UserVerify(t.Context(), o.pool, db.UserVerifyParams{Now: o.clock.Now(), OrgID: evil, ID: stolen.User.ID}))
	signIn, err = o.SignInOIDC(t.Context(), identity("cleo"), "")
	require.NoError(t, err)
	require.Equal(t, [][]any{{o.org, "Acme", Finance, false}, {evil, "Evil Ltd", Owner, false}}, offered(signIn))
	o.clock.Advance(choiceLife)
	_, err = o.Choose(t.Context(), signIn.Token, o.org)
	require.ErrorIs(t, err, ErrSignedOut)
}

// offered returns the entries of a choice.
func offered(k SignInResult) (out [][]any) {
	for _, e := range k.Entries {
		out = append(out, []any{e.OrgID, e.Organization, e.Role, e.Invited})
	}
	return out
}

// TestMailedLinksProve: a mailed link proves the address, one passed on in another way does not.
func TestMailedLinksProve(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	url, err := o.ResetLinkFor(t.Context(), o.as(ada), ben.ID, false)
	require.NoError(t, err)
	_, err = o.Reset(t.Context(), path.Base(url), good)
	require.NoError(t, err)
	_, err = o.byProvider(identity("ben"), "")
	require.ErrorIs(t, err, ErrUnproven)
	require.NoError(t, o.LinkByMail(t.Context(), ResetLink, ben.Email, atHome))
	_, err = o.Reset(t.Context(), o.mailed("console_password"), good)
	require.NoError(t, err)
	_, err = o.byProvider(identity("ben"), "")
	require.NoError(t, err)
	_, err = o.Accept(t.Context(), o.invite(ada, "dan@acme.example", Viewer), "Dan", good)
	require.NoError(t, err)
	_, err = o.byProvider(identity("dan"), "")
	require.NoError(t, err)

	refused(t, o.ConnectOIDC(t.Context(), o.as(ada), identity("eve")), problem.ParameterInvalid, "")
	require.NoError(t, o.ConnectOIDC(t.Context(), o.as(ada), identity("ada")))
	_, err = o.byProvider(identity("ada"), "")
	require.NoError(t, err)
}

// TestUnseenCharacters: addresses and names have no invisible characters, even from a provider.
func TestUnseenCharacters(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	for _, r := range []string{"\u200b", "\u202e", "\u00ad", "\u2028", "\ue000", "\u3164"} {
		_, err := o.Invite(t.Context(), o.as(ada), "cleo"+r+"@acme.example", Viewer)
		refused(t, err, problem.ParameterInvalid, "email")
		id := identity("cleo")
		id.Email = "cleo" + r + "@acme.example"
		_, err = o.SignInOIDC(t.Context(), id, Viewer)
		require.ErrorIs(t, err, ErrNotInvited)
	}
	id := identity("cleo")
	id.Name = "\u202eCleo\u200b Lee\u2066"
	c, err := o.byProvider(id, Viewer)
	require.NoError(t, err)
	require.Equal(t, "Cleo Lee", c.User.Name)
	require.NoError(t, o.Rename(t.Context(), o.as(ada), "A\u00adda\ufeff"))
	require.Equal(t, "Ada", o.get(ada).Name)
}
