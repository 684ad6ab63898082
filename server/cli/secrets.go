package cli

import (
	"context"
	"flag"
	"fmt"

	"rail/gen/db"
	"rail/server/front"
	"rail/server/payout"
	"rail/server/webhook"
)

// resealBatch bounds what is read at once.
const resealBatch = 500

// secretsRotate seals anew what former keys have sealed, while servers run.
func secretsRotate(*flag.FlagSet) action {
	return func(ctx context.Context, env *Env, _ []string) error {
		return withDatabase(ctx, env, func(d *database) error {
			r := resealing{d: d}
			for _, step := range []func(context.Context) error{r.details, r.secrets, r.responses} {
				if err := step(ctx); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintf(env.Out, "%d values sealed with the current key\n", r.n)
			return err
		})
	}
}

func rotateHelp() string {
	return `To replace the secret key: start every server with the new RAIL_SECRET_KEY and the old one as RAIL_SECRET_KEY_PREVIOUS,
run this command with the same two, and drop RAIL_SECRET_KEY_PREVIOUS once every API key has been used (an API key moves to
the new key with its next use; one that was not used by then no longer works).
`
}

type resealing struct {
	d *database
	n int
}

// again seals a value with the current key, unless it is already.
func (r *resealing) again(sealed []byte, where string) ([]byte, bool, error) {
	if sealed == nil || r.d.keeper.Current(sealed) {
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

// detail seals one partner's details anew, and hashes them with the current key
// too: hashes of two keys cannot be compared.
func (r *resealing) detail(ctx context.Context, row db.PayoutDetailsSealedRow) error {
	where := payout.DetailsPlace(row.ID)
	fresh, changed, err := r.again(row.PayoutDetails, where)
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
	return queries.PayoutDetailsReseal(ctx, r.d.pool, db.PayoutDetailsResealParams{PayoutDetails: fresh, PayoutDetailsHash: hash, ID: row.ID, Was: row.PayoutDetails})
}

func (r *resealing) secrets(ctx context.Context) error {
	for after := ""; ; {
		rows, err := queries.WebhookSecretsSealed(ctx, r.d.pool, db.WebhookSecretsSealedParams{After: after, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			after = row.ID
			current, changed, err := r.again(row.Secret, webhook.SecretPlace(row.ID, false))
			if err != nil {
				return err
			}
			previous, too, err := r.again(row.PreviousSecret, webhook.SecretPlace(row.ID, true))
			if err == nil && (changed || too) {
				err = queries.WebhookSecretsReseal(ctx, r.d.pool, db.WebhookSecretsResealParams{Secret: current, PreviousSecret: previous, ID: row.ID, Was: row.Secret})
			}
			if err != nil {
				return err
			}
		}
	}
}

func (r *resealing) responses(ctx context.Context) error {
	for org, key := "", ""; ; {
		rows, err := queries.IdempotencySealed(ctx, r.d.pool, db.IdempotencySealedParams{AfterOrg: org, AfterKey: key, Lim: resealBatch})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			org, key = row.OrgID, row.Key
			fresh, changed, err := r.again(row.Body, front.IdempotencyPlace(org, key))
			if err == nil && changed {
				err = queries.IdempotencyReseal(ctx, r.d.pool, db.IdempotencyResealParams{Body: fresh, OrgID: org, Key: key})
			}
			if err != nil {
				return err
			}
		}
	}
}
