DROP TABLE mail_unsubscribes;
DROP INDEX mails_purpose_key, mails_campaign_idx;
ALTER TABLE mails ADD CONSTRAINT mails_purpose_key UNIQUE (org_id, purpose, key, recipient);
CREATE INDEX mails_campaign_idx ON mails (campaign_id) WHERE status = 'queued' AND campaign_id IS NOT NULL;
ALTER TABLE mails DROP COLUMN sequence_id, DROP COLUMN position, DROP COLUMN plain;
ALTER TABLE sequences DROP COLUMN idle_after;
ALTER TABLE campaigns DROP COLUMN audience_after;
