package campaign

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"rail/gen/db"
	"rail/server/postgres/pgtx"
)

const (
	// fillBatch bounds the partners read by one transaction.
	fillBatch = 5000
	// fillRun bounds the batches of one campaign in one run, since others wait for it.
	fillRun = 20
)

// fill stores the recipients in batches, in the order of the partners' ids, at most fillRun batches.
// AudienceAfter is the position; nil means that all are stored.
func fill(ctx context.Context, pool *pgxpool.Pool, id, org string) error {
	for range fillRun {
		more := false
		err := within(ctx, pool, id, org, db.CampaignStatusSending, func(tx *pgtx.Tx, c db.Campaign) (err error) {
			if c.AudienceAfter == nil {
				return nil
			}
			more, err = fillSome(ctx, tx, c)
			return err
		})
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// fillSome stores the matching partners of a batch, and reports whether there are more. The last batch has no
// upper end, so that it also removes recipients who no longer exist.
func fillSome(ctx context.Context, tx *pgtx.Tx, c db.Campaign) (bool, error) {
	after := *c.AudienceAfter
	reach, err := queries.PartnersNextBatch(ctx, tx, db.PartnersNextBatchParams{
		ProgramID: c.ProgramID, OrgID: c.OrgID, AfterID: after, Lim: fillBatch,
	})
	if err != nil {
		return false, err
	}
	more := reach.Partners == fillBatch
	var upto *string
	if more {
		upto = &reach.Upto
	}
	if err := queries.CampaignRecipientsDelete(ctx, tx.Later(),
		db.CampaignRecipientsDeleteParams{CampaignID: c.ID, OrgID: c.OrgID, AfterID: after, UptoID: upto}); err != nil {
		return false, err
	}
	if err := queries.CampaignRecipientsAdd(ctx, tx.Later(), db.CampaignRecipientsAddParams{
		CampaignID: c.ID,
		ProgramID:  c.ProgramID,
		OrgID:      c.OrgID,
		Statuses:   statuses(c),
		GroupIds:   c.GroupIds,
		PartnerIds: c.PartnerIds,
		TagIds:     c.TagIds,
		AfterID:    after, UptoID: upto, StartedAt: c.UpdatedAt, // nothing changes a sending campaign
	}); err != nil {
		return false, err
	}
	if more {
		return true, queries.CampaignSetCursor(ctx, tx.Later(), db.CampaignSetCursorParams{
			AudienceAfter: upto, ID: c.ID, OrgID: c.OrgID,
		})
	}
	return false, queries.CampaignSetCounts(ctx, tx.Later(), db.CampaignSetCountsParams{ID: c.ID, OrgID: c.OrgID})
}
