ALTER TABLE partners DROP COLUMN payout_details_changed_at;
