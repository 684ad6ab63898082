SET LOCAL lock_timeout = '2s';

CREATE UNIQUE INDEX referrals_current_key_new ON referrals (program_id, partner_id, visitor) WHERE current;
DROP INDEX referrals_current_key;
ALTER INDEX referrals_current_key_new RENAME TO referrals_current_key;
DROP TABLE publishable_keys;
