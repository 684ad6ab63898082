-- name: ConnectionGet :one
SELECT t.* FROM processor_connections t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ConnectionActive :one
-- ConnectionActive locks the active connection of a program, processor and mode.
SELECT t.* FROM processor_connections t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.processor = @processor AND t.livemode = @livemode AND t.status = 'active' FOR NO KEY UPDATE;

-- name: ConnectionPending :one
-- ConnectionPending finds the pending connection of a program, processor and mode.
SELECT t.* FROM processor_connections t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.processor = @processor AND t.livemode = @livemode AND t.status = 'pending';

-- name: ConnectionComplete :execrows
-- ConnectionComplete sets the secrets and the options of a pending connection, and its status.
UPDATE processor_connections SET secret = @secret, api_key = @api_key, status = @status,
    record_direct = @record_direct, outside_checkout = @outside_checkout, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'pending';

-- name: ConnectionActivate :execrows
UPDATE processor_connections SET status = 'active', updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'pending' AND secret IS NOT NULL;

-- name: ConnectionDelete :execrows
-- ConnectionDelete deletes a pending connection, unless an event has arrived.
DELETE FROM processor_connections t WHERE t.id = @id AND t.org_id = @org_id AND t.status = 'pending'
    AND NOT EXISTS (SELECT FROM inbox_events e WHERE e.connection_id = t.id AND e.org_id = t.org_id
        AND e.program_id = t.program_id);

-- name: ConnectionInsert :exec
INSERT INTO processor_connections (id, org_id, program_id, processor, livemode, status, record_direct,
    outside_checkout, secret, api_key, last_event_at, created_at, updated_at, reconcile_at)
VALUES (@id, @org_id, @program_id, @processor, @livemode, @status, @record_direct, @outside_checkout, @secret,
    @api_key, @last_event_at, @created_at, @updated_at, @reconcile_at);

-- name: ConnectionDisconnect :execrows
UPDATE processor_connections SET status = 'disconnected', updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status <> 'disconnected';

-- name: ConnectionReconcile :one
-- ConnectionReconcile leases one Stripe connection whose nightly reconciliation is due.
UPDATE processor_connections SET reconcile_at = @until WHERE id = (SELECT c.id FROM processor_connections c
    WHERE c.status = 'active' AND c.processor = 'stripe' AND (c.reconcile_at <= @now::timestamptz
        OR c.reconcile_at IS NULL AND c.created_at <= @made)
    ORDER BY c.id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING *;

-- name: ConnectionSetReconcileAt :exec
UPDATE processor_connections SET reconcile_at = @next WHERE id = @id AND org_id = @org_id;

-- name: ConnectionsOfStripe :many
SELECT t.* FROM processor_connections t WHERE t.status = 'active' AND t.processor = 'stripe' ORDER BY t.id;

-- name: ConnectionsOfProgram :many
SELECT t.* FROM processor_connections t WHERE t.program_id = @program_id AND t.org_id = @org_id
ORDER BY t.created_at DESC, t.id DESC;

-- name: ConnectionProgram :one
SELECT t.program_id FROM processor_connections t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ConnectionAcrossOrgs :one
-- ConnectionAcrossOrgs finds a connection of any organization.
SELECT t.* FROM processor_connections t WHERE t.id = @id;

-- name: ConnectionsActive :many
-- ConnectionsActive lists the active connections of all organizations.
SELECT t.id FROM processor_connections t WHERE t.status = 'active';

-- name: ProgramOrganization :one
-- ProgramOrganization finds the organization of a program.
SELECT t.org_id FROM programs t WHERE t.id = @id;

-- name: ConnectionSecretsSealed :many
SELECT t.id, t.secret, t.api_key FROM processor_connections t WHERE t.id > @after ORDER BY t.id LIMIT @lim;

-- name: ConnectionSecretsReseal :exec
-- ConnectionSecretsReseal replaces a secret and an API key unless they have changed.
UPDATE processor_connections SET secret = CASE WHEN secret = @was THEN @secret::bytea ELSE secret END,
    api_key = CASE WHEN api_key = @was_key::bytea THEN @api_key::bytea ELSE api_key END
WHERE id = @id;
