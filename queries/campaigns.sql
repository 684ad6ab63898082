-- name: CampaignGet :one
SELECT t.* FROM campaigns t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CampaignLock :one
SELECT t.* FROM campaigns t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CampaignInsert :exec
INSERT INTO campaigns (id, org_id, program_id, name, subject, body, group_ids, tag_ids, statuses, status,
    scheduled_at, started_at, sent_at, total, sent, failed, skipped, opened, created_at, updated_at, audience_after,
    partner_ids)
VALUES (@id, @org_id, @program_id, @name, @subject, @body, @group_ids, @tag_ids, @statuses, @status, @scheduled_at,
    @started_at, @sent_at, @total, @sent, @failed, @skipped, @opened, @created_at, @updated_at, @audience_after,
    @partner_ids);

-- name: CampaignUpdate :exec
UPDATE campaigns SET name = @name, subject = @subject, body = @body, group_ids = @group_ids, tag_ids = @tag_ids,
    statuses = @statuses, partner_ids = @partner_ids, status = @status,
    scheduled_at = @scheduled_at, started_at = @started_at, total = @total, skipped = @skipped,
        audience_after = @audience_after, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: CampaignDelete :exec
-- CampaignDelete removes a campaign with its recipients and its mails in the outbox; mails in
-- progress detect that it is deleted.
WITH m AS (DELETE FROM mails m WHERE m.campaign_id = @id::text AND m.org_id = @org_id AND m.status = 'queued')
DELETE FROM campaigns t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CampaignAudience :one
-- CampaignAudience counts, up to a limit, the partners that match the audience or got the mail
-- before, and those of the audience that have unsubscribed.
SELECT (count(*) + (SELECT count(*) FROM campaign_recipients d WHERE d.campaign_id = @campaign_id AND d.org_id = @org_id
    AND d.status IN ('mailed', 'sent', 'failed')))::bigint AS total,
    count(*) FILTER (WHERE x.unsubscribed_at IS NOT NULL) AS skipped
FROM (
    SELECT p.unsubscribed_at FROM partners p
    WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.status = ANY (@statuses::text[])
      AND (@partner_ids::text[] = '{}' OR p.id = ANY (@partner_ids::text[]))
      AND (@group_ids::text[] = '{}' OR p.group_id = ANY (@group_ids::text[]))
      AND (@tag_ids::text[] = '{}' OR EXISTS (SELECT 1 FROM partner_tags pt
          WHERE pt.partner_id = p.id AND pt.tag_id = ANY (@tag_ids::text[])))
      AND NOT EXISTS (SELECT 1 FROM campaign_recipients d WHERE d.campaign_id = @campaign_id AND d.partner_id = p.id
          AND d.status IN ('mailed', 'sent', 'failed'))
    LIMIT @lim) x;

-- name: CampaignFirst :one
-- CampaignFirst finds the first partner of an audience who gets mail, whether or not the partner has it.
SELECT p.id FROM partners p
WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.status = ANY (@statuses::text[])
  AND (@partner_ids::text[] = '{}' OR p.id = ANY (@partner_ids::text[]))
  AND (@group_ids::text[] = '{}' OR p.group_id = ANY (@group_ids::text[]))
  AND (@tag_ids::text[] = '{}' OR EXISTS (SELECT 1 FROM partner_tags pt
      WHERE pt.partner_id = p.id AND pt.tag_id = ANY (@tag_ids::text[])))
  AND p.unsubscribed_at IS NULL
ORDER BY p.id LIMIT 1;

-- name: CampaignRecipientsDelete :exec
-- CampaignRecipientsDelete deletes the recipients of a batch without a mail, before its audience is
-- read again.
DELETE FROM campaign_recipients r WHERE r.campaign_id = @campaign_id AND r.org_id = @org_id
    AND r.partner_id > @after_id::text
  AND (sqlc.narg('upto_id')::text IS NULL OR r.partner_id <= sqlc.narg('upto_id')::text) AND r.status IN ('queued',
      'skipped');

-- name: CampaignRecipientsAdd :exec
-- CampaignRecipientsAdd inserts the partners of a batch that match the audience and existed at the
-- start of the campaign.
INSERT INTO campaign_recipients (campaign_id, partner_id, org_id, program_id, status)
SELECT @campaign_id, p.id, p.org_id, p.program_id, CASE WHEN p.unsubscribed_at IS NULL THEN 'queued' ELSE 'skipped' END
FROM partners p
WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.status = ANY (@statuses::text[])
  AND (@partner_ids::text[] = '{}' OR p.id = ANY (@partner_ids::text[]))
  AND (@group_ids::text[] = '{}' OR p.group_id = ANY (@group_ids::text[]))
  AND (@tag_ids::text[] = '{}' OR EXISTS (SELECT 1 FROM partner_tags pt
      WHERE pt.partner_id = p.id AND pt.tag_id = ANY (@tag_ids::text[])))
  AND p.id > @after_id::text AND (sqlc.narg('upto_id')::text IS NULL OR p.id <= sqlc.narg('upto_id')::text)
      AND p.created_at <= @started_at
ON CONFLICT (campaign_id, partner_id) DO NOTHING;

-- name: CampaignSetCursor :exec
-- CampaignSetCursor saves the last partner whose recipient row is inserted.
UPDATE campaigns SET audience_after = @audience_after WHERE id = @id AND org_id = @org_id;

-- name: CampaignSetCounts :exec
-- CampaignSetCounts ends the inserting, and stores the exact counts of the recipients.
UPDATE campaigns c SET audience_after = NULL, total = n.total, skipped = n.skipped, opened = least(c.opened, n.total)
FROM (SELECT count(*) AS total, count(*) FILTER (WHERE r.status = 'skipped') AS skipped FROM campaign_recipients r
    WHERE r.campaign_id = @id AND r.org_id = @org_id) n
WHERE c.id = @id AND c.org_id = @org_id;

-- name: CampaignRecall :exec
-- CampaignRecall removes the campaign's mails from the outbox, except those in progress.
WITH back AS (DELETE FROM mails m WHERE m.campaign_id = @campaign_id::text AND m.org_id = @org_id
    AND m.status = 'queued' RETURNING m.partner_id)
UPDATE campaign_recipients r SET status = 'queued' FROM back
WHERE r.campaign_id = @campaign_id::text AND r.org_id = @org_id AND r.partner_id = back.partner_id
    AND r.status = 'mailed';

-- name: CampaignsScheduled :many
SELECT c.id, c.org_id FROM campaigns c WHERE c.status = 'scheduled' AND c.scheduled_at <= @now AND NOT starts_with(c.id,
    'sample_') ORDER BY c.scheduled_at, c.id;

-- name: CampaignsSending :many
SELECT c.id, c.org_id FROM campaigns c WHERE c.status = 'sending' AND NOT starts_with(c.id, 'sample_') ORDER BY c.id;

-- name: CampaignTake :one
-- CampaignTake locks a campaign for a job, and skips locked ones.
SELECT c.* FROM campaigns c WHERE c.id = @id AND c.org_id = @org_id
    AND c.status = @status FOR NO KEY UPDATE SKIP LOCKED;

-- name: CampaignOutboxCounts :one
-- CampaignOutboxCounts counts the campaign's mails in the outbox, and how many of them do not wait for a
-- retry.
SELECT count(*) AS held, count(*) FILTER (WHERE m.status = 'sending' OR m.attempts = 0) AS fresh
FROM mails m WHERE m.campaign_id = @campaign_id::text AND m.org_id = @org_id AND m.status IN ('queued', 'sending');

-- name: CampaignNext :many
-- CampaignNext reads the next waiting recipients; email is null for a deleted or unsubscribed
-- partner.
SELECT r.partner_id, p.email FROM campaign_recipients r
LEFT JOIN partners p ON p.id = r.partner_id AND p.org_id = r.org_id AND p.unsubscribed_at IS NULL
WHERE r.campaign_id = @campaign_id AND r.org_id = @org_id AND r.status = 'queued' ORDER BY r.partner_id LIMIT @lim;

-- name: CampaignMail :many
-- CampaignMail queues mails, and returns the partners whose mail is new.
INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, status, next_attempt_at, created_at, partner_id,
    campaign_id)
SELECT x.id, c.org_id, 'campaign', c.id, x.recipient, c.subject, c.body, 'queued', @now, @now, x.partner_id, c.id
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@partner_ids::text[]) AS partner_id,
    unnest(@recipients::text[]) AS recipient) x, campaigns c
WHERE c.id = @campaign_id AND c.org_id = @org_id
ON CONFLICT (org_id, purpose, key, lower(recipient)) DO NOTHING
RETURNING partner_id::text;

-- name: CampaignRecipientsMark :exec
-- CampaignRecipientsMark marks a batch as mailed or skipped.
WITH marked AS (
    UPDATE campaign_recipients r SET status = CASE WHEN r.partner_id = ANY (@mailed::text[]) THEN 'mailed'
        ELSE 'skipped' END
    WHERE r.campaign_id = @campaign_id AND r.org_id = @org_id AND r.partner_id = ANY (@batch::text[])
        AND r.status = 'queued'
    RETURNING r.status)
UPDATE campaigns c SET skipped = c.skipped + (SELECT count(*) FROM marked WHERE status = 'skipped')
    WHERE c.id = @campaign_id AND c.org_id = @org_id;

-- name: CampaignFinish :execrows
-- CampaignFinish ends a campaign whose last mail was sent.
UPDATE campaigns c SET status = 'sent', sent_at = @now, updated_at = @now
WHERE c.id = @id AND c.org_id = @org_id AND c.status = 'sending' AND c.audience_after IS NULL
  AND NOT EXISTS (SELECT 1 FROM campaign_recipients r WHERE r.campaign_id = c.id AND r.status IN ('queued', 'mailed'));

-- name: CampaignLockUnopened :one
-- CampaignLockUnopened locks the campaign of an unopened mail.
SELECT c.id FROM campaigns c JOIN campaign_recipients r ON r.campaign_id = c.id
WHERE c.id = @campaign_id AND r.partner_id = @partner_id AND r.opened_at IS NULL AND r.status IN ('mailed',
    'sent') FOR NO KEY UPDATE OF c;

-- name: CampaignCountOpen :exec
-- CampaignCountOpen counts the first time that a partner opens the mail.
WITH first AS (
    UPDATE campaign_recipients r SET opened_at = @now
    WHERE r.campaign_id = @campaign_id AND r.partner_id = @partner_id AND r.opened_at IS NULL AND r.status IN ('mailed',
        'sent')
    RETURNING r.campaign_id)
UPDATE campaigns c SET opened = c.opened + 1 FROM first WHERE c.id = first.campaign_id;
