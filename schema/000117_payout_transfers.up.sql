-- The transfers of a payout that failed: the ids in the provider's results, '' for one without an id. A payout that is
-- exported again has another transfer, and results of the earlier ones no longer decide about it.
-- The release before survives this: it ignores the column.
SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts ADD COLUMN failed_transfers text[] NOT NULL DEFAULT '{}',
    ADD CONSTRAINT payouts_failed_transfers_check CHECK (cardinality(failed_transfers) <= 100) NOT VALID;
