DROP INDEX payouts_partner_idx;
DROP INDEX audit_log_entries_action_idx;

DROP INDEX referrals_partner_idx;
CREATE INDEX referrals_partner_idx ON referrals (program_id, partner_id, created_at, id);
DROP INDEX customers_partner_idx;
CREATE INDEX customers_partner_idx ON customers (program_id, partner_id, created_at, id);
DROP INDEX commissions_partner_idx;
CREATE INDEX commissions_partner_idx ON commissions (program_id, partner_id, created_at, id, status);
DROP INDEX commissions_status_idx;
CREATE INDEX commissions_status_idx ON commissions (program_id, status, created_at, id);
