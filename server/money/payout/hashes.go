package payout

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/secret"
)

// hashBatch bounds the rows of one read.
const hashBatch = 500

// HashRest hashes payout details that were stored before hashes existed. Details that do not open are skipped
// and reported.
func HashRest(ctx context.Context, pool *pgxpool.Pool, keeper *secret.Keeper) error {
	var failed []error
	for after := ""; ; {
		rows, err := queries.PayoutDetailsUnhashed(ctx, pool, db.PayoutDetailsUnhashedParams{After: after, Lim: hashBatch})
		if err != nil || len(rows) == 0 {
			return errors.Join(append(failed, err)...)
		}
		for _, r := range rows {
			after = r.ID
			if err := hashOne(ctx, pool, keeper, r); err != nil {
				failed = append(failed, fmt.Errorf("payout details of %s: %w", r.ID, err))
			}
		}
	}
}

// hashOne hashes the details of one partner. Details that changed since the read have their hash already, so the
// update matches on the value read.
func hashOne(ctx context.Context, pool *pgxpool.Pool, keeper *secret.Keeper, r db.PayoutDetailsUnhashedRow) error {
	details, err := keeper.Open(r.PayoutDetails, DetailsPlace(r.ID))
	if err != nil {
		return err
	}
	hash, err := DetailsHash(keeper, r.ProgramID, r.PayoutMethod, details)
	if err != nil {
		return err
	}
	return queries.PayoutDetailsSetHash(ctx, pool, db.PayoutDetailsSetHashParams{
		PayoutDetailsHash: hash, ID: r.ID, Was: r.PayoutDetails,
	})
}
