-- name: WebhookEndpointPage :many
SELECT t.* FROM webhook_endpoints t
WHERE t.program_id = @program_id
  AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id)
  AND (sqlc.narg('after_at')::timestamptz IS NULL OR (t.created_at, t.id) < (sqlc.narg('after_at')::timestamptz, sqlc.narg('after_id')::text))
  AND (sqlc.narg('before_at')::timestamptz IS NULL OR (t.created_at, t.id) > (sqlc.narg('before_at')::timestamptz, sqlc.narg('before_id')::text))
ORDER BY CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.created_at END,
         CASE WHEN sqlc.narg('before_at')::timestamptz IS NOT NULL THEN t.id END,
         t.created_at DESC, t.id DESC
LIMIT @lim;

-- name: WebhookEndpointCount :one
SELECT count(*) FROM webhook_endpoints t
WHERE t.program_id = @program_id AND EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id);

-- name: WebhookEndpointCursor :one
SELECT t.created_at, t.id FROM webhook_endpoints t WHERE t.id = @id AND t.program_id = @program_id AND t.org_id = @org_id;

-- name: WebhookEndpointGet :one
SELECT t.* FROM webhook_endpoints t WHERE t.id = @id AND t.org_id = @org_id;

-- name: WebhookEndpointLock :one
SELECT t.* FROM webhook_endpoints t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: WebhookEndpointInsert :exec
INSERT INTO webhook_endpoints (id, org_id, program_id, partner_id, url, event_types, enabled, secret, counted_since, created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @url, @event_types, @enabled, @secret, @created_at, @created_at, @created_at);

-- name: WebhookEndpointUpdate :exec
UPDATE webhook_endpoints SET url = @url, event_types = @event_types, enabled = @enabled, secret = @secret, previous_secret = @previous_secret,
    previous_expires_at = @previous_expires_at, counted_since = @counted_since, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: WebhookEndpointDelete :exec
DELETE FROM webhook_endpoints WHERE id = @id AND org_id = @org_id;

-- name: WebhookCancel :exec
-- WebhookCancel ends what waits for an endpoint that is turned off.
UPDATE webhook_deliveries SET status = 'failed', error = @error, next_attempt_at = NULL, finished_at = @now
WHERE endpoint_id = @endpoint_id AND org_id = @org_id AND next_attempt_at IS NOT NULL;

-- name: WebhookLog :many
-- WebhookLog lists the last deliveries to an endpoint, the newest first, with
-- the bytes that were sent.
SELECT sqlc.embed(d), coalesce(d.body, CASE WHEN w.partner_id IS NOT NULL THEN e.partner_body END, e.body, '')::text AS sent
FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id LEFT JOIN events e ON e.id = d.event_id AND e.org_id = @org_id
WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id ORDER BY d.created_at DESC, d.id DESC LIMIT @lim;

-- name: WebhookDeliveryGet :one
SELECT sqlc.embed(d), coalesce(d.body, CASE WHEN w.partner_id IS NOT NULL THEN e.partner_body END, e.body, '')::text AS sent,
    coalesce(e.created_at, d.created_at)::timestamptz AS event_at, w.enabled
FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id LEFT JOIN events e ON e.id = d.event_id AND e.org_id = @org_id
WHERE d.id = @id AND d.org_id = @org_id;

-- name: WebhookDeliveryInsert :exec
INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, body, status, attempts, response_code, error, duration_ms,
    is_test, replay_of, last_attempt_at, next_attempt_at, finished_at, created_at)
VALUES (@id, @org_id, @program_id, @endpoint_id, @event_id, @event_type, @event_seq, @body, @status, @attempts, @response_code, @error, @duration_ms,
    @is_test, @replay_of, @last_attempt_at, @next_attempt_at, @finished_at, @created_at);

-- name: WebhookReplayMany :execrows
-- WebhookReplayMany queues deliveries of a window again, each event once, in the
-- order of the events. new_id makes their ids.
INSERT INTO webhook_deliveries (org_id, id, program_id, endpoint_id, event_id, event_type, event_seq, status, replay_of, next_attempt_at, created_at)
SELECT @org_id, 'whd_' || @new_id::text || row_number() OVER (ORDER BY x.event_xid, x.event_seq), x.program_id, x.endpoint_id, x.event_id, x.event_type,
    row_number() OVER (ORDER BY x.event_xid, x.event_seq), 'pending', x.id, @now, @now
FROM (
    SELECT DISTINCT ON (d.event_id) d.* FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
    WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id AND e.org_id = @org_id AND NOT d.is_test
      AND (NOT @failed_only::boolean AND e.created_at >= @from_at::timestamptz AND e.created_at <= @to_at::timestamptz
        OR @failed_only::boolean AND d.status = 'failed' AND d.finished_at >= @from_at::timestamptz)
    ORDER BY d.event_id, d.created_at DESC, d.id DESC
) x;

-- name: WebhookClaim :many
-- WebhookClaim leases endpoints that have something to send and that nobody
-- sends to. An event is sent once every transaction that began before its own
-- has ended, so that none can appear before it in the line; one that is old is
-- not held up any longer.
INSERT INTO webhook_leases AS l (endpoint_id, owner, token, until)
SELECT w.id, @owner, 1, now() + interval '30 seconds' FROM webhook_endpoints w
WHERE w.enabled AND NOT EXISTS (SELECT 1 FROM webhook_leases x WHERE x.endpoint_id = w.id AND x.until > now())
  AND EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id AND d.next_attempt_at <= @now
    AND (d.event_xid < pg_snapshot_xmin(pg_current_snapshot()) OR d.created_at <= @held_since::timestamptz))
ORDER BY w.id LIMIT @lim
ON CONFLICT (endpoint_id) DO UPDATE SET owner = excluded.owner, token = l.token + 1, until = excluded.until WHERE l.until <= now()
RETURNING l.endpoint_id, l.token;

-- name: WebhookNext :many
-- WebhookNext reads the head of an endpoint's line for the lease that holds it.
SELECT d.id, d.event_id, d.event_type, d.attempts, d.org_id, w.url, w.secret, w.previous_secret, w.previous_expires_at, w.updated_at AS version,
    coalesce(CASE WHEN w.partner_id IS NOT NULL THEN e.partner_body END, e.body, '')::text AS body, coalesce(e.request_id, '')::text AS request_id
FROM webhook_leases l JOIN webhook_endpoints w ON w.id = l.endpoint_id JOIN webhook_deliveries d ON d.endpoint_id = w.id
LEFT JOIN events e ON e.id = d.event_id
WHERE l.endpoint_id = @endpoint_id AND l.owner = @owner AND l.token = @token AND w.enabled AND d.next_attempt_at <= @now
  AND (d.event_xid < pg_snapshot_xmin(pg_current_snapshot()) OR d.created_at <= @held_since::timestamptz)
ORDER BY d.event_xid, d.event_seq, d.id LIMIT @lim;

-- name: WebhookRenew :exec
UPDATE webhook_leases SET until = now() + interval '30 seconds' WHERE endpoint_id = @endpoint_id AND owner = @owner AND token = @token;

-- name: WebhookRelease :exec
UPDATE webhook_leases SET until = '-infinity' WHERE endpoint_id = @endpoint_id AND owner = @owner AND token = @token;

-- name: WebhookAbsent :many
-- WebhookAbsent lists the owners of leases that do not hold their lock.
SELECT DISTINCT l.owner FROM webhook_leases l
WHERE l.until > now() AND l.owner NOT IN (
    SELECT (k.classid::bigint << 32) | k.objid::bigint FROM pg_catalog.pg_locks k
    WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1 AND k.database = (SELECT b.oid FROM pg_catalog.pg_database b WHERE b.datname = current_database()));

-- name: WebhookBury :exec
-- WebhookBury ends the leases of workers that are dead.
UPDATE webhook_leases SET until = '-infinity' WHERE owner = ANY (@owners::bigint[]) AND until > now();

-- name: WebhookCancelOff :exec
-- WebhookCancelOff ends what an event committed for an endpoint in the moment in
-- which that was turned off.
UPDATE webhook_deliveries d SET status = 'failed', error = 'The endpoint was turned off.', next_attempt_at = NULL, finished_at = @now
FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND NOT w.enabled AND d.next_attempt_at IS NOT NULL;

-- name: WebhookResults :many
-- WebhookResults writes how attempts ended, of each whose lease still holds, and
-- returns them with what their endpoint is now.
UPDATE webhook_deliveries d SET status = r.status, attempts = r.attempts, response_code = nullif(r.response_code, 0), error = nullif(r.error, ''),
    duration_ms = r.duration_ms, last_attempt_at = r.attempted_at,
    next_attempt_at = CASE WHEN r.status = 'retrying' THEN r.next_attempt_at END, finished_at = CASE WHEN r.status <> 'retrying' THEN r.finished_at END
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@tokens::bigint[]) AS token, unnest(@statuses::text[]) AS status, unnest(@attempts::int[]) AS attempts,
    unnest(@response_codes::int[]) AS response_code, unnest(@errors::text[]) AS error, unnest(@durations::bigint[]) AS duration_ms,
    unnest(@attempted::timestamptz[]) AS attempted_at, unnest(@next::timestamptz[]) AS next_attempt_at, unnest(@finished::timestamptz[]) AS finished_at) r,
    webhook_leases l, webhook_endpoints w
WHERE d.id = r.id AND d.attempts = r.attempts - 1 AND d.next_attempt_at IS NOT NULL AND l.endpoint_id = d.endpoint_id AND l.owner = @owner AND l.token = r.token AND w.id = d.endpoint_id
RETURNING d.id, w.enabled, w.updated_at AS version;

-- name: WebhookDisable :many
-- WebhookDisable turns off an endpoint whose last twenty deliveries all failed
-- for good, within thirty days and over at least five (specification, Delivery 3).
UPDATE webhook_endpoints w SET enabled = false, updated_at = @now
FROM (
    SELECT count(*) AS n, bool_and(x.status = 'failed') AS all_failed, min(x.finished_at) AS first, max(x.finished_at) AS last
    FROM (SELECT d.status, d.finished_at FROM webhook_deliveries d JOIN webhook_endpoints o ON o.id = d.endpoint_id
        WHERE d.endpoint_id = @endpoint_id AND d.finished_at IS NOT NULL AND NOT d.is_test AND d.finished_at >= o.counted_since
        ORDER BY d.finished_at DESC LIMIT 20) x
) f
WHERE w.id = @endpoint_id AND w.enabled AND f.n = 20 AND f.all_failed AND f.first >= @since::timestamptz AND f.last - f.first >= interval '5 days'
RETURNING w.*;

-- name: WebhookPurge :execrows
-- WebhookPurge forgets deliveries that ended before the retention began.
DELETE FROM webhook_deliveries WHERE id IN (SELECT d.id FROM webhook_deliveries d WHERE d.created_at < @before AND d.next_attempt_at IS NULL ORDER BY d.created_at LIMIT @lim);

-- name: EventsPurge :execrows
-- EventsPurge forgets events that no delivery needs any longer.
DELETE FROM events WHERE id IN (
    SELECT e.id FROM events e WHERE e.created_at < @before AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.event_id = e.id) ORDER BY e.created_at LIMIT @lim);

-- name: EventsSince :many
-- EventsSince follows an organization's events for the operator's listener.
SELECT e.id, e.type, e.body, coalesce(e.request_id, '')::text AS request_id, e.created_xid, e.seq::bigint AS seq FROM events e
WHERE e.org_id = @org_id AND (e.created_xid, e.seq) > (@after_xid::xid8, @after_seq::bigint) AND e.created_xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY e.created_xid, e.seq LIMIT @lim;

-- name: EventsMark :one
SELECT pg_snapshot_xmin(pg_current_snapshot())::xid8 AS xmin;
