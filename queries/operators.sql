-- What the operator and the request path ask about organizations and keys.

-- name: OrganizationInsert :exec
INSERT INTO organizations (id, name, owner_email, created_at) VALUES (@id, @name, @owner_email, @created_at);

-- name: OrganizationList :many
SELECT * FROM organizations ORDER BY created_at, id;

-- name: OrganizationGet :one
SELECT * FROM organizations WHERE id = @id;

-- name: APIKeyInsert :exec
INSERT INTO api_keys (id, org_id, user_id, hash, last4, livemode, scopes, rate_limit, version, created_at)
VALUES (@id, @org_id, @user_id, @hash, @last4, @livemode, @scopes, @rate_limit, @version, @created_at);

-- name: APIKeyList :many
SELECT * FROM api_keys WHERE org_id = @org_id ORDER BY created_at, id;

-- name: APIKeyByHash :one
-- APIKeyByHash is the only look-up that is not bound to an organization: it
-- finds the organization.
SELECT k.* FROM api_keys k WHERE k.hash = @hash;

-- name: APIKeyRevoke :execrows
UPDATE api_keys SET revoked_at = @revoked_at WHERE id = @id AND revoked_at IS NULL;

-- name: APIKeyUsed :exec
-- APIKeyUsed keeps the last use to the minute, whatever the number of replicas.
UPDATE api_keys SET last_used_at = @now WHERE id = @id AND (last_used_at IS NULL OR last_used_at < @stale_before);

-- name: APIKeySetSigning :exec
UPDATE api_keys SET signing_required = @required, signing_changed_at = @now WHERE id = @id AND org_id = @org_id;

-- name: PlanForValues :exec
-- PlanForValues makes the statements that follow in the same transaction or
-- round trip planned for their values. Lists need it: with one plan for all
-- values a filter that is set costs a scan of what it does not match.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);
