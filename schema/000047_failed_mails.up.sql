-- The mails that could not be delivered are few among those that were, and are shown.
SET LOCAL lock_timeout = '2s';
CREATE INDEX mails_failed_idx ON mails (org_id, created_at) WHERE status = 'failed';
