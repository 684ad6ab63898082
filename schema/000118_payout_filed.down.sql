SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts DROP COLUMN filed_at;
