-- The time of the last file that a payout left in. Payout details that change after it have changed since the partner
-- was last paid.
-- The release before survives this: it ignores the column.
SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts ADD COLUMN filed_at timestamptz;
