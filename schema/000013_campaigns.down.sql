DROP INDEX mails_campaign_idx, mails_partner_idx, mails_queued_idx;
CREATE INDEX mails_queued_idx ON mails (next_attempt_at, id) WHERE status = 'queued';
ALTER TABLE mails DROP COLUMN partner_id, DROP COLUMN campaign_id;
DROP TABLE sequence_enrolments, sequence_steps, sequences, campaign_recipients, campaigns;
ALTER TABLE programs DROP COLUMN enrols_first_commission;
DROP INDEX partners_mail_token_key;
ALTER TABLE partners DROP COLUMN mail_token, DROP COLUMN unsubscribed_at;
