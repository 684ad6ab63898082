-- name: TagGet :one
SELECT t.* FROM tags t WHERE t.id = @id AND t.org_id = @org_id;

-- name: TagLock :one
-- TagLock reads the row for a change and locks it until the commit.
SELECT t.* FROM tags t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: TagInsert :execrows
-- TagInsert adds no row if the name is taken, ignoring case.
INSERT INTO tags (id, org_id, program_id, name, color, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @name, @color, @created_at, @updated_at)
ON CONFLICT DO NOTHING;

-- name: TagUpdate :exec
UPDATE tags SET name = @name, color = @color, updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: TagByName :one
-- TagByName finds the tag for a conflict's answer.
SELECT t.* FROM tags t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.name) = lower(@name);

-- name: TagDelete :exec
-- TagDelete also removes partners' tags; those of resources are removed before.
DELETE FROM tags WHERE id = @id AND org_id = @org_id;

-- name: TagsOfPartners :many
-- TagsOfPartners lists each partner's tags, the oldest first.
SELECT pt.partner_id, sqlc.embed(t) FROM partner_tags pt JOIN tags t ON t.id = pt.tag_id
WHERE pt.partner_id = ANY (@partner_ids::text[]) AND pt.org_id = @org_id ORDER BY t.created_at, t.id;

-- name: PartnerTagsClear :exec
DELETE FROM partner_tags WHERE partner_id = @partner_id AND org_id = @org_id;

-- name: PartnerTagsAdd :exec
INSERT INTO partner_tags (org_id, program_id, partner_id, tag_id)
SELECT @org_id, @program_id, @partner_id, unnest(@tag_ids::text[]) ON CONFLICT DO NOTHING;

-- name: TagProgram :one
SELECT t.program_id FROM tags t WHERE t.id = @id AND t.org_id = @org_id;
