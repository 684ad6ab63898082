package mail

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/clock"
	"rail/server/postgres/pgtx"
)

// CountOpen counts the first opening of a campaign's mail by a partner. Later ones, and addresses of mails
// that do not exist, change nothing.
func CountOpen(ctx context.Context, pool *pgxpool.Pool, campaign, partner string, now clock.Time) error {
	ctx, cancel := context.WithTimeout(ctx, resultTimeout)
	defer cancel()
	return insist(ctx, pool, func(ctx context.Context, tx *pgtx.Tx) error {
		sent := db.CampaignLockUnopenedParams{CampaignID: campaign, PartnerID: partner}
		if _, err := queries.CampaignLockUnopened(ctx, tx, sent); errors.Is(err, pgx.ErrNoRows) {
			return nil
		} else if err != nil {
			return err
		}
		opened := db.CampaignCountOpenParams{Now: &now, CampaignID: campaign, PartnerID: partner}
		return queries.CampaignCountOpen(ctx, tx.Later(), opened)
	})
}
