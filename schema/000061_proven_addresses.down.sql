SET LOCAL lock_timeout = '2s';

LOCK TABLE users, user_links IN ACCESS EXCLUSIVE MODE;
ALTER TABLE user_links DROP COLUMN mailed;
ALTER TABLE users DROP COLUMN proven_at;
