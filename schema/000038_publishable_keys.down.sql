SET LOCAL lock_timeout = '2s';

DROP INDEX referrals_current_key;
CREATE UNIQUE INDEX referrals_current_key ON referrals (program_id, partner_id, visitor) WHERE current;
DROP TABLE publishable_keys;
