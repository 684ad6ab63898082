-- name: FlowGet :one
SELECT t.* FROM flows t WHERE t.id = @id AND t.org_id = @org_id;

-- name: FlowLock :one
SELECT t.* FROM flows t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: FlowByIDs :many
SELECT t.* FROM flows t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: FlowsForPartner :many
-- FlowsForPartner lists the active flows of a trigger whose scope includes a partner, or a customer's
-- partner, in the order of evaluation. It returns branches only for the requested digests, because
-- servers cache parsed branches. A row is one complete version of a flow.
SELECT f.id, f.group_id, f.partner_id, f.trigger, f.action, f.target_group_id, f.rate_type, f.rate_value,
    f.approval_mode, f.approval_delay_days,
    f.priority, f.created_at, f.branches_digest,
        coalesce(CASE WHEN f.branches_digest = ANY (@wanted::bytea[]) THEN f.branches END, 'null')::json AS branches
FROM partners p JOIN flows f ON f.program_id = p.program_id
WHERE p.id = coalesce(sqlc.narg('partner_id')::text, (SELECT c.partner_id FROM customers c
    WHERE c.id = sqlc.narg('customer_id')::text AND c.org_id = @org_id))
  AND p.org_id = @org_id AND f.status = 'active' AND f.trigger = @trigger
  AND (f.partner_id IS NULL OR f.partner_id = p.id) AND (f.group_id IS NULL OR f.group_id = p.group_id)
ORDER BY f.priority, f.specificity, f.created_at, f.id;

-- name: FlowsActive :many
-- FlowsActive lists the active flows of a program for a trigger, with branches.
SELECT t.* FROM flows t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.status = 'active'
    AND t.trigger = @trigger ORDER BY t.priority, t.specificity, t.created_at, t.id;

-- name: FlowCounts :one
-- FlowCounts runs under the program's lock, so that a quota is exact. It does not count the flow
-- that is being written.
SELECT count(*) AS flows, count(*) FILTER (WHERE t.status = 'active') AS active,
    coalesce(sum(t.conditions_bytes) FILTER (WHERE t.status = 'active'), 0)::bigint AS active_bytes
FROM flows t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.id <> @id;

-- name: FlowInsert :exec
INSERT INTO flows (id, org_id, program_id, name, description, group_id, partner_id, trigger, action, target_group_id,
    rate_type, rate_value,
    approval_mode, approval_delay_days, priority, status, branches, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @name, @description, @group_id, @partner_id, @trigger, @action, @target_group_id,
    @rate_type, @rate_value,
    @approval_mode, @approval_delay_days, @priority, @status, @branches, @created_at, @updated_at);

-- name: FlowUpdate :exec
UPDATE flows SET name = @name, description = @description, group_id = @group_id, partner_id = @partner_id,
    trigger = @trigger, action = @action,
    target_group_id = @target_group_id, rate_type = @rate_type, rate_value = @rate_value,
        approval_mode = @approval_mode,
    approval_delay_days = @approval_delay_days, priority = @priority, status = @status, branches = @branches,
        updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: FlowDelete :exec
DELETE FROM flows WHERE id = @id AND org_id = @org_id;
