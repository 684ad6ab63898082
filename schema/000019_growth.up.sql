-- What made lists and counts read rows of the table, or pass over a program's
-- other rows, as rail bench scale found at 3M sales.
SET LOCAL lock_timeout = '2s';

CREATE INDEX payouts_partner_idx ON payouts (program_id, partner_id, created_at, id, status);
CREATE INDEX audit_log_entries_action_idx ON audit_log_entries (program_id, action, created_at, id);

DROP INDEX referrals_partner_idx;
CREATE INDEX referrals_partner_idx ON referrals (program_id, partner_id, created_at, id, status);
DROP INDEX customers_partner_idx;
CREATE INDEX customers_partner_idx ON customers (program_id, partner_id, created_at, id, status);
DROP INDEX commissions_partner_idx;
CREATE INDEX commissions_partner_idx ON commissions (program_id, partner_id, created_at, id, status) INCLUDE (kind);
DROP INDEX commissions_status_idx;
CREATE INDEX commissions_status_idx ON commissions (program_id, status, created_at, id) INCLUDE (kind);
