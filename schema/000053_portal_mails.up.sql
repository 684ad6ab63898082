-- The links that one address was mailed in a day are few, and counted for each.
SET LOCAL lock_timeout = '2s';
CREATE INDEX mails_sign_in_idx ON mails (org_id, lower(recipient), created_at) WHERE purpose = 'portal_sign_in';
