-- name: ResourceGet :one
SELECT t.* FROM resources t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ResourceLock :one
-- ResourceLock reads the row for a change and locks it until the commit.
SELECT t.* FROM resources t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: ResourceEnd :one
-- ResourceEnd is the place after the last item of a folder; the program is locked.
SELECT coalesce(max(t.position) + 1, 0)::bigint AS position FROM resources t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND coalesce(t.folder, '') = @folder::text;

-- name: ResourceInsert :exec
INSERT INTO resources (id, org_id, program_id, kind, title, url, folder, mime_type, size_bytes, group_ids, tag_ids,
    position, published, published_at, metadata, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @kind, @title, @url, @folder, @mime_type, @size_bytes, @group_ids, @tag_ids,
    @position, @published, @published_at, @metadata, @created_at, @updated_at);

-- name: ResourceUpdate :exec
UPDATE resources SET title = @title, url = @url, folder = @folder, group_ids = @group_ids, tag_ids = @tag_ids,
    position = @position, published = @published,
    published_at = @published_at, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: ResourceDelete :exec
DELETE FROM resources WHERE id = @id AND org_id = @org_id;

-- name: ResourcesRemoveTag :exec
-- ResourcesRemoveTag and ResourcesRemoveGroup detach a deleted tag or group. They delete resources for
-- it alone, which would otherwise be visible to all partners.
UPDATE resources SET tag_ids = array_remove(tag_ids, @tag_id::text), published = published
    AND tag_ids <> ARRAY[@tag_id::text], updated_at = @updated_at
WHERE program_id = @program_id AND org_id = @org_id AND tag_ids @> ARRAY[@tag_id::text];

-- name: ResourcesRemoveGroup :exec
UPDATE resources SET group_ids = array_remove(group_ids, @group_id::text), published = published
    AND group_ids <> ARRAY[@group_id::text], updated_at = @updated_at
WHERE program_id = @program_id AND org_id = @org_id AND group_ids @> ARRAY[@group_id::text];
