-- The keys that sign an organization's statements.

-- name: StatementKeyAt :one
-- StatementKeyAt returns the key that signs at a time: the newest of that time, or the first if the clock was set back.
SELECT t.* FROM statement_keys t WHERE t.org_id = @org_id
ORDER BY t.created_at <= @now DESC, CASE WHEN t.created_at <= @now THEN t.created_at END DESC, t.created_at, t.id LIMIT 1;

-- name: StatementKeyInsert :execrows
-- StatementKeyInsert adds the current key, unless another unit of work has added one.
INSERT INTO statement_keys (id, org_id, public_key, private_key, created_at, retired_at)
VALUES (@id, @org_id, @public_key, @private_key, @created_at, @retired_at)
ON CONFLICT (org_id) WHERE retired_at IS NULL DO NOTHING;

-- name: StatementKeyRetire :one
UPDATE statement_keys SET retired_at = @retired_at
WHERE org_id = @org_id AND retired_at IS NULL AND created_at < @retired_at RETURNING *;

-- name: StatementKeysOfOrganization :many
SELECT t.* FROM statement_keys t WHERE t.org_id = @org_id ORDER BY t.created_at, t.id;

-- name: StatementKeysPublished :many
-- StatementKeysPublished returns the public keys of all organizations, newest first.
SELECT t.id, t.org_id, t.public_key, t.created_at, t.retired_at FROM statement_keys t ORDER BY t.id DESC LIMIT @lim;

-- name: StatementKeysTotal :one
-- StatementKeysTotal counts the keys of all organizations. Every change of public keys adds one.
SELECT count(*) FROM statement_keys;

-- name: StatementKeyPublished :one
SELECT t.id, t.org_id, t.public_key, t.created_at, t.retired_at FROM statement_keys t WHERE t.id = @id;

-- name: StatementKeysSealed :many
SELECT t.id, t.private_key FROM statement_keys t WHERE t.id > @after ORDER BY t.id LIMIT @lim;

-- name: StatementKeyReseal :exec
UPDATE statement_keys SET private_key = @private_key WHERE id = @id AND private_key = @was;
