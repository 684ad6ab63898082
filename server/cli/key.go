package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/auth"
	"rail/server/clock"
	"rail/server/http/middleware"
	"rail/server/postgres/pgtx"
	"rail/server/secret"
)

// maxRateLimit bounds a key's requests a second.
const maxRateLimit = 1_000_000

// newKey is the JSON of a new key, the only time that it can be read: the database stores a keyed hash.
type newKey struct {
	ID        string     `json:"id"`
	Key       string     `json:"key"`
	Scopes    []string   `json:"scopes"`
	Livemode  bool       `json:"livemode"`
	RateLimit int        `json:"rate_limit"`
	CreatedAt clock.Time `json:"created_at"`
}

// keyCreate creates a key for an organization and prints it.
func keyCreate(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the key; may be left out while there is only one")
	var scopes list
	fs.Var(&scopes, "scope", "`SCOPE` to grant; repeatable, or several with commas: "+strings.Join(auth.Scopes, ", "))
	test := toggle(fs, "test", "create a rail_test_ key")
	limit := fs.Int("rate-limit", auth.DefaultRateLimit, "`REQUESTS` a second")
	return func(ctx context.Context, env *Env, _ []string) error {
		if err := checkKey(scopes, *limit); err != nil {
			return err
		}
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			k, err := addKey(ctx, d.pool, d.keeper, id, newKey{
				Scopes: scopes, Livemode: !*test, RateLimit: *limit, CreatedAt: env.Clock.Now(),
			})
			if err != nil {
				return err
			}
			return env.print(k, func() []string {
				// The id is for rail key revoke; the key goes into the client's configuration.
				return []string{
					"ID\t" + k.ID, "Key\t" + k.Key, "Scopes\t" + strings.Join(k.Scopes, ", "), "",
					"The key is shown only once; Rail stores a hash of it.",
				}
			})
		})
	}
}

// checkKey refuses unknown scopes early: a key with a mistyped one would only fail later, with a 403. It runs
// before the database is opened.
func checkKey(scopes []string, limit int) error {
	if len(scopes) == 0 {
		return usagef("--scope is needed: %s", strings.Join(auth.Scopes, ", "))
	}
	for _, s := range scopes {
		if !slices.Contains(auth.Scopes, s) {
			return usagef("there is no scope %q: choose from %s", s, strings.Join(auth.Scopes, ", "))
		}
	}
	// There is no value for "unlimited": a leaked key should not stop the service.
	if limit < 1 || limit > maxRateLimit {
		return usagef("--rate-limit must be 1 to %d", maxRateLimit)
	}
	return nil
}

// addKey creates a key of an organization.
func addKey(ctx context.Context, q pgtx.DBTX, keeper *secret.Keeper, org string, k newKey) (newKey, error) {
	key, err := auth.Insert(ctx, q, keeper, org, auth.Grant{
		Scopes: k.Scopes, Live: k.Livemode, RateLimit: k.RateLimit, Version: middleware.Version,
	}, k.CreatedAt)
	k.ID, k.Key, k.Scopes = key.ID, key.Token, key.Scopes
	return k, err
}

// listedKey is the JSON of a key in a list. The secret part cannot be read again; Last4 is its end. A nil time
// means never.
type listedKey struct {
	ID              string      `json:"id"`
	Last4           string      `json:"last4"`
	Scopes          []string    `json:"scopes"`
	Livemode        bool        `json:"livemode"`
	RateLimit       int         `json:"rate_limit"`
	SigningRequired bool        `json:"signing_required"`
	CreatedAt       clock.Time  `json:"created_at"`
	LastUsedAt      *clock.Time `json:"last_used_at"`
	RevokedAt       *clock.Time `json:"revoked_at"`
}

// keyList lists all keys, including revoked ones.
func keyList(fs *pflag.FlagSet) action {
	org := fs.String("org", "", "`ORG_ID` of the keys; may be left out while there is only one")
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			id, err := chooseOrg(ctx, d.pool, *org)
			if err != nil {
				return err
			}
			rows, err := queries.APIKeyList(ctx, d.pool, id)
			if err != nil {
				return err
			}
			keys := make([]listedKey, len(rows))
			// Rows include the hash, which must not be printed.
			for i, r := range rows {
				keys[i] = listedKey{
					r.ID, r.Last4, r.Scopes, r.Livemode, int(r.RateLimit), r.SigningRequired, r.CreatedAt, r.LastUsedAt, r.RevokedAt,
				}
			}
			return env.print(keys, keyTable(keys))
		})
	}
}

// keyTable returns the printed table, a line for each key, below a heading.
func keyTable(keys []listedKey) func() []string {
	return func() []string {
		rows := []string{"ID\tKEY\tSCOPES\tRATE\tCREATED\tLAST USED\tSTATE"}
		for _, k := range keys {
			// The prefix is not stored: it follows from the mode.
			kind, state, used := "rail_test_", "active", "never"
			if k.Livemode {
				kind = "rail_live_"
			}
			if k.LastUsedAt != nil {
				used = k.LastUsedAt.String()
			}
			if k.RevokedAt != nil {
				state = "revoked"
			}
			rows = append(rows,
				fmt.Sprintf("%s\t%s…%s\t%s\t%d\t%s\t%s\t%s", k.ID, kind, k.Last4, strings.Join(k.Scopes, ","), k.RateLimit,
					k.CreatedAt, used, state))
		}
		return rows
	}
}

// revokedKey is the JSON of a revoked key.
type revokedKey struct {
	ID        string     `json:"id"`
	RevokedAt clock.Time `json:"revoked_at"`
}

// keyRevoke revokes a key and waits until no server accepts it, since each may cache the key for a moment. After
// a leak, the operator needs to know when that is.
func keyRevoke(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, args []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			now := env.Clock.Now()
			n, err := queries.APIKeyRevoke(ctx, d.pool, db.APIKeyRevokeParams{ID: args[0], RevokedAt: &now})
			if err != nil {
				return err
			}
			if n == 0 {
				return fmt.Errorf("%s is not a key, or is already revoked", args[0])
			}
			select { // by the machine's clock, as in the servers
			case <-time.After(auth.Settled):
			case <-ctx.Done():
				return fmt.Errorf("%s is revoked; running servers may accept it for another second", args[0])
			}
			return env.print(revokedKey{args[0], now}, line("%s is revoked; no server accepts it", args[0]))
		})
	}
}
