package cli

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/pflag"

	"rail/gen/db"
	"rail/server/app"
	"rail/server/auth/keyring"
	"rail/server/http/middleware"
	"rail/server/inbound/connection"
	"rail/server/inbound/importer"
	"rail/server/inbound/inbox"
	"rail/server/money/payout"
	"rail/server/money/payout/rails"
	"rail/server/money/proof/keys"
	"rail/server/outbound/webhook"
	"rail/server/team"
)

// resealBatch is the number of rows read at once.
const resealBatch = 500

// secretsRotate seals values of former keys with the current key. Servers may run at the same time: a row is
// changed only if it is unchanged since the read; a server that changed it used the current key as well. The
// command can be stopped and run again.
func secretsRotate(*pflag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			r := resealing{d: d}
			for _, step := range []func(context.Context) error{
				r.details, r.secrets, r.connections, r.importKeys, r.rails, r.statementKeys, r.events, r.responses, r.factors, r.certificates,
			} {
				if err := step(ctx); err != nil {
					return err
				}
			}
			// Last: it checks that no value is sealed with a former key, and deletes their fingerprints.
			if err := keyring.Rotated(ctx, d.pool, d.keys(env, false)); err != nil {
				return err
			}
			return env.print(map[string]any{"sealed": r.n, "fingerprint": d.keeper.Fingerprint()},
				line("%s sealed with the current key", counted(r.n, "value")))
		})
	}
}

// rotateHelp describes how to replace the secret key, step by step.
func rotateHelp() string {
	return `To replace the secret key: start every server with the new RAIL_SECRET_KEY and the old one as RAIL_SECRET_KEY_PREVIOUS,
run this command with the same two, and remove RAIL_SECRET_KEY_PREVIOUS once every API key has been used: an API key moves to
the new secret key with its next use, and stops working if it was not used by then.
`
}

// secretsAdopt records the given secret key for a database whose data cannot prove it.
func secretsAdopt(fs *pflag.FlagSet) action {
	token := fs.String("api-key", "", "`API_KEY` of this database, which proves the secret key")
	yes := toggle(fs, "yes",
		"accept without proof: values and API keys of other secret keys may be lost")
	return func(ctx context.Context, env *Env, _ []string) error {
		if (*token != "") == *yes {
			return usagef("give --api-key or --yes")
		}
		// With an API key, its hash proves the secret key, and Admit refuses a wrong one.
		admit := keyring.Adopt
		if *token != "" {
			admit = func(ctx context.Context, pool *pgxpool.Pool, g keyring.SecretKey) error {
				g.APIKeys = []string{*token}
				return keyring.Admit(ctx, pool, g)
			}
		}
		return opening{admit: admit}.with(ctx, env, func(d *database) error {
			return env.print(map[string]string{"fingerprint": d.keeper.Fingerprint(), "from": d.config.KeyFrom},
				line("this database's secret key has the fingerprint %s, from %s", d.keeper.Fingerprint(),
					d.config.KeyFrom))
		})
	}
}

// adoptHelp describes which databases need this, and the consequences of losing a secret key.
func adoptHelp() string {
	return `A database records the fingerprint of its secret key when it is created, and refuses every other key. A database
of a build before 0.1.0 records it at its next start, proven by its sealed values. If it has none, give one of its API keys
once, which proves the secret key. If the secret key is lost, --yes accepts the given one: then create new API keys, replace
the secrets of webhook endpoints, and ask partners to enter their payout details again. rail audit lists values that do not
open.
`
}

// resealing seals the values of a database again; n counts them.
type resealing struct {
	d *database
	n int
}

// reseal seals a value with the current key and reports whether it did: a value of the current key is skipped, so
// that the command can be repeated.
func (r *resealing) reseal(sealed []byte, where string) ([]byte, bool, error) {
	if len(sealed) == 0 || r.d.keeper.Current(sealed) {
		return sealed, false, nil
	}
	plain, err := r.d.keeper.Open(sealed, where)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", where, err)
	}
	r.n++
	out, err := r.d.keeper.Seal(plain, where)
	return out, true, err
}

// details reseals the payout details of partners, in the order of their ids, a page at a time, in short
// statements rather than one transaction: a rotation of many rows must not lock any of them for long.
func (r *resealing) details(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.PayoutDetailsSealed(ctx, r.d.pool, db.PayoutDetailsSealedParams{After: after, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			if err := r.detail(ctx, row); err != nil {
				return err
			}
		}
	}
}

// detail reseals one partner's details and replaces their hash, which depends on the key: hashes under two keys
// cannot be compared.
func (r *resealing) detail(ctx context.Context, row db.PayoutDetailsSealedRow) error {
	where := payout.DetailsPlace(row.ID)
	fresh, changed, err := r.reseal(row.PayoutDetails, where)
	if err != nil || !changed {
		return err
	}
	plain, err := r.d.keeper.Open(fresh, where)
	if err != nil {
		return err
	}
	hash, err := payout.DetailsHash(r.d.keeper, row.ProgramID, row.PayoutMethod, plain)
	if err != nil {
		return err
	}
	return queries.PayoutDetailsReseal(ctx, r.d.pool, db.PayoutDetailsResealParams{
		PayoutDetails: fresh, PayoutDetailsHash: hash, ID: row.ID, Was: row.PayoutDetails,
	})
}

// secrets reseals the webhook secrets, each with its predecessor while that still signs. The two are sealed for
// different places, so that neither opens as the other.
func (r *resealing) secrets(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.WebhookSecretsSealed(ctx, r.d.pool, db.WebhookSecretsSealedParams{
			After: after, Lim: resealBatch,
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			current, changed, err := r.reseal(row.Secret, webhook.SecretPlace(row.ID, false))
			if err != nil {
				return err
			}
			previous, too, err := r.reseal(row.PreviousSecret, webhook.SecretPlace(row.ID, true))
			if err == nil && (changed || too) {
				err = queries.WebhookSecretsReseal(ctx, r.d.pool, db.WebhookSecretsResealParams{
					Secret: current, PreviousSecret: previous, ID: row.ID, Was: row.Secret,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}

// connections reseals the secrets and API keys of processor connections.
func (r *resealing) connections(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.ConnectionSecretsSealed(ctx, r.d.pool, db.ConnectionSecretsSealedParams{
			After: after, Lim: resealBatch,
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			signing, changed, err := r.reseal(row.Secret, connection.SecretPlace(row.ID))
			if err != nil {
				return err
			}
			key, too, err := r.reseal(row.APIKey, connection.KeyPlace(row.ID))
			if err == nil && (changed || too) {
				err = queries.ConnectionSecretsReseal(ctx, r.d.pool, db.ConnectionSecretsResealParams{
					Secret: signing, APIKey: key, ID: row.ID, Was: row.Secret, WasKey: row.APIKey,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}

// importKeys reseals the API keys of running imports.
func (r *resealing) importKeys(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.ImportKeysSealed(ctx, r.d.pool, db.ImportKeysSealedParams{After: after, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			sealed, changed, err := r.reseal(row.APIKey, importer.Place(row.ID))
			if err == nil && changed {
				err = queries.ImportKeyReseal(ctx, r.d.pool, db.ImportKeyResealParams{
					APIKey: sealed, ID: row.ID, Was: row.APIKey,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}

// statementKeys reseals the private keys that sign statements.
func (r *resealing) statementKeys(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.StatementKeysSealed(ctx, r.d.pool, db.StatementKeysSealedParams{After: after, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			sealed, changed, err := r.reseal(row.PrivateKey, keys.Place(row.ID))
			if err == nil && changed {
				err = queries.StatementKeyReseal(ctx, r.d.pool, db.StatementKeyResealParams{
					PrivateKey: sealed, ID: row.ID, Was: row.PrivateKey,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}

// rails reseals the credentials of payout rails.
func (r *resealing) rails(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.PayoutRailsSealed(ctx, r.d.pool, db.PayoutRailsSealedParams{After: after, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			sealed, changed, err := r.reseal(row.Credentials, rails.Place(row.ID))
			if err == nil && changed {
				err = queries.PayoutRailsReseal(ctx, r.d.pool, db.PayoutRailsResealParams{
					Credentials: sealed, ID: row.ID, Was: row.Credentials,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}

// factors reseals the second factors of users.
func (r *resealing) factors(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.UserSecretsSealed(ctx, r.d.pool, db.UserSecretsSealedParams{After: after, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			on, changed, err := r.reseal(row.TOTPSecret, team.FactorPlace(row.ID))
			if err != nil {
				return err
			}
			pending, too, err := r.reseal(row.TOTPPending, team.FactorPlace(row.ID))
			if err == nil && (changed || too) {
				err = queries.UserSecretsReseal(ctx, r.d.pool, db.UserSecretsResealParams{
					TOTPSecret: on, TOTPPending: pending, ID: row.ID, WasSecret: row.TOTPSecret, WasPending: row.TOTPPending,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}

// certificates reseals the servers' certificates.
func (r *resealing) certificates(ctx context.Context) error {
	rows, err := queries.CertificateList(ctx, r.d.pool)
	for _, row := range rows {
		fresh, changed, err := r.reseal(row.Content, app.CertificatePlace(row.Name))
		if err == nil && changed {
			err = queries.CertificateReseal(ctx, r.d.pool, db.CertificateResealParams{Content: fresh, Name: row.Name, Was: row.Content})
		}
		if err != nil {
			return err
		}
	}
	return err
}

// events reseals the events of payment processors.
func (r *resealing) events(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.InboxSealed(ctx, r.d.pool, db.InboxSealedParams{After: after, Lim: resealBatch / 10})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			fresh, changed, err := r.reseal(row.Payload, inbox.PayloadPlace(row.ID))
			if err == nil && changed {
				err = queries.InboxReseal(ctx, r.d.pool, db.InboxResealParams{Payload: fresh, ID: row.ID, Was: row.Payload})
			}
			if err != nil {
				return err
			}
		}
	}
}

// responses reseals the stored answers of Idempotency-Keys, which must be repeatable until they expire.
func (r *resealing) responses(ctx context.Context) error {
	for org, key := "", ""; ; {
		rows, err := queries.IdempotencySealed(ctx, r.d.pool, db.IdempotencySealedParams{
			AfterOrg: org, AfterKey: key, Lim: resealBatch,
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			org, key = row.OrgID, row.Key
			fresh, changed, err := r.reseal(row.Body, middleware.IdempotencyPlace(org, key))
			if err == nil && changed {
				err = queries.IdempotencyReseal(ctx, r.d.pool, db.IdempotencyResealParams{
					Body: fresh, OrgID: org, Key: key, Was: row.Body,
				})
			}
			if err != nil {
				return err
			}
		}
	}
}
