SET LOCAL lock_timeout = '2s';
LOCK TABLE commissions, payout_batches IN SHARE ROW EXCLUSIVE MODE;
DROP INDEX commissions_to_collect_idx;
ALTER TABLE payout_batches DROP COLUMN auto_run_at;
DROP TABLE payout_runs;
