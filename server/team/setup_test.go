package team

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"rail/server/problem"
)

func TestSetUp(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first, err := o.StartLink(t.Context(), "")
	require.NoError(t, err)
	require.Contains(t, first, "https://rail.example/console/start/")
	url, err := o.StartLink(t.Context(), "")
	require.NoError(t, err)
	_, err = o.LookUp(t.Context(), path.Base(first))
	require.ErrorIs(t, err, ErrLink, "each start makes another")
	token := path.Base(url)
	l, err := o.LookUp(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, Link{Kind: SetUpLink, ExpiresAt: o.clock.Now().Plus(setUpLife)}, l)
	whole := SetUp{Organization: "Shop", Name: "Ada", Email: "Ada@shop.example", Password: good}
	for param, part := range map[string]SetUp{
		"organization": {Name: "Ada", Email: "ada@shop.example", Password: good},
		"name":         {Organization: "Shop", Email: "ada@shop.example", Password: good},
		"email":        {Organization: "Shop", Name: "Ada", Password: good},
		"password":     {Organization: "Shop", Name: "Ada", Email: "ada@shop.example"},
	} {
		_, err = o.SetUp(t.Context(), token, part)
		refused(t, err, problem.ParameterMissing, param)
	}
	_, err = o.Accept(t.Context(), token, "Ada", good)
	require.ErrorIs(t, err, ErrLink, "of another kind")
	var c Challenge
	require.Equal(t, 1, race(t, 3, func(int) error {
		challenge, err := o.SetUp(t.Context(), token, whole)
		if err == nil {
			c = challenge
		}
		return err
	}, ErrLink))
	require.True(t, c.Ready())
	require.Equal(t, []any{Owner, "ada@shop.example"}, []any{c.User.Role, c.User.Email})
	session, err := o.Begin(t.Context(), c, "", home)
	require.NoError(t, err)
	s, err := o.Session(t.Context(), session)
	require.NoError(t, err)
	require.Equal(t, []any{"Shop", new("ada@shop.example")}, []any{s.Org.Name, s.Org.OwnerEmail})
	url, err = o.StartLink(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, url, "there is a user")
}

// The first owner of an existing organization.
func TestSetUpOfOrganization(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	url, err := o.StartLink(t.Context(), o.org)
	require.NoError(t, err)
	l, err := o.LookUp(t.Context(), path.Base(url))
	require.NoError(t, err)
	require.Equal(t, []string{o.org, "Acme"}, []string{l.OrgID, l.Organization})
	c, err := o.SetUp(t.Context(), path.Base(url), SetUp{Name: "Ada", Email: "ada@acme.example", Password: good})
	require.NoError(t, err)
	require.Equal(t, o.org, c.User.OrgID)
	require.Equal(t, int64(1), o.count("SELECT count(*) FROM organizations"))
}

// An earlier link creates no second first owner.
func TestSetUpMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	url, err := o.StartLink(t.Context(), o.org)
	require.NoError(t, err)
	o.person("ben", Owner)
	_, err = o.SetUp(t.Context(), path.Base(url), SetUp{Name: "Ada", Email: "ada@acme.example", Password: good})
	require.ErrorIs(t, err, ErrLink)
	o.clock.Advance(setUpLife)
	_, err = o.LookUp(t.Context(), path.Base(url))
	require.ErrorIs(t, err, ErrLink)
}
