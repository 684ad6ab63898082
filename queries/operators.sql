-- Queries of the operator and the request path about organizations and keys.

-- name: OrganizationInsert :exec
INSERT INTO organizations (id, name, owner_email, created_at) VALUES (@id, @name, @owner_email, @created_at);

-- name: OrganizationList :many
SELECT * FROM organizations ORDER BY created_at, id;

-- name: OrganizationGet :one
SELECT * FROM organizations WHERE id = @id;

-- name: OrganizationPlan :one
-- OrganizationPlan changes the given limits of an organization.
UPDATE organizations SET
    flow_quota = CASE WHEN @set_flow_quota::boolean THEN sqlc.narg('flow_quota')::bigint ELSE flow_quota END,
    revenue_meter_minor = CASE WHEN @set_revenue_meter_minor::boolean THEN sqlc.narg('revenue_meter_minor')::bigint
        ELSE revenue_meter_minor END,
    fraud_monitoring = CASE WHEN @set_fraud_monitoring::boolean THEN sqlc.narg('fraud_monitoring')::boolean
        ELSE fraud_monitoring END
WHERE id = @id
RETURNING *;

-- name: APIKeyInsert :exec
INSERT INTO api_keys (id, org_id, user_id, hash, last4, livemode, scopes, rate_limit, version, created_at, form)
VALUES (@id, @org_id, @user_id, @hash, @last4, @livemode, @scopes, @rate_limit, @version, @created_at, @form);

-- name: APIKeyList :many
SELECT * FROM api_keys WHERE org_id = @org_id ORDER BY created_at, id;

-- name: APIKeyByHash :one
-- APIKeyByHash is the only look-up that is not bound to an organization: it finds the organization,
-- with its limits.
SELECT sqlc.embed(k), o.flow_quota, o.revenue_meter_minor, o.fraud_monitoring
FROM api_keys k JOIN organizations o ON o.id = k.org_id WHERE k.hash = @hash;

-- name: APIKeyRehash :exec
-- APIKeyRehash stores a key under the server's current secret key.
UPDATE api_keys SET hash = @hash WHERE id = @id;

-- name: PayoutDetailsSealed :many
-- PayoutDetailsSealed, WebhookSecretsSealed and IdempotencySealed list sealed values, in the order
-- of their keys, for the rotation of the server's key.
SELECT t.id, t.program_id, t.payout_method, t.payout_details FROM partners t
    WHERE t.payout_details IS NOT NULL AND t.id > @after ORDER BY t.id LIMIT @lim;

-- name: PayoutDetailsReseal :exec
UPDATE partners SET payout_details = @payout_details, payout_details_hash = @payout_details_hash
    WHERE id = @id AND payout_details = @was;

-- name: WebhookSecretsSealed :many
SELECT t.id, t.secret, t.previous_secret FROM webhook_endpoints t WHERE t.id > @after ORDER BY t.id LIMIT @lim;

-- name: WebhookSecretsReseal :exec
UPDATE webhook_endpoints SET secret = @secret, previous_secret = @previous_secret WHERE id = @id AND secret = @was;

-- name: IdempotencySealed :many
SELECT t.org_id, t.key, t.body FROM idempotency_keys t WHERE (t.org_id, t.key) > (@after_org::text, @after_key::text)
    ORDER BY t.org_id, t.key LIMIT @lim;

-- name: IdempotencyReseal :exec
UPDATE idempotency_keys SET body = @body WHERE org_id = @org_id AND key = @key AND body = @was;

-- name: APIKeyRevoke :execrows
UPDATE api_keys SET revoked_at = @revoked_at WHERE id = @id AND revoked_at IS NULL;

-- name: APIKeyRevokeOwn :execrows
UPDATE api_keys SET revoked_at = @revoked_at WHERE id = @id AND org_id = @org_id AND revoked_at IS NULL;

-- name: APIKeySetLastUsed :exec
-- APIKeySetLastUsed records the last use to the minute, for any number of replicas.
UPDATE api_keys SET last_used_at = @now WHERE id = @id AND (last_used_at IS NULL OR last_used_at < @stale_before);

-- name: APIKeySetSigning :exec
UPDATE api_keys SET signing_required = @required WHERE id = @id AND org_id = @org_id;

-- name: PlanForValues :exec
-- PlanForValues makes later statements of the same transaction or round trip use custom plans.
-- Lists need it: with a generic plan, a filter costs a scan of all rows.
SELECT set_config('plan_cache_mode', 'force_custom_plan', true);
