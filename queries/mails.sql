-- name: MailInsert :exec
-- MailInsert queues a mail, unless it was queued before.
INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, next_attempt_at, created_at)
VALUES (@id, @org_id, @purpose, @key, @recipient, @subject, @body, 'queued', @created_at, @created_at)
ON CONFLICT (org_id, purpose, key, recipient) DO NOTHING;

-- name: MailsTake :many
-- MailsTake marks the next mails as being sent, before anything is sent; other
-- replicas pass over what this one holds.
UPDATE mails t SET status = 'sending', attempts = t.attempts + 1, next_attempt_at = NULL, taken_at = @now
FROM (SELECT m.id FROM mails m WHERE m.status = 'queued' AND m.next_attempt_at <= @now ORDER BY m.next_attempt_at, m.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: MailSent :exec
UPDATE mails SET status = 'sent', sent_at = @now, error = NULL WHERE id = @id AND status = 'sending';

-- name: MailAgain :exec
UPDATE mails SET status = 'queued', next_attempt_at = @next_attempt_at, error = @error WHERE id = @id AND status = 'sending';

-- name: MailFailed :exec
UPDATE mails SET status = 'failed', error = @error WHERE id = @id AND status = 'sending';

-- name: MailsLost :execrows
-- MailsLost gives up mails whose worker died while it sent them: they may have
-- gone, and go at most once.
UPDATE mails SET status = 'failed', error = 'The server stopped while it was sent.' WHERE status = 'sending' AND taken_at < @taken_before;

-- name: MailsPurge :execrows
DELETE FROM mails WHERE id IN (SELECT m.id FROM mails m WHERE m.created_at < @before AND m.status IN ('sent', 'failed') ORDER BY m.created_at LIMIT @lim);

-- name: OrganizationOwner :one
SELECT o.owner_email FROM organizations o WHERE o.id = @org_id;

-- name: PartnerLeads :one
-- PartnerLeads counts a partner's customers, for its first.
SELECT count(*) FROM customers c WHERE c.program_id = @program_id AND c.org_id = @org_id AND c.partner_id = @partner_id;
