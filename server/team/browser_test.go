package team

import (
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/problem"
)

// remember returns the token of another browser in which a user has signed in.
func (o *office) remember(u User) From {
	o.Helper()
	token, err := o.Remember(Challenge{User: u, ready: true})
	require.NoError(o, err)
	return From{Browser: token}
}

// TestBrowsersOfSameName: who owns another organization can make a user of a victim's address there, and sign in
// as it from any number of browsers. They must not get more guesses.
func TestBrowsersOfSameName(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	namesake := o.personOf(o.newOrg("Evil"), "ada", Owner)
	key, _ := o.enrolled(ada)
	challenge := o.factorToken(ada)
	for range perAccount {
		_, err := o.SignIn(t.Context(), ada.Email, "a wrong password", o.remember(namesake))
		require.ErrorIs(t, err, ErrWrong)
		_, err = o.Factor(t.Context(), challenge, "000000", o.remember(namesake))
		require.ErrorIs(t, err, ErrWrong)
		require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, o.remember(namesake)))
	}
	_, err := o.SignIn(t.Context(), ada.Email, good, o.remember(namesake))
	refused(t, err, problem.RateLimitExceeded, "")
	_, err = o.Factor(t.Context(), challenge, o.code(key, 0), o.remember(namesake))
	refused(t, err, problem.RateLimitExceeded, "")
	refused(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, o.remember(namesake)), problem.RateLimitExceeded, "")

	c, err := o.SignIn(t.Context(), ada.Email, good, o.remember(ada))
	require.NoError(t, err, "the victim's own browsers are counted apart")
	_, err = o.Factor(t.Context(), c.Token, o.code(key, 0), o.remember(ada))
	require.NoError(t, err)
	require.NoError(t, o.LinkByMail(t.Context(), SignInLink, ada.Email, o.remember(ada)))
}
