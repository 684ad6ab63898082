package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/http/docs/script"
	"rail/server/program/publishable"
	"rail/server/work"
)

// printedPubkey is the JSON of a publishable key, as in the API.
type printedPubkey struct {
	ID           string      `json:"id"`
	Object       string      `json:"object"`
	ProgramID    string      `json:"program_id"`
	Key          string      `json:"key"`
	AllowedHosts []string    `json:"allowed_hosts"`
	AllowLeads   bool        `json:"allow_leads"`
	Tag          string      `json:"tag"`
	LastUsedAt   *clock.Time `json:"last_used_at"`
	RevokedAt    *clock.Time `json:"revoked_at"`
	CreatedAt    clock.Time  `json:"created_at"`
}

func printablePubkey(d *database, k db.PublishableKey) printedPubkey {
	return printedPubkey{
		ID: k.ID, Object: "publishable_key", ProgramID: k.ProgramID, Key: k.Key, AllowedHosts: k.AllowedHosts,
		AllowLeads: k.AllowLeads, Tag: script.Tag(d.config.BaseURL, k.Key, k.URLParams...), LastUsedAt: k.LastUsedAt,
		RevokedAt: k.RevokedAt, CreatedAt: k.CreatedAt,
	}
}

// pubkeyTable returns the printed table, a line for each key.
func pubkeyTable(all ...printedPubkey) func() []string {
	return func() []string {
		rows := []string{"ID\tKEY\tHOSTS\tLEADS\tLAST USED\tSTATE"}
		for _, k := range all {
			leads, used, state := "no", "never", "active"
			if k.AllowLeads {
				leads = "yes"
			}
			if k.LastUsedAt != nil {
				used = k.LastUsedAt.String()
			}
			if k.RevokedAt != nil {
				state = "revoked"
			}
			rows = append(rows, strings.Join([]string{k.ID, k.Key, strings.Join(k.AllowedHosts, ","), leads, used, state}, "\t"))
		}
		return rows
	}
}

// pubkeyCreate creates a key for the pages of a program.
func pubkeyCreate(fs *pflag.FlagSet) action {
	in := publishable.Input{}
	fs.StringVar(&in.ProgramID, "program", "", "`PROGRAM_ID` whose visits the pages report")
	fs.Var((*list)(&in.AllowedHosts), "host",
		"`HOST` whose pages may use it, such as shop.example or *.shop.example; repeatable, or several with commas")
	leads := toggle(fs, "allow-leads", "also let pages report leads")
	return func(ctx context.Context, env *Env, _ []string) error {
		switch {
		case in.ProgramID == "":
			return usagef("--program is needed")
		case len(in.AllowedHosts) == 0:
			return usagef("--host is needed")
		}
		in := in
		in.AllowLeads = *leads
		return withDatabase(ctx, env, func(d *database) error {
			u, err := ofProgram(ctx, env, d, "pubkey create", in.ProgramID)
			if err != nil {
				return err
			}
			var k db.PublishableKey
			err = u.Within(ctx, func(u *work.Unit) (err error) {
				k, err = publishable.Create(ctx, u, in)
				return err
			})
			if err != nil {
				return err
			}
			shown := printablePubkey(d, k)
			return env.print(shown, func() []string {
				return []string{"ID\t" + shown.ID, "Key\t" + shown.Key, "", "Paste this into the pages:", shown.Tag}
			})
		})
	}
}

// pubkeyList lists the keys of a program, including revoked ones.
func pubkeyList(fs *pflag.FlagSet) action {
	program := fs.String("program", "", "`PROGRAM_ID` of the keys")
	return func(ctx context.Context, env *Env, _ []string) error {
		if *program == "" {
			return usagef("--program is needed")
		}
		return withDatabase(ctx, env, func(d *database) error {
			u, err := ofProgram(ctx, env, d, "pubkey list", *program)
			if err != nil {
				return err
			}
			rows, err := queries.PublishableKeysOfProgram(ctx, d.pool, db.PublishableKeysOfProgramParams{
				ProgramID: *program, OrgID: u.OrgID,
			})
			if err != nil {
				return err
			}
			all := make([]printedPubkey, len(rows))
			for i, k := range rows {
				all[i] = printablePubkey(d, k)
			}
			return env.print(all, pubkeyTable(all...))
		})
	}
}

// pubkeyRevoke revokes a key; running servers accept it for another second at most.
func pubkeyRevoke(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			k, err := queries.PublishableKeyAcrossOrgs(ctx, d.pool, args[0])
			if errors.Is(err, pgx.ErrNoRows) {
				return fmt.Errorf("there is no publishable key %q", args[0])
			}
			if err != nil {
				return err
			}
			if k.RevokedAt != nil {
				return fmt.Errorf("%s is revoked already", k.ID)
			}
			err = byHand(env, d, "pubkey revoke").For(k.OrgID).Within(ctx, func(u *work.Unit) error {
				return publishable.Revoke(ctx, u, k.ID)
			})
			if err != nil {
				return err
			}
			if k, err = queries.PublishableKeyAcrossOrgs(ctx, d.pool, k.ID); err != nil {
				return err
			}
			shown := printablePubkey(d, k)
			return env.print(shown, pubkeyTable(shown))
		})
	}
}
