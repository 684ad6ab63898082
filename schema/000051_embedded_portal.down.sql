ALTER TABLE portal_sessions DROP COLUMN embedded;
