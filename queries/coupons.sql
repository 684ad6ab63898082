-- coupons_list_idx and coupons_partner_idx serve the page and the count.
-- Every list is bound to the organization by the one-time check of its program;
-- the page runs in either direction (LIMIT is one more than asked for).

-- name: CouponPage :many
SELECT t.* FROM coupons t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('code')::text IS NULL OR lower(t.code) = lower(sqlc.narg('code')::text))
  AND (sqlc.narg('external_id')::text IS NULL OR t.external_id = sqlc.narg('external_id')::text)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: CouponCount :one
SELECT count(*) FROM coupons t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('code')::text IS NULL OR lower(t.code) = lower(sqlc.narg('code')::text))
  AND (sqlc.narg('external_id')::text IS NULL OR t.external_id = sqlc.narg('external_id')::text);

-- name: CouponCursor :one
-- CouponCursor applies the filters by identity only: a row whose state has left
-- the filter still marks its place, so that a walk goes on while rows change.
SELECT t.created_at, t.id FROM coupons t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('code')::text IS NULL OR lower(t.code) = lower(sqlc.narg('code')::text))
  AND (sqlc.narg('external_id')::text IS NULL OR t.external_id = sqlc.narg('external_id')::text);

-- name: CouponGet :one
SELECT t.* FROM coupons t WHERE t.id = @id AND t.org_id = @org_id;

-- name: CouponLock :one
-- CouponLock reads the row for a change; nobody else changes it until the commit.
SELECT t.* FROM coupons t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: CouponInsert :execrows
INSERT INTO coupons (id, org_id, program_id, partner_id, group_id, code, external_id, active, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @group_id, @code, @external_id, @active, @created_at, @updated_at)
ON CONFLICT DO NOTHING;

-- name: CouponUpdate :exec
UPDATE coupons SET external_id = @external_id, partner_id = @partner_id, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: CouponDelete :exec
DELETE FROM coupons WHERE id = @id AND org_id = @org_id;

-- name: CouponByCode :one
SELECT t.* FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.code) = lower(@code);

-- name: CouponSetActive :exec
UPDATE coupons SET active = @active, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;
