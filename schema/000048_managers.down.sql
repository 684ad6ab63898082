DROP INDEX inbox_events_reason_idx;
CREATE INDEX mails_failed_idx ON mails (org_id, created_at) WHERE status = 'failed';
DROP INDEX mails_failed_list_idx;
ALTER TABLE api_keys DROP COLUMN form;
ALTER TABLE campaigns DROP COLUMN partner_ids;
DROP TABLE partner_note_files, partner_notes;
