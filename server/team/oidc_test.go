package team

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func identity(name string) Identity {
	return Identity{Issuer: "https://id.example", Subject: "sub-" + name, Email: name + "@Acme.example", Name: name}
}

func TestSignInOIDC(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	c, err := o.SignInOIDC(t.Context(), identity("ada"), "")
	require.NoError(t, err)
	require.True(t, c.Ready())
	require.Equal(t, ada.ID, c.User.ID, "by the address")
	require.True(t, o.get(ada).OIDC)
	moved := identity("ada")
	moved.Email = "ada@elsewhere.example"
	c, err = o.SignInOIDC(t.Context(), moved, "")
	require.NoError(t, err)
	require.Equal(t, ada.ID, c.User.ID, "by the subject, whatever the address")
	thief := identity("ada")
	thief.Subject = "sub-other"
	_, err = o.SignInOIDC(t.Context(), thief, Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "the user is another's")
	thief = identity("ada")
	thief.Issuer = "https://other.example"
	_, err = o.SignInOIDC(t.Context(), thief, Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "a subject is of its issuer")

	o.enrolled(ada)
	c, err = o.SignInOIDC(t.Context(), identity("ada"), "")
	require.NoError(t, err)
	require.False(t, c.Ready(), "the second factor is asked for, too")

	_, err = o.SignInOIDC(t.Context(), identity("ben"), "")
	require.NoError(t, err)
	require.NoError(t, o.Disable(t.Context(), o.as(ada), ben.ID))
	_, err = o.SignInOIDC(t.Context(), identity("ben"), Viewer)
	require.ErrorIs(t, err, ErrNotInvited)
	moved = identity("ben")
	moved.Subject = "sub-ben-2"
	_, err = o.SignInOIDC(t.Context(), moved, Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "nor under another subject")
	for _, bad := range []Identity{
		{}, {Issuer: "i", Subject: "s"}, {Issuer: "i", Email: "a@acme.example"},
		{Issuer: "i", Subject: "s\x00", Email: "a@acme.example"},
	} {
		_, err = o.SignInOIDC(t.Context(), bad, Viewer)
		require.ErrorIs(t, err, ErrNotInvited)
	}
}

func TestJoinByOIDC(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	_, err := o.SignInOIDC(t.Context(), identity("cleo"), "")
	require.ErrorIs(t, err, ErrNotInvited)
	_, err = o.Invite(t.Context(), o.as(ada), "cleo@acme.example", Finance)
	require.NoError(t, err)
	c, err := o.SignInOIDC(t.Context(), identity("cleo"), Viewer)
	require.NoError(t, err)
	require.Equal(t, []any{Finance, true, false}, []any{c.User.Role, c.User.OIDC, c.User.Password}, "as invited")
	open, err := o.Invited(t.Context(), o.as(ada))
	require.NoError(t, err)
	require.Empty(t, open)
	nameless := identity("dan")
	nameless.Name = ""
	c, err = o.SignInOIDC(t.Context(), nameless, Viewer)
	require.NoError(t, err)
	require.Equal(t, []any{Viewer, "dan@acme.example"}, []any{c.User.Role, c.User.Name})
	_, err = o.SignIn(t.Context(), "dan@acme.example", "", home)
	require.ErrorIs(t, err, ErrWrong, "who has no password signs in with none")
	o.newOrg("Other")
	_, err = o.SignInOIDC(t.Context(), identity("eve"), Viewer)
	require.ErrorIs(t, err, ErrNotInvited, "of which organization is not known")
}
