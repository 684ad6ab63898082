-- clicks_list_idx and one index a filter serve the page and the count.
-- Every list is bound to the organization by the one-time check of its program;
-- the page runs in either direction (LIMIT is one more than asked for).

-- name: ClickPage :many
SELECT t.* FROM clicks t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('link_id')::text IS NULL OR t.link_id = sqlc.narg('link_id')::text)
  AND (sqlc.narg('referral_id')::text IS NULL OR t.referral_id = sqlc.narg('referral_id')::text)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: ClickCount :one
SELECT count(*) FROM clicks t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('link_id')::text IS NULL OR t.link_id = sqlc.narg('link_id')::text)
  AND (sqlc.narg('referral_id')::text IS NULL OR t.referral_id = sqlc.narg('referral_id')::text);

-- name: ClickCursor :one
-- ClickCursor applies the filters by identity only: a row whose state has left
-- the filter still marks its place, so that a walk goes on while rows change.
SELECT t.created_at, t.id FROM clicks t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id
  AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
  AND (sqlc.narg('link_id')::text IS NULL OR t.link_id = sqlc.narg('link_id')::text)
  AND (sqlc.narg('referral_id')::text IS NULL OR t.referral_id = sqlc.narg('referral_id')::text);

-- name: ClickGet :one
SELECT t.* FROM clicks t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ClickInsert :exec
INSERT INTO clicks (id, org_id, program_id, partner_id, link_id, referral_id, param, ip_hash, user_agent, referer, country, device, landing_url, created_at)
VALUES (@id, @org_id, @program_id, @partner_id, @link_id, @referral_id, @param, @ip_hash, @user_agent, @referer, @country, @device, @landing_url, @created_at);
