package cli

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"rail/server/clock"
	"rail/server/money/proof/keys"
	"rail/server/work"
)

// printedStatementKey is the JSON of a key that signs statements, as it is published.
type printedStatementKey struct {
	ID        string      `json:"id"`
	PublicKey string      `json:"public_key"`
	CreatedAt clock.Time  `json:"created_at"`
	RetiredAt *clock.Time `json:"retired_at"`
}

// statementKeyRotate replaces an organization's key.
func statementKeyRotate(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the key; may be left out while there is only one")
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			err = byHand(env, d, "statement-key rotate").For(id).Within(ctx, func(u *work.Unit) error {
				return keys.Service{Keeper: d.keeper}.Rotate(ctx, u)
			})
			if err != nil {
				return err
			}
			return d.printStatementKeys(ctx, env, id)
		})
	}
}

// statementKeyList lists an organization's keys.
func statementKeyList(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the keys; may be left out while there is only one")
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			return d.printStatementKeys(ctx, env, id)
		})
	}
}

func (d *database) printStatementKeys(ctx context.Context, env *Env, org string) error {
	rows, err := queries.StatementKeysOfOrganization(ctx, d.pool, org)
	if err != nil {
		return err
	}
	all := make([]printedStatementKey, len(rows))
	for i, r := range rows {
		all[i] = printedStatementKey{
			ID: r.ID, PublicKey: keys.Public(r.ID, r.PublicKey, r.CreatedAt, r.RetiredAt).PublicKey, CreatedAt: r.CreatedAt,
			RetiredAt: r.RetiredAt,
		}
	}
	return env.print(all, func() []string {
		lines := []string{"ID\tPUBLIC KEY\tSIGNS FROM\tUNTIL"}
		for _, k := range all {
			until := ""
			if k.RetiredAt != nil {
				until = k.RetiredAt.String()
			}
			lines = append(lines, strings.Join([]string{k.ID, k.PublicKey, k.CreatedAt.String(), until}, "\t"))
		}
		return lines
	})
}

// statementKeyHelp describes the effect of a rotation.
func statementKeyHelp() string {
	return `Each organization has a key that signs its statements; it is created with the first one. A rotation takes effect
after a minute. Statements of the old key stay valid: its public key stays at /.well-known/rail-keys.json. Rotate the key
if someone else may have read the database together with the server's secret key.
`
}
