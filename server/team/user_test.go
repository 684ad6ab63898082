package team

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/problem"
	"rail/server/work"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	for role, want := range map[Role][]bool{ // reads, changes partners, decides commissions, confirms payouts
		Owner: {true, true, true, true}, Manager: {true, true, true, false}, Finance: {true, false, true, true},
		Viewer: {true, false, false, false}, "": {false, false, false, false},
	} {
		scopes, without := role.Scopes()
		var may []bool
		for _, scope := range []string{"read", "partners:write", "commissions:write", auth.ScopePayouts} {
			key := auth.Actor{Scopes: scopes}
			taken := len(without) > 0 && without[0] == scope
			may = append(may, key.Allows([]string{scope}) && !taken)
		}
		require.Equal(t, want, may, role)
		require.Equal(t, want[3], role.ConfirmsPayouts(), role)
		require.Equal(t, role == Owner, role.ManagesPeople(), role)
		for _, s := range append(scopes, without...) {
			require.Contains(t, auth.Scopes, s)
		}
	}
}

// Users of another organization are not found, and only owners change users.
func TestManaging(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Viewer)
	eve := o.personOf(o.newOrg("Other"), "eve", Owner)
	finance := o.person("fin", Finance)
	changes := map[string]func(*work.Unit, string) error{
		"role":    func(u *work.Unit, id string) error { return o.ChangeRole(t.Context(), u, id, Manager) },
		"disable": func(u *work.Unit, id string) error { return o.Disable(t.Context(), u, id) },
		"enable":  func(u *work.Unit, id string) error { return o.Enable(t.Context(), u, id) },
		"remove":  func(u *work.Unit, id string) error { return o.Remove(t.Context(), u, id) },
		"reset": func(u *work.Unit, id string) error {
			_, err := o.ResetLinkFor(t.Context(), u, id, true)
			return err
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			refused(t, change(o.as(eve), ben.ID), problem.ResourceNotFound, "")
			refused(t, change(o.as(ben), ada.ID), problem.InsufficientScope, "")
			refused(t, change(o.as(finance), ben.ID), problem.InsufficientScope, "")
			refused(t, change(o.as(ada), "usr_0"), problem.ResourceNotFound, "")
			refused(t, change(o.as(ada), "usr_\x00"), problem.ResourceNotFound, "")
			key := o.as(ada)
			key.Actor = work.Actor{Kind: work.APIKey, ID: ada.ID}
			refused(t, change(key, ben.ID), problem.ResourceNotFound, "")
		})
	}
	_, err := o.User(t.Context(), o.as(eve), ben.ID)
	refused(t, err, problem.ResourceNotFound, "")
	all, err := o.Users(t.Context(), o.as(eve))
	require.NoError(t, err)
	require.Len(t, all, 1)
	refused(t, o.ChangeRole(t.Context(), o.as(ada), ben.ID, "king"), problem.ParameterInvalid, "role")
}

// A change takes effect at once: sessions and links end.
func TestDisable(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada, ben := o.person("ada", Owner), o.person("ben", Owner)
	session := o.signedIn(ben)
	require.NoError(t, o.Disable(t.Context(), o.as(ada), ben.ID))
	require.False(t, o.in(session))
	require.NotNil(t, o.get(ben).DisabledAt)
	refused(t, o.Enable(t.Context(), o.as(ben), ben.ID), problem.InsufficientScope, "")
	require.NoError(t, o.Enable(t.Context(), o.as(ada), ben.ID))
	require.False(t, o.in(session), "it has ended")
	session = o.signedIn(ben)
	require.NoError(t, o.Remove(t.Context(), o.as(ada), ben.ID))
	require.False(t, o.in(session))
	_, err := o.SignIn(t.Context(), ben.Email, good, atHome)
	require.ErrorIs(t, err, ErrWrong)
}

// Two owners demote, disable or remove each other concurrently: one stays.
func TestOwnersRace(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, change := range map[string]func(context.Context, *work.Unit, string) error{
		"disable": o.Disable,
		"remove":  o.Remove,
		"demote": func(ctx context.Context, u *work.Unit, id string) error {
			return o.ChangeRole(ctx, u, id, Viewer)
		},
	} {
		org := o.newOrg(name)
		pair := []User{o.personOf(org, "a", Owner), o.personOf(org, "b", Owner)}
		errs := make([]error, 2)
		race(t, 2, func(i int) error {
			errs[i] = change(t.Context(), o.as(pair[i]), pair[1-i].ID)
			return nil
		})
		owners, err := queries.OwnersCount(t.Context(), o.pool, org)
		require.NoError(t, err)
		require.Equal(t, int64(1), owners, name)
		lost := errs[0]
		if lost == nil {
			lost = errs[1]
		}
		if name == "remove" {
			refused(t, lost, problem.ResourceNotFound, "")
		} else {
			refused(t, lost, problem.InsufficientScope, "")
		}
	}
}

func TestLastOwner(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	ben := o.person("ben", Owner)
	require.NoError(t, o.Disable(t.Context(), o.as(ada), ben.ID))
	for _, u := range []*work.Unit{o.as(ada), o.operator()} {
		require.ErrorIs(t, o.ChangeRole(t.Context(), u, ada.ID, Manager), ErrLastOwner)
		require.ErrorIs(t, o.Disable(t.Context(), u, ada.ID), ErrLastOwner)
		require.ErrorIs(t, o.Remove(t.Context(), u, ada.ID), ErrLastOwner)
	}
	require.Equal(t, Owner, o.get(ada).Role)
	require.NoError(t, o.Enable(t.Context(), o.as(ada), ben.ID))
	require.NoError(t, o.ChangeRole(t.Context(), o.as(ada), ada.ID, Manager), "another is left")

	cleo := o.personOf(o.newOrg("Ownerless"), "cleo", Manager)
	require.NoError(t, o.ChangeRole(t.Context(), o.operator().For(cleo.OrgID), cleo.ID, Viewer), "there was none before")
}

// Whatever owners do to one another, in any order, one who can sign in stays.
func TestOwnersStay(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	people := []User{o.person("ada", Owner), o.person("ben", Manager), o.person("cleo", Viewer)}
	rapid.Check(t, func(r *rapid.T) {
		by := rapid.SampledFrom(people).Draw(r, "by")
		person := rapid.SampledFrom(people).Draw(r, "who")
		var err error
		switch rapid.IntRange(0, 2).Draw(r, "what") {
		case 0:
			err = o.ChangeRole(t.Context(), o.as(by), person.ID, rapid.SampledFrom(Roles).Draw(r, "role"))
		case 1:
			err = o.Disable(t.Context(), o.as(by), person.ID)
		default:
			err = o.Enable(t.Context(), o.as(by), person.ID)
		}
		if err != nil && !errors.Is(err, ErrLastOwner) {
			refused(r, err, problem.InsufficientScope, "")
		}
		owners, err := queries.OwnersCount(t.Context(), o.pool, o.org)
		require.NoError(r, err)
		require.Positive(r, owners)
	})
}

// Every change is in the log, with the name of its actor, which stays.
func TestLog(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	ada := o.person("ada", Owner)
	ben, _, err := o.Create(t.Context(), o.operator(), NewUser{Email: "ben@acme.example", Name: "Ben", Role: Viewer})
	require.NoError(t, err)
	require.NoError(t, o.ChangeRole(t.Context(), o.as(ada), ben.ID, Finance))
	require.NoError(t, o.ChangeRole(t.Context(), o.as(ada), ben.ID, Finance), "no change, no line")
	require.NoError(t, o.Rename(t.Context(), o.as(ben), "Benjamin"))
	refused(t, o.Rename(t.Context(), o.as(ben), "\x00"), problem.ParameterMissing, "name")
	require.NoError(t, o.Disable(t.Context(), o.as(ada), ben.ID))
	require.NoError(t, o.Enable(t.Context(), o.as(ada), ben.ID))
	_, err = o.Invite(t.Context(), o.as(ada), "cleo@acme.example", Viewer)
	require.NoError(t, err)
	require.NoError(t, o.Uninvite(t.Context(), o.as(ada), "cleo@acme.example"))
	o.signedIn(ada)
	require.NoError(t, o.Remove(t.Context(), o.as(ada), ben.ID))
	log, err := o.Service.Log(t.Context(), o.as(ada))
	require.NoError(t, err)
	var lines []string
	for i := range log {
		lines = append(lines, log[len(log)-1-i].Action)
		require.Equal(t, o.org, log[i].ProgramID, "of no program")
	}
	require.Equal(t, []string{
		"user.created", "user.role_changed", "user.renamed", "user.disabled", "user.enabled", "user.invited",
		"user.uninvited", "user.signed_in", "user.removed",
	}, lines)
	removed := log[0]
	require.Equal(t, []any{new(db.ActorTypePerson), &ada.ID, ben.ID},
		[]any{removed.ActorType, removed.ActorID, removed.TargetID})
	require.JSONEq(t, `{"email":"ben@acme.example","name":"Benjamin","role":"finance"}`, string(removed.Before))
	names, err := o.Names(t.Context(), o.as(ada), []string{ada.ID, ben.ID, "usr_0"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{ada.ID: "ada", ben.ID: "Benjamin"}, names)
	other := o.personOf(o.newOrg("Other"), "eve", Owner)
	log, err = o.Service.Log(t.Context(), o.as(other))
	require.NoError(t, err)
	require.Empty(t, log)
}
