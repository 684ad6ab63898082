package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The operator creates, changes and resets users.
func TestUsers(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	org := r.object("org", "create", "--name", "Acme")["id"].(string)
	user := r.object("user", "create", "--email", "Ada@acme.example", "--name", "Ada Lovelace", "--role", "owner")
	require.ElementsMatch(t, []string{
		"id", "org_id", "email", "name", "role", "second_factor", "seen_at", "disabled_at", "created_at", "link",
	}, names(user))
	require.Equal(t, []any{org, "ada@acme.example", "Ada Lovelace", "owner", false, nil},
		[]any{user["org_id"], user["email"], user["name"], user["role"], user["second_factor"], user["disabled_at"]})
	require.Contains(t, user["link"], "/console/password/")
	listed := r.must("user", "list")
	require.Contains(t, listed, "Ada Lovelace")
	require.NotContains(t, listed, "/console/")
	id := user["id"].(string)
	require.Contains(t, r.must("user", "create", "--email", "ben@acme.example", "--name", "Ben", "--role", "viewer"),
		"Pass this link on")
	require.Equal(t, "finance", r.object("user", "role", "BEN@acme.example", "--role", "finance")["role"])
	require.NotNil(t, r.object("user", "disable", "ben@acme.example")["disabled_at"])
	require.Contains(t, r.must("user", "list"), "disabled")
	require.Nil(t, r.object("user", "enable", "ben@acme.example")["disabled_at"])
	reset := r.object("user", "reset", id, "--factor")
	require.NotEqual(t, user["link"], reset["link"])
	for args, says := range map[string]string{
		"create --name Ada --role owner":                                 "--email and --name are needed",
		"create --email cleo@acme.example --name Cleo":                   "--role is needed: owner, manager, finance, viewer",
		"create --email cleo@acme.example --name Cleo --role king":       `no role "king"`,
		"create --email cleo --name Cleo --role viewer":                  "email must be an email address",
		"create --email ben@acme.example --name Ben --role viewer":       "is already a user here",
		"role ben@acme.example":                                          "--role is needed",
		"role nobody@acme.example --role viewer":                         "rail user list shows them",
		"role " + id + " --role viewer":                                  "needs at least one owner",
		"disable " + id:                                                  "needs at least one owner",
		"disable ben@acme.example --org org_none":                        "rail user list shows them",
		"create --email a@b.example --name A --role owner --org org_not": `no organization "org_not"`,
	} {
		status, _, errs := r.run(strings.Fields("user " + args)...)
		require.NotZero(t, status, args)
		require.Contains(t, errs, says, args)
	}
	second := r.object("org", "create", "--name", "Second")["id"].(string)
	r.must("user", "create", "--email", "ada@acme.example", "--name", "Ada", "--role", "owner", "--org", second)
	status, _, errs := r.run("user", "reset", "ada@acme.example")
	require.Equal(t, 2, status)
	require.Contains(t, errs, "2 organizations have a user ada@acme.example: choose one with --org")
	require.Equal(t, second, r.object("user", "reset", "ada@acme.example", "--org", second)["org_id"])
	r.must("audit")
}

// The first page creates an organization if there is none, and an owner of the only one; with several, the
// operator creates the first user.
func TestStartLink(t *testing.T) {
	t.Parallel()
	r := newRail(t).running()
	greeted := func() string {
		var out bytes.Buffer
		env := &Env{Out: &out, Err: &out, Clock: r.now, Environ: r.environ, Terminal: true}
		require.NoError(t, withDatabase(t.Context(), env, func(d *database) error {
			return greet(context.WithoutCancel(t.Context()), env, d)
		}))
		return out.String()
	}
	require.Regexp(t, `^Console: \S+/console/start/\w+ .*\nRail listens on`, greeted())
	pool := r.opened()
	links := func() (bound int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(org_id) FROM user_links").Scan(&bound))
		return bound
	}
	require.Zero(t, links(), "there is no organization yet")
	r.must("org", "create", "--name", "Acme")
	greeted()
	require.Equal(t, 1, links())
	r.must("org", "create", "--name", "Second")
	require.Contains(t, greeted(), "rail user create --role owner creates one")
}
