ALTER TABLE mails DROP COLUMN program_id;
DROP INDEX partners_address_idx;
ALTER TABLE portal_sessions DROP COLUMN visitor;
