DROP INDEX programs_auto_payouts_idx;
ALTER TABLE payouts DROP COLUMN due_told;
