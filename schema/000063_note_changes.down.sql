SET LOCAL lock_timeout = '2s';

ALTER TABLE partner_notes DROP COLUMN updated_at;
