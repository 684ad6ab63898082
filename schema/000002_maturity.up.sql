-- What the clocked work looks for, across all programs.
SET LOCAL lock_timeout = '2s';

CREATE INDEX commissions_to_mature_idx ON commissions (mature_at, id) WHERE status = 'approved';
CREATE INDEX commissions_to_approve_idx ON commissions (approve_at, id) WHERE status = 'pending' AND approve_at IS NOT NULL;
CREATE INDEX referrals_to_expire_idx ON referrals (expires_at) WHERE current;
