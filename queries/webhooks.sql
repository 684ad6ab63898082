-- name: WebhookEndpointGet :one
SELECT t.* FROM webhook_endpoints t WHERE t.id = @id AND t.org_id = @org_id;

-- name: WebhookEndpointLock :one
SELECT t.* FROM webhook_endpoints t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: WebhookEndpointInsert :exec
INSERT INTO webhook_endpoints (id, org_id, program_id, partner_id, url, event_types, enabled, secret, counted_since,
    created_at, updated_at)
VALUES (@id, @org_id, @program_id, @partner_id, @url, @event_types, @enabled, @secret, @created_at, @created_at,
    @created_at);

-- name: WebhookEndpointUpdate :exec
UPDATE webhook_endpoints SET url = @url, event_types = @event_types, enabled = @enabled, secret = @secret,
    previous_secret = @previous_secret,
    previous_expires_at = @previous_expires_at, counted_since = @counted_since, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: WebhookEndpointDelete :exec
DELETE FROM webhook_endpoints WHERE id = @id AND org_id = @org_id;

-- name: WebhookLogIsLong :one
-- WebhookLogIsLong reports whether an endpoint has more than most deliveries.
SELECT EXISTS (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id
    OFFSET @most::bigint);

-- name: WebhookLogShorten :execrows
-- WebhookLogShorten deletes deliveries of an endpoint, lim at most.
DELETE FROM webhook_deliveries
WHERE id = ANY (ARRAY(SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id
        LIMIT @lim::bigint))
    AND org_id = @org_id;

-- name: WebhookCancel :execrows
-- WebhookCancel ends waiting deliveries of an endpoint, lim at most.
UPDATE webhook_deliveries SET status = 'failed', error = @error, next_attempt_at = NULL, finished_at = @now
WHERE id = ANY (ARRAY(SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id
        AND d.next_attempt_at IS NOT NULL LIMIT @lim::bigint))
    AND org_id = @org_id AND next_attempt_at IS NOT NULL;

-- name: WebhookLog :many
-- WebhookLog lists the last deliveries to an endpoint, newest first, with the sent bytes.
SELECT sqlc.embed(d), coalesce(d.body, CASE WHEN w.partner_id IS NOT NULL THEN e.partner_body END, e.body,
    '')::text AS sent
FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
    LEFT JOIN events e ON e.id = d.event_id AND e.org_id = @org_id
WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id ORDER BY d.created_at DESC, d.id DESC LIMIT @lim;

-- name: WebhookDeliveryGet :one
SELECT sqlc.embed(d), coalesce(d.body, CASE WHEN w.partner_id IS NOT NULL THEN e.partner_body END, e.body,
    '')::text AS sent,
    coalesce(e.created_at, d.created_at)::timestamptz AS event_at, w.enabled
FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
    LEFT JOIN events e ON e.id = d.event_id AND e.org_id = @org_id
WHERE d.id = @id AND d.org_id = @org_id;

-- name: WebhookDeliveryInsert :exec
-- WebhookDeliveryInsert adds a delivery, behind all waiting ones if its event_seq is 0. An
-- event_xid of 0 means this transaction's.
INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_xid, event_seq, body,
    status, attempts, response_code, error, duration_ms, is_test, replay_of, last_attempt_at, next_attempt_at,
    finished_at, created_at)
VALUES (@id, @org_id, @program_id, @endpoint_id, @event_id, @event_type,
    coalesce(nullif(@event_xid::xid8, '0'), pg_current_xact_id()),
    coalesce(nullif(@event_seq::bigint, 0), nextval('events_seq_seq')), @body, @status, @attempts, @response_code,
    @error, @duration_ms, @is_test, @replay_of, @last_attempt_at, @next_attempt_at, @finished_at, @created_at);

-- name: WebhookReplayMany :execrows
-- WebhookReplayMany queues deliveries of a period again, each event once, in the order of the
-- events, behind all waiting ones. new_id makes their ids.
INSERT INTO webhook_deliveries (org_id, id, program_id, endpoint_id, event_id, event_type, event_seq, status, replay_of,
    next_attempt_at, created_at)
SELECT @org_id, 'whd_' || @new_id::text || row_number() OVER (ORDER BY x.seq), x.program_id, x.endpoint_id, x.event_id,
    x.event_type,
    nextval('events_seq_seq'), 'pending', x.id, 'epoch', @now
FROM (
    SELECT y.program_id, y.endpoint_id, y.event_id, y.event_type, y.id, y.seq FROM (
        SELECT DISTINCT ON (d.event_id) d.program_id, d.endpoint_id, d.event_id, d.event_type, d.id, e.seq
        FROM webhook_deliveries d JOIN events e ON e.id = d.event_id
        WHERE d.endpoint_id = @endpoint_id AND d.org_id = @org_id AND e.org_id = @org_id AND NOT d.is_test
          AND (NOT @failed_only::boolean AND e.created_at >= @from_at::timestamptz
              AND e.created_at <= @to_at::timestamptz
            OR @failed_only::boolean AND d.status = 'failed' AND d.finished_at >= @from_at::timestamptz)
        ORDER BY d.event_id, d.created_at DESC, d.id DESC
    ) y ORDER BY y.seq
) x;

-- name: WebhookClaim :many
-- WebhookClaim leases endpoints with waiting deliveries and without a lease, for events below the
-- horizon (see EventsInsert). An organization gets at most a quarter of the sender's free places
-- and its own, so that some remain for others, and endpoints whose last attempt was slow get half
-- of that. Organizations get places in turn, the longest waiting ones first. Endpoints of an
-- organization are ordered by their last service; slow ones count as served ten seconds later.
-- The endpoints of waiting deliveries are read one by one from the index of these deliveries, so
-- that neither endpoints without a queue nor long queues cost time, regardless of statistics.
WITH RECURSIVE line AS (
    SELECT ''::text COLLATE "C" AS endpoint_id
    UNION ALL
    SELECT n.endpoint_id FROM line l CROSS JOIN LATERAL (
        SELECT d.endpoint_id FROM webhook_deliveries d
        WHERE d.next_attempt_at IS NOT NULL AND d.endpoint_id > l.endpoint_id
        ORDER BY d.endpoint_id, d.next_attempt_at LIMIT 1) n
), held AS (
    SELECT w.org_id, count(*) AS places, count(*) FILTER (WHERE NOT l.quick) AS slow
    FROM webhook_leases l JOIN webhook_endpoints w ON w.id = l.endpoint_id
    WHERE l.owner = @owner AND l.until > now() GROUP BY w.org_id
), idle AS (
    SELECT w.id, w.org_id, w.program_id, coalesce(l.quick, false) AS quick,
        coalesce(l.served_at, '-infinity') + CASE WHEN l.quick THEN interval '0'
            ELSE interval '10 seconds' END AS since,
        greatest((coalesce(h.places, 0) + @unused::bigint) / 4, 1) - coalesce(h.places, 0) AS places,
        greatest((coalesce(h.places, 0) + @unused::bigint) / 8, 1) - coalesce(h.slow, 0) AS slow_places
    FROM line q JOIN webhook_endpoints w ON w.id = q.endpoint_id
        LEFT JOIN webhook_leases l ON l.endpoint_id = w.id LEFT JOIN held h ON h.org_id = w.org_id
    WHERE w.enabled AND NOT starts_with(w.id, 'sample_') AND (l.until IS NULL OR l.until <= now())
), waiting AS (
    SELECT f.id, f.org_id, f.quick, f.since, f.places, f.slow_places, row_number() OVER (PARTITION BY f.org_id, f.quick
        ORDER BY f.since, f.id) AS nth FROM idle f
    CROSS JOIN LATERAL (SELECT FROM webhook_deliveries d WHERE d.endpoint_id = f.id AND d.next_attempt_at <= @now
        AND d.event_seq < least(@horizon::bigint, (
            SELECT min(x.below) FROM (SELECT unnest(@classes::integer[]) AS class, unnest(@belows::bigint[]) AS below) x
            WHERE x.class IN (0, hashtext(f.program_id)))) ORDER BY d.next_attempt_at LIMIT 1) first
    WHERE f.places > 0 AND (f.quick OR f.slow_places > 0)
), taken AS (
    SELECT w.id, w.places, w.since, row_number() OVER (PARTITION BY w.org_id ORDER BY w.since, w.id) AS place
    FROM waiting w WHERE w.quick OR w.nth <= w.slow_places
)
INSERT INTO webhook_leases AS l (endpoint_id, owner, token, until)
SELECT c.id, @owner, 1, now() + interval '30 seconds'
FROM (SELECT t.id FROM taken t WHERE t.place <= t.places ORDER BY t.place, t.since, t.id LIMIT @lim) c ORDER BY c.id
ON CONFLICT (endpoint_id) DO UPDATE SET owner = excluded.owner, token = l.token + 1, until = excluded.until
    WHERE l.until <= now()
RETURNING l.endpoint_id, l.token;

-- name: WebhookNext :many
-- WebhookNext reads the next delivery of a leased endpoint, if the lease lasts for another attempt.
SELECT d.id, d.event_id, d.event_type, d.attempts, d.org_id, w.url, w.secret, w.previous_secret, w.previous_expires_at,
    w.updated_at AS version,
    coalesce(CASE WHEN w.partner_id IS NOT NULL THEN e.partner_body END, e.body, '')::text AS body,
        coalesce(e.request_id, '')::text AS request_id
FROM webhook_leases l JOIN webhook_endpoints w ON w.id = l.endpoint_id JOIN webhook_deliveries d ON d.endpoint_id = w.id
LEFT JOIN events e ON e.id = d.event_id
WHERE l.endpoint_id = @endpoint_id AND l.owner = @owner AND l.token = @token AND l.until > now() + interval '15 seconds'
    AND w.enabled
  AND d.next_attempt_at <= @now AND d.event_seq < least(@horizon::bigint, (
    SELECT min(x.below) FROM (SELECT unnest(@classes::integer[]) AS class, unnest(@belows::bigint[]) AS below) x
        WHERE x.class IN (0, hashtext(w.program_id))))
ORDER BY d.event_seq, d.id LIMIT @lim;

-- name: WebhookRelease :exec
-- WebhookRelease releases a lease with the result of the last attempt, if any.
UPDATE webhook_leases SET until = '-infinity', served_at = now(), quick = coalesce(sqlc.narg('quick'), quick)
WHERE endpoint_id = @endpoint_id AND owner = @owner AND token = @token;

-- name: WebhookDeadOwners :many
-- WebhookDeadOwners lists the owners of leases without their lock.
SELECT DISTINCT l.owner FROM webhook_leases l
WHERE l.until > now() AND l.owner NOT IN (
    SELECT (k.classid::bigint << 32) | k.objid::bigint FROM pg_catalog.pg_locks k
    WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1 AND k.database = (SELECT b.oid
        FROM pg_catalog.pg_database b WHERE b.datname = current_database()));

-- name: WebhookExpireLeases :exec
-- WebhookExpireLeases ends the leases of dead workers.
UPDATE webhook_leases SET until = '-infinity' WHERE owner = ANY (@owners::bigint[]) AND until > now();

-- name: WebhookCancelDisabled :execrows
-- WebhookCancelDisabled ends deliveries to disabled endpoints, lim at most: the rest after WebhookCancel, and
-- deliveries committed while their endpoint was being disabled.
UPDATE webhook_deliveries SET status = 'failed', error = 'The endpoint was turned off.', next_attempt_at = NULL,
    finished_at = @now
WHERE id = ANY (ARRAY(SELECT d.id FROM webhook_endpoints w JOIN webhook_deliveries d ON d.endpoint_id = w.id
        WHERE NOT w.enabled AND d.next_attempt_at IS NOT NULL LIMIT @lim::bigint))
    AND next_attempt_at IS NOT NULL;

-- name: WebhookResults :many
-- WebhookResults writes the results of attempts whose lease is still valid, and returns them with
-- the state of their endpoint. It finds deliveries by id regardless of statistics: each result
-- names its endpoint, which avoids a join of all leases with the token; IS TRUE prevents the use of
-- the endpoint's queue index, and the status instead of next_attempt_at that of the index of
-- waiting deliveries.
UPDATE webhook_deliveries d SET status = r.status, attempts = r.attempts, response_code = nullif(r.response_code, 0),
    error = nullif(r.error, ''),
    duration_ms = r.duration_ms, last_attempt_at = r.attempted_at,
    next_attempt_at = CASE WHEN r.status = 'retrying' THEN r.next_attempt_at END, finished_at = CASE
        WHEN r.status <> 'retrying' THEN r.finished_at END
FROM (SELECT unnest(@ids::text[]) AS id, unnest(@endpoint_ids::text[]) AS endpoint_id,
        unnest(@tokens::bigint[]) AS token, unnest(@statuses::text[]) AS status,
    unnest(@attempts::int[]) AS attempts,
    unnest(@response_codes::int[]) AS response_code, unnest(@errors::text[]) AS error,
        unnest(@durations::bigint[]) AS duration_ms,
    unnest(@attempted::timestamptz[]) AS attempted_at, unnest(@next::timestamptz[]) AS next_attempt_at,
        unnest(@finished::timestamptz[]) AS finished_at) r,
    webhook_leases l, webhook_endpoints w
WHERE d.id = r.id AND (d.endpoint_id = r.endpoint_id) IS TRUE AND d.attempts = r.attempts - 1
    AND d.status IN ('pending', 'retrying') AND l.endpoint_id = r.endpoint_id
    AND l.owner = @owner AND l.token = r.token AND w.id = r.endpoint_id
RETURNING d.id, w.enabled, w.updated_at AS version;

-- name: WebhookDisable :many
-- WebhookDisable disables an endpoint whose last twenty deliveries all failed permanently, within
-- thirty days and over at least five days: a dead receiver, not one with a short outage.
UPDATE webhook_endpoints w SET enabled = false, updated_at = @now
FROM (
    SELECT count(*) AS n, bool_and(x.status = 'failed') AS all_failed, min(x.finished_at) AS first,
        max(x.finished_at) AS last
    FROM (SELECT d.status, d.finished_at FROM webhook_deliveries d JOIN webhook_endpoints o ON o.id = d.endpoint_id
        WHERE d.endpoint_id = @endpoint_id AND d.finished_at IS NOT NULL AND NOT d.is_test
            AND d.finished_at >= o.counted_since
        ORDER BY d.finished_at DESC LIMIT 20) x
) f
WHERE w.id = @endpoint_id AND w.enabled AND f.n = 20 AND f.all_failed AND f.first >= @since::timestamptz
    AND f.last - f.first >= interval '5 days'
RETURNING w.*;
