-- name: PublishableKeyGet :one
-- PublishableKeyGet finds no revoked key; PublishableKeyFind does.
SELECT t.* FROM publishable_keys t WHERE t.id = @id AND t.org_id = @org_id AND t.revoked_at IS NULL;

-- name: PublishableKeyInsert :exec
INSERT INTO publishable_keys (id, org_id, program_id, key, allowed_hosts, allow_leads, url_params, last_used_at,
    revoked_at, created_at)
VALUES (@id, @org_id, @program_id, @key, @allowed_hosts, @allow_leads, @url_params, @last_used_at, @revoked_at,
    @created_at);

-- name: PublishableKeyLock :one
SELECT t.* FROM publishable_keys t WHERE t.id = @id AND t.org_id = @org_id AND t.revoked_at IS NULL FOR NO KEY UPDATE;

-- name: PublishableKeyUpdate :exec
UPDATE publishable_keys SET allowed_hosts = @allowed_hosts, allow_leads = @allow_leads
WHERE id = @id AND org_id = @org_id;

-- name: PublishableKeyRevoke :exec
-- PublishableKeyRevoke keeps the row, so that pages with the key learn that it is revoked.
UPDATE publishable_keys SET revoked_at = @revoked_at WHERE id = @id AND org_id = @org_id AND revoked_at IS NULL;

-- name: PublishableKeyFind :one
-- PublishableKeyFind is not bound to an organization: it finds the organization of a page's key,
-- with the data of program and organization for the browser's endpoints.
SELECT sqlc.embed(t), g.cookie_days, o.flow_quota, o.revenue_meter_minor, o.fraud_monitoring
FROM publishable_keys t JOIN programs g ON g.id = t.program_id JOIN organizations o ON o.id = t.org_id
WHERE t.key = @key;

-- name: PublishableKeySetLastUsed :exec
-- PublishableKeySetLastUsed records a use, unless a recent one is recorded.
UPDATE publishable_keys SET last_used_at = @now
WHERE id = @id AND org_id = @org_id AND (last_used_at IS NULL OR last_used_at <= @stale_before);

-- name: PublishableHostAllowed :one
-- PublishableHostAllowed reports whether pages of a host may use a key of any organization: a
-- preflight request has no key. names are the host and its parent domains in the form of
-- allowed_hosts.
SELECT EXISTS (SELECT 1 FROM publishable_keys t WHERE t.allowed_hosts && @names::text[] AND t.revoked_at IS NULL);

-- name: PublishableKeysOfProgram :many
SELECT t.* FROM publishable_keys t WHERE t.program_id = @program_id AND t.org_id = @org_id
ORDER BY t.created_at DESC, t.id DESC;

-- name: PublishableKeyAcrossOrgs :one
SELECT t.* FROM publishable_keys t WHERE t.id = @id;
