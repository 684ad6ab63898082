SET LOCAL lock_timeout = '2s';
DROP TABLE statements;
DROP TABLE statement_counters;
ALTER TABLE commissions DROP CONSTRAINT commissions_payout_fkey;
DROP TABLE payouts;
DROP TABLE payout_sends;
DROP TABLE payout_rails;
DROP TABLE payout_runs;
DROP TABLE payout_batches;
