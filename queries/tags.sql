-- tags_list_idx serves the page and the count.
-- Every list is bound to the organization by the one-time check of its program;
-- the page runs in either direction (LIMIT is one more than asked for).

-- name: TagPage :many
SELECT t.* FROM tags t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: TagCount :one
SELECT count(*) FROM tags t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id);

-- name: TagCursor :one
-- TagCursor applies the filters by identity only: a row whose state has left
-- the filter still marks its place, so that a walk goes on while rows change.
SELECT t.created_at, t.id FROM tags t
WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id;

-- name: TagGet :one
SELECT t.* FROM tags t WHERE t.id = @id AND t.org_id = @org_id;

-- name: TagLock :one
-- TagLock reads the row for a change; nobody else changes it until the commit.
SELECT t.* FROM tags t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: TagInsert :execrows
INSERT INTO tags (id, org_id, program_id, name, color, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @name, @color, @created_at, @updated_at)
ON CONFLICT DO NOTHING;

-- name: TagUpdate :exec
UPDATE tags SET name = @name, color = @color, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: TagByName :one
SELECT t.* FROM tags t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.name) = lower(@name);

-- name: TagDelete :exec
DELETE FROM tags WHERE id = @id AND org_id = @org_id;

-- name: TagsOfPartners :many
SELECT pt.partner_id, sqlc.embed(t) FROM partner_tags pt JOIN tags t ON t.id = pt.tag_id
WHERE pt.partner_id = ANY (@partner_ids::text[]) AND pt.org_id = @org_id ORDER BY t.created_at, t.id;

-- name: PartnerTagsClear :exec
DELETE FROM partner_tags WHERE partner_id = @partner_id AND org_id = @org_id;

-- name: PartnerTagsAdd :exec
INSERT INTO partner_tags (org_id, program_id, partner_id, tag_id)
SELECT @org_id, @program_id, @partner_id, unnest(@tag_ids::text[]) ON CONFLICT DO NOTHING;

-- name: TagProgram :one
SELECT t.program_id FROM tags t WHERE t.id = @id AND t.org_id = @org_id;
