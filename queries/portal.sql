-- Queries of the partner portal that the API does not have.

-- name: MagicLinkUse :one
-- MagicLinkUse uses a sign-in link, once: of concurrent requests, one gets the row. It waits for a
-- concurrent suspension.
UPDATE magic_links t SET used_at = @now::timestamptz
WHERE t.token_hash = @token_hash AND t.used_at IS NULL AND t.expires_at > @now::timestamptz
  AND t.partner_id = (SELECT p.id FROM partners p WHERE p.program_id = t.program_id AND p.id = t.partner_id
      AND p.status = 'active' FOR SHARE)
RETURNING t.org_id, t.program_id, t.partner_id, t.email;

-- name: MagicLinksPurge :execrows
DELETE FROM magic_links WHERE token_hash IN (SELECT t.token_hash FROM magic_links t WHERE t.expires_at <= @now
    ORDER BY t.expires_at LIMIT @lim);

-- name: PortalSessionInsert :exec
INSERT INTO portal_sessions (token_hash, org_id, program_id, partner_id, created_at, expires_at, visitor, embedded, email)
VALUES (@token_hash, @org_id, @program_id, @partner_id, @created_at, @expires_at, @visitor, @embedded, @email);

-- name: PortalSession :one
-- PortalSession returns the active partner of a session, with the program and its look.
SELECT sqlc.embed(s), sqlc.embed(p), sqlc.embed(g), t.accent_color, t.second_color,
    coalesce(t.typeface, '')::text AS typeface, coalesce(t.corners, '')::text AS corners, t.logo_version, t.logo_dark_version, coalesce(t.leaderboard, false)::boolean AS leaderboard,
    coalesce(t.embed_hosts, '{}')::text[] AS embed_hosts FROM portal_sessions s
JOIN partners p ON p.program_id = s.program_id AND p.id = s.partner_id
JOIN programs g ON g.id = s.program_id
LEFT JOIN portal_settings t ON t.program_id = g.id AND t.org_id = g.org_id
WHERE s.token_hash = @token_hash AND s.embedded = @embedded AND s.expires_at > @now AND p.status = 'active';

-- name: PortalSessionExtend :exec
UPDATE portal_sessions SET expires_at = @expires_at WHERE token_hash = @token_hash AND expires_at < @expires_at;

-- name: PortalPartners :many
-- PortalPartners lists the active partners with an email address, of one program or of all: those
-- who have signed in before first, then the oldest. It is not bound to an organization, because
-- signing in names none. It omits sample partners, who get no mails.
SELECT sqlc.embed(p), sqlc.embed(g) FROM partners p JOIN programs g ON g.id = p.program_id
WHERE lower(p.email) = lower(@email) AND p.status = 'active' AND NOT starts_with(p.id, 'sample_')
  AND (sqlc.narg('program')::text IS NULL OR g.id = sqlc.narg('program')::text
    OR g.subdomain = sqlc.narg('program')::text)
ORDER BY p.completed_onboarding DESC, p.created_at, p.id LIMIT @lim;

-- name: PortalOtherPartners :many
-- PortalOtherPartners lists the other active partners with the address that a session has proven, with the looks of their
-- programs. It is not bound to an organization: the address is the caller's own. folded is the address
-- with small ASCII letters: the comparison keeps other letters apart that lower folds together.
SELECT p.id, g.id AS program_id, g.name, t.logo_version FROM partners p JOIN programs g ON g.id = p.program_id
LEFT JOIN portal_settings t ON t.program_id = g.id AND t.org_id = g.org_id
WHERE lower(p.email) = lower(@email::text) AND lower(p.email COLLATE "C") = @folded::text
  AND p.status = 'active' AND NOT starts_with(p.id, 'sample_') AND p.id <> @partner_id
ORDER BY g.name, p.created_at, p.id LIMIT @lim;

-- name: PortalOtherPartnerLock :one
-- PortalOtherPartnerLock finds one of these partners, and waits for a concurrent suspension.
SELECT p.id, p.org_id, p.program_id FROM partners p
WHERE p.id = @id AND lower(p.email) = lower(@email::text) AND lower(p.email COLLATE "C") = @folded::text
  AND p.status = 'active' AND NOT starts_with(p.id, 'sample_') FOR SHARE;

-- name: PortalSessionTake :one
-- PortalSessionTake ends a partner's own session that has proven an address since a time, once: of concurrent
-- requests, one gets the row.
DELETE FROM portal_sessions t
WHERE t.token_hash = @token_hash AND t.email IS NOT NULL AND t.expires_at > @now AND t.created_at > @since
RETURNING t.*;

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

-- name: PartnerSetRanked :exec
UPDATE partners SET on_leaderboard = @on_leaderboard, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: PortalLeaders :many
-- PortalLeaders names those of some partners who are active and take part in the leaderboard.
SELECT p.id, coalesce(p.first_name, '')::text AS first_name, coalesce(p.last_name, '')::text AS last_name,
    coalesce(p.display_name, '')::text AS display_name
FROM partners p WHERE p.id = ANY (@ids::text[]) AND p.program_id = @program_id AND p.org_id = @org_id
    AND p.status = 'active' AND p.on_leaderboard;

-- name: PartnerSetOnboarded :exec
UPDATE partners SET completed_onboarding = true, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: PortalCommissions :many
-- PortalCommissions lists a partner's commissions with their sales, the newest sale first. A
-- commission's day is that of reports: its sale's, or its own for a clawback and without a sale.
WITH dated AS (
    SELECT k.id, (CASE WHEN k.kind = 'clawback' THEN k.created_at ELSE coalesce(s.occurred_at, k.created_at)
        END)::timestamptz AS at
    FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id
    WHERE k.program_id = @program_id AND k.org_id = @org_id AND k.partner_id = @partner_id
      AND (sqlc.narg('status')::text IS NULL OR k.status = sqlc.narg('status')::text)
      AND (sqlc.narg('payout_id')::text IS NULL OR k.payout_id = sqlc.narg('payout_id')::text)
), asked AS (
    SELECT d.id, d.at FROM dated d
    WHERE (sqlc.narg('from_at')::timestamptz IS NULL OR d.at >= sqlc.narg('from_at')::timestamptz)
      AND (sqlc.narg('before_at')::timestamptz IS NULL OR d.at < sqlc.narg('before_at')::timestamptz)
      AND (sqlc.narg('after')::text IS NULL
        OR (d.at, d.id) < (SELECT o.at, o.id FROM dated o WHERE o.id = sqlc.narg('after')::text))
      AND (sqlc.narg('before')::text IS NULL
        OR (d.at, d.id) > (SELECT o.at, o.id FROM dated o WHERE o.id = sqlc.narg('before')::text))
    ORDER BY CASE WHEN sqlc.narg('before')::text IS NULL THEN d.at END DESC,
        CASE WHEN sqlc.narg('before')::text IS NULL THEN d.id END DESC, d.at, d.id
    LIMIT @lim
)
SELECT sqlc.embed(k), a.at, s.amount_minor AS sale_minor, s.currency AS sale_currency, c.email, c.name,
    coalesce(c.tracked_by, '')::text AS tracked_by, coalesce(l.label, l.value, '')::text AS link_name,
    u.code AS coupon_code,
    (c.click_id IS NOT NULL)::boolean AS clicked, y.due_at AS payout_due_at, y.paid_at AS payout_paid_at
FROM asked a JOIN commissions k ON k.id = a.id
LEFT JOIN sales s ON s.id = k.sale_id
LEFT JOIN customers c ON c.id = k.customer_id AND c.partner_id = k.partner_id AND c.org_id = @org_id
LEFT JOIN links l ON l.id = c.link_id
LEFT JOIN coupons u ON u.id = c.coupon_id
LEFT JOIN payouts y ON y.id = k.payout_id
WHERE k.org_id = @org_id ORDER BY a.at DESC, a.id DESC;

-- name: PortalCommissionSums :many
-- PortalCommissionSums counts the same, and sums by currency like reports: without rejected and
-- voided ones.
SELECT d.currency, count(*) AS commissions,
    coalesce(sum(d.amount_minor) FILTER (WHERE d.status NOT IN ('rejected', 'voided')), 0)::bigint AS amount_minor
FROM (
    SELECT k.currency, k.status, k.amount_minor,
        CASE WHEN k.kind = 'clawback' THEN k.created_at ELSE coalesce(s.occurred_at, k.created_at) END AS at
    FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id
    WHERE k.program_id = @program_id AND k.org_id = @org_id AND k.partner_id = @partner_id
      AND (sqlc.narg('status')::text IS NULL OR k.status = sqlc.narg('status')::text)
      AND (sqlc.narg('payout_id')::text IS NULL OR k.payout_id = sqlc.narg('payout_id')::text)) d
WHERE (sqlc.narg('from_at')::timestamptz IS NULL OR d.at >= sqlc.narg('from_at')::timestamptz)
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR d.at < sqlc.narg('before_at')::timestamptz)
GROUP BY 1 ORDER BY 1;

-- name: PortalConvertedCount :one
-- PortalConvertedCount counts a partner's paying customers, as conditions of flows do.
SELECT count(*) FROM customers x WHERE x.program_id = @program_id AND x.org_id = @org_id
    AND x.partner_id = @partner_id::text AND x.converted_at IS NOT NULL;
