-- payout.due is told once, when the day comes with the payout still pending.
SET LOCAL lock_timeout = '2s';

ALTER TABLE payouts ADD COLUMN due_told boolean NOT NULL DEFAULT false;
CREATE INDEX payouts_to_tell_idx ON payouts (due_at, id) WHERE status = 'pending' AND NOT due_told;
CREATE INDEX programs_auto_payouts_idx ON programs (id) WHERE auto_payouts_enabled;
