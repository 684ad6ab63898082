SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts DROP COLUMN failed_transfers;
