-- What the partner portal asks besides what the API does.

-- name: MagicLinkUse :one
-- MagicLinkUse takes a sign-in link, once: of several at the same time one gets
-- the row.
UPDATE magic_links t SET used_at = @now::timestamptz
WHERE t.token_hash = @token_hash AND t.used_at IS NULL AND t.expires_at > @now::timestamptz
  AND EXISTS (SELECT 1 FROM partners p WHERE p.program_id = t.program_id AND p.id = t.partner_id
      AND p.status = 'active')
RETURNING t.org_id, t.program_id, t.partner_id;

-- name: MagicLinksPurge :execrows
DELETE FROM magic_links WHERE token_hash IN (SELECT t.token_hash FROM magic_links t WHERE t.expires_at <= @now
    ORDER BY t.expires_at LIMIT @lim);

-- name: PortalSessionInsert :exec
INSERT INTO portal_sessions (token_hash, org_id, program_id, partner_id, created_at, expires_at, visitor, embedded)
VALUES (@token_hash, @org_id, @program_id, @partner_id, @created_at, @expires_at, @visitor, @embedded);

-- name: PortalSession :one
-- PortalSession is who is signed in, with their program and its look; a partner who is no
-- longer active is not.
SELECT sqlc.embed(s), sqlc.embed(p), sqlc.embed(g), t.accent_color, t.logo_version,
    coalesce(t.embed_hosts, '{}')::text[] AS embed_hosts FROM portal_sessions s
JOIN partners p ON p.program_id = s.program_id AND p.id = s.partner_id
JOIN programs g ON g.id = s.program_id
LEFT JOIN portal_settings t ON t.program_id = g.id AND t.org_id = g.org_id
WHERE s.token_hash = @token_hash AND s.embedded = @embedded AND s.expires_at > @now AND p.status = 'active';

-- name: PortalSessionExtend :exec
UPDATE portal_sessions SET expires_at = @expires_at WHERE token_hash = @token_hash AND expires_at < @expires_at;

-- name: PortalPartners :many
-- PortalPartners are the active partners with an e-mail address, of one program or of all,
-- the newest first. It is not bound to an organization: who signs in names none. Sample
-- partners get no mails.
SELECT sqlc.embed(p), sqlc.embed(g) FROM partners p JOIN programs g ON g.id = p.program_id
WHERE lower(p.email) = lower(@email) AND p.status = 'active' AND NOT starts_with(p.id, 'sample_')
  AND (sqlc.narg('program')::text IS NULL OR g.id = sqlc.narg('program')::text
    OR g.subdomain = sqlc.narg('program')::text)
ORDER BY p.created_at DESC, p.id DESC LIMIT @lim;

-- name: PortalSessionEnd :exec
DELETE FROM portal_sessions WHERE token_hash = @token_hash;

-- name: PortalSessionsPurge :execrows
DELETE FROM portal_sessions WHERE token_hash IN (SELECT t.token_hash FROM portal_sessions t WHERE t.expires_at <= @now
    ORDER BY t.expires_at LIMIT @lim);

-- name: PortalResources :many
-- PortalResources lists what a partner's shelf shows, in its order.
SELECT t.* FROM resources t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.published
  AND (t.group_ids = '{}' OR sqlc.narg('group_id')::text = ANY (t.group_ids))
  AND (t.tag_ids = '{}' OR EXISTS (SELECT 1 FROM partner_tags g
    WHERE g.program_id = @program_id AND g.org_id = @org_id AND g.partner_id = @partner_id
        AND g.tag_id = ANY (t.tag_ids)))
ORDER BY coalesce(t.folder, ''), t.position, t.id LIMIT @lim;

-- name: PortalEndpoints :many
-- PortalEndpoints lists the postbacks of one partner, the oldest first.
SELECT t.* FROM webhook_endpoints t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id::text
ORDER BY t.created_at, t.id;

-- name: WebhookEndpointsCount :one
-- WebhookEndpointsCount counts the endpoints of one owner: a partner, or the
-- program itself.
SELECT count(*) FROM webhook_endpoints t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id IS NOT DISTINCT
    FROM sqlc.narg('partner_id')::text;

-- name: PartnerSetChoices :exec
UPDATE partners SET email_first_referral = @email_first_referral, email_new_referral = @email_new_referral,
    email_payout_paid = @email_payout_paid, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: PartnerOnboarded :exec
UPDATE partners SET completed_onboarding = true, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;
