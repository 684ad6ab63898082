-- links_list_idx and links_partner_idx serve the page and the count; both leave deleted links out.
-- Every list is bound to the organization by the one-time check of its program;
-- the page runs in either direction (LIMIT is one more than asked for).

-- name: LinkPage :many
SELECT t.* FROM links t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND t.deleted_at IS NULL
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: LinkCount :one
SELECT count(*) FROM links t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND t.deleted_at IS NULL
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text);

-- name: LinkCursor :one
-- LinkCursor applies the filters by identity only: a row whose state has left
-- the filter still marks its place, so that a walk goes on while rows change.
SELECT t.created_at, t.id FROM links t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text);

-- name: LinkByIDs :many
SELECT t.* FROM links t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: LinkGet :one
SELECT t.* FROM links t WHERE t.id = @id AND t.org_id = @org_id
  AND t.deleted_at IS NULL;

-- name: LinkLock :one
-- LinkLock reads the row for a change; nobody else changes it until the commit.
SELECT t.* FROM links t WHERE t.id = @id AND t.org_id = @org_id
  AND t.deleted_at IS NULL FOR NO KEY UPDATE;

-- name: LinkInsert :exec
INSERT INTO links (id, org_id, program_id, partner_id, param, value, value_key, destination_url, destination_key, short_slug, label, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @param, @value, @value_key, @destination_url, @destination_key, @short_slug, @label, @created_at, @updated_at);

-- name: LinkUpdate :exec
UPDATE links SET destination_url = @destination_url, destination_key = @destination_key, label = @label, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: LinkDelete :exec
UPDATE links SET deleted_at = @deleted_at, updated_at = @deleted_at WHERE id = @id AND org_id = @org_id;

-- name: LinkSetRateOverride :execrows
UPDATE links SET rate_override = @rate_override, updated_at = @updated_at WHERE id = @id;

-- name: LinkAny :one
-- LinkAny finds a link whether deleted or not: it may hold a value.
SELECT t.* FROM links t WHERE t.id = @id AND t.org_id = @org_id;

-- name: LinkBySlug :one
-- LinkBySlug serves the public redirect, which knows no organization; deleted
-- links keep redirecting.
SELECT sqlc.embed(t), p.status AS partner_status, g.status AS program_status, g.cookie_days, o.fraud_monitoring
FROM links t JOIN partners p ON p.id = t.partner_id JOIN programs g ON g.id = t.program_id JOIN organizations o ON o.id = t.org_id
WHERE t.short_slug = @slug;

-- name: LinkStats :many
SELECT l.id,
    (SELECT count(*) FROM clicks x WHERE x.link_id = l.id) AS clicks,
    (SELECT coalesce(sum(x.total), 0) FROM tally_sums x WHERE x.program_id = l.program_id AND x.list = 'referrals' AND x.owner_id = l.id)::bigint AS referrals,
    (SELECT coalesce(sum(x.total), 0) FROM tally_sums x WHERE x.program_id = l.program_id AND x.list = 'customers' AND x.owner_id = l.id)::bigint AS customers
FROM links l WHERE l.id = ANY (@ids::text[]) AND l.org_id = @org_id;

-- name: LinkProgram :one
SELECT t.program_id FROM links t WHERE t.id = @id AND t.org_id = @org_id;
