package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/team"
	"rail/server/work"
)

// maxNamesakes bounds the organizations searched for the operator's name of a user.
const maxNamesakes = 100

// printedUser is the JSON of a console user. Link is set once, when it is created. A nil time means never.
type printedUser struct {
	ID           string      `json:"id"`
	OrgID        string      `json:"org_id"`
	Email        string      `json:"email"`
	Name         string      `json:"name"`
	Role         team.Role   `json:"role"`
	SecondFactor bool        `json:"second_factor"`
	SeenAt       *clock.Time `json:"seen_at"`
	DisabledAt   *clock.Time `json:"disabled_at"`
	CreatedAt    clock.Time  `json:"created_at"`
	Link         string      `json:"link,omitempty"`
}

func printableUser(u team.User, link string) printedUser {
	return printedUser{u.ID, u.OrgID, u.Email, u.Name, u.Role, u.Factor, u.SeenAt, u.DisabledAt, u.CreatedAt, link}
}

// userTable returns the printed table, a line for each user, below a heading, and the link.
func userTable(all ...printedUser) func() []string {
	return func() []string {
		rows, link := []string{"ID\tEMAIL\tNAME\tROLE\tSECOND FACTOR\tSEEN\tSTATE"}, ""
		for _, u := range all {
			factor, seen, state := "off", "never", "active"
			if u.SecondFactor {
				factor = "on"
			}
			if u.SeenAt != nil {
				seen = u.SeenAt.String()
			}
			if u.DisabledAt != nil {
				state = "disabled"
			}
			rows = append(rows, strings.Join([]string{u.ID, u.Email, u.Name, string(u.Role), factor, seen, state}, "\t"))
			link = u.Link
		}
		if link != "" {
			rows = append(rows, "", "Pass this link on; it sets the password, once, within a day:", link)
		}
		return rows
	}
}

// people returns the rules on users for a command, which sends no mails.
func people(env *Env, d *database) *team.Service {
	return team.New(team.Service{Pool: d.pool, Keeper: d.keeper, Clock: env.Clock, BaseURL: d.config.ConsoleBase()})
}

// userCreate creates a user and prints a link to set the password: a typed password would be in the shell's
// history, and known to two people.
func userCreate(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the user; may be left out while there is only one")
	email := fs.String("email", "", "`ADDRESS` to sign in with")
	name := fs.String("name", "", "`NAME` as others see it")
	role := roleFlag(fs)
	return func(ctx context.Context, env *Env, _ []string) error {
		if *email == "" || *name == "" {
			return usagef("--email and --name are needed")
		}
		if err := checkRole(*role); err != nil {
			return err
		}
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			user, link, err := people(env, d).Create(ctx, byHand(env, d, "user create").For(id), team.NewUser{
				Email: *email, Name: *name, Role: team.Role(*role),
			})
			if err != nil {
				return err
			}
			shown := printableUser(user, link)
			return env.print(shown, userTable(shown))
		})
	}
}

func roleFlag(fs *pflag.FlagSet) *string {
	return fs.String("role", "", "`ROLE`: "+roleNames())
}

func roleNames() string {
	var names []string
	for _, r := range team.Roles {
		names = append(names, string(r))
	}
	return strings.Join(names, ", ")
}

// checkRole refuses an unknown role before the database is opened.
func checkRole(role string) error {
	switch {
	case role == "":
		return usagef("--role is needed: %s", roleNames())
	case !slices.Contains(team.Roles, team.Role(role)):
		return usagef("there is no role %q: choose from %s", role, roleNames())
	}
	return nil
}

// userList lists the users of an organization.
func userList(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the users; may be left out while there is only one")
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			users, err := people(env, d).Users(ctx, byHand(env, d, "user list").For(id))
			if err != nil {
				return err
			}
			all := make([]printedUser, len(users))
			for i, u := range users {
				all[i] = printableUser(u, "")
			}
			return env.print(all, userTable(all...))
		})
	}
}

// userRole changes a user's role.
func userRole(fs *pflag.FlagSet) action {
	role := roleFlag(fs)
	return changeUser(fs, "user role", func() error { return checkRole(*role) },
		func(ctx context.Context, s *team.Service, u *work.Unit, id string) (string, error) {
			return "", s.ChangeRole(ctx, u, id, team.Role(*role))
		})
}

// userReset restores the access of a user, even if no owner can sign in.
func userReset(fs *pflag.FlagSet) action {
	factor := toggle(fs, "factor", "also turn the second factor off")
	return changeUser(fs, "user reset", nil,
		func(ctx context.Context, s *team.Service, u *work.Unit, id string) (string, error) {
			return s.ResetLinkFor(ctx, u, id, *factor)
		})
}

// userDisable ends a user's sessions and blocks new ones.
func userDisable(fs *pflag.FlagSet) action {
	return changeUser(fs, "user disable", nil,
		func(ctx context.Context, s *team.Service, u *work.Unit, id string) (string, error) {
			return "", s.Disable(ctx, u, id)
		})
}

// userEnable lets a disabled user sign in again.
func userEnable(fs *pflag.FlagSet) action {
	return changeUser(fs, "user enable", nil,
		func(ctx context.Context, s *team.Service, u *work.Unit, id string) (string, error) {
			return "", s.Enable(ctx, u, id)
		})
}

// changeUser returns the action of a command that changes one user, named by its argument, and prints them.
// check, if not nil, runs before the database is opened.
func changeUser(
	fs *pflag.FlagSet, command string, check func() error,
	change func(ctx context.Context, s *team.Service, u *work.Unit, id string) (link string, err error),
) action {
	org := fs.String("org", "", "`ORG_ID` of the user; may be left out while only one has them")
	return func(ctx context.Context, env *Env, args []string) error {
		if check != nil {
			if err := check(); err != nil {
				return err
			}
		}
		return withDatabase(ctx, env, func(d *database) error {
			user, err := chooseUser(ctx, d, args[0], *org)
			if err != nil {
				return err
			}
			s, u := people(env, d), byHand(env, d, command).For(user.OrgID)
			link, err := change(ctx, s, u, user.ID)
			if err != nil {
				return err
			}
			now, err := s.User(ctx, u, user.ID)
			if err != nil {
				return err
			}
			shown := printableUser(now, link)
			return env.print(shown, userTable(shown))
		})
	}
}

// chooseUser returns the user with an id or an address, in the given organization if there is one. It never
// chooses among several.
func chooseUser(ctx context.Context, d *database, who, org string) (db.User, error) {
	found, err := queries.UsersAcrossOrgs(ctx, d.pool, db.UsersAcrossOrgsParams{
		Who: strings.ToLower(strings.TrimSpace(who)), Lim: maxNamesakes,
	})
	if err != nil {
		return db.User{}, err
	}
	if org != "" {
		found = slices.DeleteFunc(found, func(u db.User) bool { return u.OrgID != org })
	}
	switch len(found) {
	case 0:
		return db.User{}, fmt.Errorf("there is no user %q; rail user list shows them", who)
	case 1:
		return found[0], nil
	}
	return db.User{}, usagef("%d organizations have a user %s: choose one with --org", len(found), who)
}

// userHelp describes how users are created and what roles may do.
func userHelp() string {
	return `USER is an id or an email address. The printed link sets the user's password, once, within a day.

Roles:
  owner    everything, including users, API keys, and connections to processors and payout rails
  manager  everything else except payouts
  finance  reads everything, corrects sales and commissions, creates rules, and confirms payouts
  viewer   reads everything

rail user reset restores a user's access, even if no owner can sign in: it removes the password and ends the sessions;
--factor is for a lost phone. An organization keeps at least one owner who can sign in.
`
}

// userFirstLink prints the address that a start prints on a terminal: the page for the first console user. It
// voids an earlier link.
func userFirstLink(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the user; may be left out while there is one organization, or none")
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, begun, err := d.firstOrg(ctx)
			if err != nil {
				return err
			}
			if begun {
				return errors.New("the console has users: rail user create creates another, rail user reset restores access")
			}
			if *org != "" || id == severalOrgs {
				if id, err = chooseOrg(ctx, d.pool, *org); err != nil {
					return err
				}
			}
			url, err := people(env, d).StartLink(ctx, id)
			if err != nil {
				return err
			}
			return env.print(map[string]string{"url": url}, line("%s", url))
		})
	}
}

// firstLinkHelp describes the link.
func firstLinkHelp() string {
	return `Opening the link creates an owner. It works once, within a day, and voids an earlier link. A server prints such a link at its
start only on a terminal, since the readers of a log, such as a log collector, should not become owners.
`
}
