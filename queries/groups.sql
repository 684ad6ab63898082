-- name: GroupByIDs :many
SELECT t.* FROM groups t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: GroupGet :one
SELECT t.* FROM groups t WHERE t.id = @id AND t.org_id = @org_id;

-- name: GroupLock :one
-- GroupLock reads the row for a change and locks it until the commit.
SELECT t.* FROM groups t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: GroupUpdate :exec
UPDATE groups SET name = @name, description = @description, landing_url = @landing_url, is_private = @is_private,
    is_default = @is_default, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: GroupClearDefault :exec
-- GroupClearDefault runs before another group becomes the default.
UPDATE groups SET is_default = false, updated_at = @updated_at WHERE program_id = @program_id AND org_id = @org_id
    AND is_default AND id <> @id;

-- name: GroupByName :one
-- GroupByName ignores case, like the unique index.
SELECT t.* FROM groups t WHERE t.program_id = @program_id AND t.org_id = @org_id AND lower(t.name) = lower(@name);

-- name: GroupSlugs :many
-- GroupSlugs lists the slugs that begin alike, among which a suffix is chosen.
SELECT t.slug FROM groups t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND starts_with(t.slug, @slug::text);

-- name: GroupDefault :one
SELECT t.* FROM groups t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.is_default;

-- name: GroupLeavePartners :exec
-- References to a group are removed before it is deleted (decisions, 51).
UPDATE partners SET group_id = NULL, updated_at = @updated_at WHERE program_id = @program_id AND org_id = @org_id
    AND group_id = @group_id;

-- name: GroupLeaveApplications :exec
UPDATE applications SET group_id = NULL, updated_at = @updated_at WHERE program_id = @program_id AND org_id = @org_id
    AND group_id = @group_id;

-- name: GroupLeaveCoupons :exec
UPDATE coupons SET group_id = NULL, updated_at = @updated_at WHERE program_id = @program_id AND org_id = @org_id
    AND group_id = @group_id;

-- name: GroupDeleteFlows :many
-- GroupDeleteFlows deletes the flows of the group, and flows that move partners into it.
DELETE FROM flows WHERE program_id = @program_id AND org_id = @org_id AND (group_id = @group_id
    OR target_group_id = @group_id) RETURNING id, name;

-- name: GroupDelete :exec
DELETE FROM groups WHERE id = @id AND org_id = @org_id;

-- name: GroupProgram :one
SELECT t.program_id FROM groups t WHERE t.id = @id AND t.org_id = @org_id;

-- name: GroupAdd :exec
-- GroupAdd adds a group after a check that its name and slug are free; if another request has taken
-- one since, the index makes the work run again.
INSERT INTO groups (id, org_id, program_id, name, slug, description, landing_url, is_private, is_default, created_at,
    updated_at)
VALUES (@id, @org_id, @program_id, @name, @slug, @description, @landing_url, @is_private, @is_default, @created_at,
    @updated_at);
