-- name: MailInsert :exec
-- MailInsert queues a mail, unless it was queued before.
INSERT INTO mails (id, org_id, purpose, key, recipient, subject, body, plain, foot, language, placeholders,
    program_id, status, next_attempt_at, created_at)
VALUES (@id, @org_id, @purpose, @key, @recipient, @subject, @body, @plain, @foot, @language, @placeholders, @program_id,
    'queued', @next_attempt_at, @created_at)
ON CONFLICT (org_id, purpose, key, lower(recipient)) DO NOTHING;

-- name: MailRecall :exec
-- MailRecall drops a mail that was not sent yet.
DELETE FROM mails WHERE org_id = @org_id AND purpose = @purpose AND key = @key AND status = 'queued';

-- name: MailLinksSince :one
-- MailLinksSince counts the links into the portal that an address was mailed.
SELECT count(*) FROM mails t WHERE t.org_id = @org_id AND t.purpose = 'portal_sign_in'
    AND lower(t.recipient) = lower(@email::text) AND t.created_at > @since;

-- name: MailsTake :many
-- MailsTake marks the next mails as being sent, before sending; other replicas skip locked ones.
-- Bulk mails come last.
UPDATE mails t SET status = 'sending', attempts = t.attempts + 1, next_attempt_at = NULL, taken_at = @now
FROM (SELECT m.id FROM mails m WHERE m.status = 'queued' AND m.next_attempt_at <= @now
    ORDER BY (m.partner_id IS NOT NULL), m.next_attempt_at, m.id LIMIT @lim FOR NO KEY UPDATE SKIP LOCKED) due
WHERE t.id = due.id RETURNING t.*;

-- name: MailReader :one
-- MailReader returns the sender of a mail, with the program's logo and colour and the reply
-- address, and whether to send it. A bulk mail is dropped if its partner is deleted, unsubscribed
-- or not in the audience, or its campaign or sequence is deleted. It waits while these are paused
-- or the partner is suspended.
SELECT coalesce(p.mail_token, '')::text AS mail_token, coalesce(p.language_code, '')::text AS language,
    coalesce(g.name, '')::text AS program_name,
    coalesce(g.id, '')::text AS program_id, t.accent_color, t.second_color, t.logo_version,
    coalesce(t.reply_to, o.owner_email, '')::text AS reply_to,
    CASE WHEN m.partner_id IS NULL THEN 'go'
        WHEN p.id IS NULL OR p.unsubscribed_at IS NOT NULL OR m.campaign_id IS NOT NULL AND c.id IS NULL
        OR m.sequence_id IS NOT NULL AND s.id IS NULL THEN 'skip'
        WHEN p.status <> ALL (CASE WHEN c.statuses <> '{}' THEN c.statuses ELSE ARRAY['active'] END) THEN CASE
            WHEN s.id IS NULL THEN 'skip' ELSE 'back' END
        WHEN c.status <> 'sending' OR s.status <> 'active' THEN 'back'
        ELSE 'go' END::text AS verdict
FROM mails m LEFT JOIN partners p ON p.id = m.partner_id AND p.org_id = m.org_id
    LEFT JOIN programs g ON g.id = coalesce(p.program_id, m.program_id) AND g.org_id = m.org_id
    LEFT JOIN organizations o ON o.id = g.org_id
    LEFT JOIN portal_settings t ON t.program_id = g.id AND t.org_id = g.org_id
    LEFT JOIN campaigns c ON c.id = m.campaign_id AND c.org_id = m.org_id LEFT JOIN sequences s ON s.id = m.sequence_id
        AND s.org_id = m.org_id
WHERE m.id = @id AND m.org_id = @org_id;

-- name: MailValues :one
-- MailValues reads the values of a partner's placeholders: its names, the page and parameter of its
-- link (decisions, 50), and its oldest active coupon.
SELECT coalesce(p.first_name, '')::text AS first_name, coalesce(p.last_name, '')::text AS last_name,
    coalesce(nullif(trim(p.display_name), ''), nullif(trim(concat_ws(' ', p.first_name, p.last_name)), ''),
        nullif(trim(p.company_name), ''), p.handle)::text AS name,
    coalesce(p.company_name, '')::text AS company, p.email, p.handle, g.id AS program_id, g.name AS program,
    coalesce(r.landing_url, g.website_url)::text AS landing, coalesce(g.url_params[1], 'ref')::text AS param,
    coalesce((SELECT k.code FROM coupons k WHERE k.program_id = p.program_id AND k.org_id = p.org_id
        AND k.partner_id = p.id AND k.active ORDER BY k.created_at, k.id LIMIT 1), '')::text AS coupon
FROM partners p JOIN programs g ON g.id = p.program_id AND g.org_id = p.org_id
    LEFT JOIN groups r ON r.id = p.group_id AND r.org_id = p.org_id
WHERE p.id = @partner_id AND p.org_id = @org_id;

-- name: MailBranding :one
-- MailBranding reads the name, colours and logo of a program's mails, and the language of a partner; the id may be empty.
SELECT g.name AS program_name, t.accent_color, t.second_color, t.logo_version, coalesce(p.language_code, '')::text AS language
FROM programs g LEFT JOIN portal_settings t ON t.program_id = g.id AND t.org_id = g.org_id
    LEFT JOIN partners p ON p.id = @partner_id::text AND p.program_id = g.id AND p.org_id = g.org_id
WHERE g.id = @program_id AND g.org_id = @org_id;

-- name: MailCampaign :one
-- MailCampaign locks the campaign of a mail whose result is written.
SELECT c.status, c.updated_at FROM campaigns c WHERE c.id = @id AND c.org_id = @org_id FOR NO KEY UPDATE;

-- name: MailRetryLater :exec
-- MailRetryLater queues a mail again after the attempt @attempts failed.
UPDATE mails SET status = 'queued', next_attempt_at = @next_attempt_at, error = @error
    WHERE id = @id AND status = 'sending' AND attempts = @attempts;

-- name: MailReturn :exec
-- MailReturn removes a mail from the outbox, and its recipient waits again.
WITH back AS (
    DELETE FROM mails m WHERE m.id = @id AND m.status = 'sending' AND m.attempts = @attempts
    RETURNING m.partner_id, m.campaign_id, m.sequence_id, m.position),
r AS (
    UPDATE campaign_recipients r SET status = 'queued' FROM back
    WHERE r.campaign_id = back.campaign_id AND r.partner_id = back.partner_id AND r.status = 'mailed')
UPDATE sequence_enrolments e SET position = back.position, next_at = @now, completed_at = NULL FROM back
WHERE e.sequence_id = back.sequence_id AND e.partner_id = back.partner_id AND e.position > back.position;

-- name: MailFinish :exec
-- MailFinish ends a mail as sent, failed or, after an opt-out, skipped (stored as failed), and counts
-- it in its campaign. It drops a text that the campaign has, and a partner's values.
WITH m AS (
    UPDATE mails t SET status = CASE WHEN @outcome::text = 'sent' THEN 'sent' ELSE 'failed' END, error = @error,
        sent_at = CASE WHEN @outcome::text = 'sent' THEN @now::timestamptz END, body = CASE
            WHEN t.campaign_id IS NULL THEN t.body ELSE '' END,
        placeholders = CASE WHEN @outcome::text = 'sent' THEN NULL ELSE t.placeholders END
    WHERE t.id = @id AND t.status = 'sending' AND t.attempts = @attempts RETURNING t.campaign_id, t.partner_id),
r AS (
    UPDATE campaign_recipients r SET status = @outcome::text FROM m
    WHERE r.campaign_id = m.campaign_id AND r.partner_id = m.partner_id AND r.status = 'mailed' RETURNING r.campaign_id)
UPDATE campaigns c SET sent = c.sent + (@outcome::text = 'sent')::int,
    failed = c.failed + (@outcome::text = 'failed')::int,
    skipped = c.skipped + (@outcome::text = 'skipped')::int
FROM r WHERE c.id = r.campaign_id;

-- name: MailsAbandoned :many
-- MailsAbandoned lists mails whose worker died while sending them. They may have been sent, and are not
-- sent again.
SELECT m.* FROM mails m WHERE m.status = 'sending' AND m.taken_at < @taken_before;

-- name: PartnersNextBatch :one
-- PartnersNextBatch returns the last id and the size of the next batch of a program's partners, for campaigns and
-- sequences.
SELECT coalesce(max(x.id), '')::text AS upto, count(*) AS partners
FROM (SELECT p.id FROM partners p WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.id > @after_id::text
    ORDER BY p.id LIMIT @lim) x;

-- name: PartnerMailsRecall :exec
-- PartnerMailsRecall removes a partner's mails from the outbox; a campaign detects that the partner
-- is deleted.
WITH back AS (DELETE FROM mails m WHERE m.partner_id = @partner_id::text AND m.org_id = @org_id AND m.status = 'queued'
    RETURNING m.campaign_id)
UPDATE campaign_recipients r SET status = 'queued' FROM back
WHERE r.campaign_id = back.campaign_id AND r.org_id = @org_id AND r.partner_id = @partner_id::text
    AND r.status = 'mailed';

-- name: PartnerUnsubscribe :execrows
-- PartnerUnsubscribe and the queries of its page find the partner by the token of
-- its mails alone.
UPDATE partners SET unsubscribed_at = CASE WHEN @subscribed::boolean THEN NULL ELSE coalesce(unsubscribed_at, @now) END
    WHERE mail_token = @mail_token;

-- name: PartnerByMailToken :one
SELECT p.unsubscribed_at, g.name AS program_name FROM partners p JOIN programs g ON g.id = p.program_id
    WHERE p.mail_token = @mail_token;

-- name: PartnerUnsubscribesSave :exec
-- PartnerUnsubscribesSave stores the opt-out of a deleted partner.
INSERT INTO mail_unsubscribes (org_id, program_id, email_hash, unsubscribed_at)
SELECT p.org_id, p.program_id, sha256(convert_to(p.program_id || ' ' || lower(p.email), 'UTF8')), p.unsubscribed_at
FROM partners p WHERE p.id = @id AND p.org_id = @org_id AND p.unsubscribed_at IS NOT NULL
ON CONFLICT (program_id, email_hash) DO UPDATE SET unsubscribed_at = excluded.unsubscribed_at;

-- name: PartnerUnsubscribesRestore :exec
-- PartnerUnsubscribesRestore restores the opt-out for a new partner with the same address.
WITH u AS (
    DELETE FROM mail_unsubscribes u
    WHERE u.program_id = @program_id AND u.org_id = @org_id
        AND u.email_hash = sha256(convert_to(@program_id || ' ' || lower(@email::text), 'UTF8'))
    RETURNING u.unsubscribed_at)
UPDATE partners p SET unsubscribed_at = u.unsubscribed_at FROM u WHERE p.id = @id AND p.org_id = @org_id;

-- name: MailsPurge :execrows
DELETE FROM mails WHERE id IN (SELECT m.id FROM mails m WHERE m.created_at < @before AND m.status IN ('sent', 'failed')
    ORDER BY m.created_at LIMIT @lim);

-- name: OwnerAddresses :many
-- OwnerAddresses lists the addresses of an organization's owners: of its active users with that role, at most 20, or
-- that of the organization if it has none.
SELECT u.email FROM (SELECT w.email FROM users w WHERE w.org_id = @org_id AND w.role = 'owner'
    AND w.disabled_at IS NULL ORDER BY w.created_at, w.id LIMIT 20) u
UNION ALL
SELECT o.owner_email FROM organizations o WHERE o.id = @org_id AND o.owner_email IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM users w WHERE w.org_id = @org_id AND w.role = 'owner' AND w.disabled_at IS NULL);

-- name: PartnerLeads :one
-- PartnerLeads counts a partner's customers, up to two: for its first.
SELECT count(*) FROM (
    SELECT 1 FROM customers c WHERE c.program_id = @program_id AND c.org_id = @org_id
        AND c.partner_id = @partner_id LIMIT 2
) t;

-- name: MailGet :one
-- MailGet reads a mail in any state; it finds its program like the list.
SELECT t.id, t.purpose, t.recipient, t.subject, t.status, t.attempts, t.error, t.created_at, t.campaign_id,
    coalesce(t.program_id, (SELECT p.program_id FROM partners p WHERE p.id = t.partner_id AND p.org_id = t.org_id),
    '')::text AS program_id
FROM mails t WHERE t.id = @id AND t.org_id = @org_id;

-- name: MailLockFailed :one
-- MailLockFailed locks a mail with its program, if that is known.
SELECT t.id, t.purpose, t.recipient, t.subject, t.status, t.attempts, t.error, t.created_at, t.campaign_id,
    coalesce(t.program_id, (SELECT p.program_id FROM partners p WHERE p.id = t.partner_id AND p.org_id = t.org_id),
    '')::text AS program_id
FROM mails t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: MailRetry :exec
-- MailRetry queues a failed mail as if it were new.
UPDATE mails SET status = 'queued', attempts = 0, error = NULL, next_attempt_at = @now, taken_at = NULL
WHERE id = @id AND org_id = @org_id AND status = 'failed';
