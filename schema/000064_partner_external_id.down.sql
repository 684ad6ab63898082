SET LOCAL lock_timeout = '2s';

ALTER TABLE partners DROP COLUMN external_id;
