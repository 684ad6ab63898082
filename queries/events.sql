-- Events are written in the transaction of the change that they report.

-- name: EventsInsert :exec
-- EventsInsert writes the events of a transaction in their order, and a delivery, due at once, for
-- each endpoint that currently receives them. partner_types are the event types that partners may
-- receive. Every parameter is an unnested array, so that requests in a shared transaction share the
-- statement (package pgtx).
--
-- Events are ordered by seq, which is drawn after all waits of the transaction, so that it follows
-- cause and effect. Before drawing the numbers of its events, a transaction draws a number and
-- holds a lock on it, in the class of their program, until it ends; all locks differ, so none
-- waits. A reader reads the last drawn number (EventsLastNumber), then the locks (EventsLocks), and then,
-- in a later snapshot, the events up to that number and below each program's lowest lock. A writer
-- of these numbers held its lock before the reader read the locks. If it still did, its events are
-- not below the lock; if it had ended, the later snapshot contains its events. So no event can
-- appear later before the ones that were read. A transaction with more than 16 programs takes one
-- lock in class 0, which covers all programs, to use less of the lock table.
WITH held AS MATERIALIZED (
    SELECT pg_advisory_xact_lock(c.class, nextval('events_seq_seq')::bit(32)::integer) FROM (
        SELECT DISTINCT CASE WHEN (SELECT count(DISTINCT n.id)
            FROM unnest(@program_ids::text[]) n (id)) <= 16 THEN hashtext(p.id) ELSE 0 END AS class
        FROM unnest(@program_ids::text[]) p (id)
    ) c
), e AS (
    INSERT INTO events (id, org_id, program_id, type, partner_id, subject_id, request_id, body, partner_body,
        created_at)
    SELECT unnest(@ids::text[]), unnest(@org_ids::text[]), unnest(@program_ids::text[]), unnest(@types::text[]),
        nullif(unnest(@partner_ids::text[]), ''),
        unnest(@subject_ids::text[]), nullif(unnest(@request_ids::text[]), ''), unnest(@bodies::text[]),
            nullif(unnest(@partner_bodies::text[]), ''), unnest(@created_ats::timestamptz[])
    FROM (SELECT count(*) FROM held) locked
    RETURNING id, org_id, program_id, type, partner_id, seq, created_at
), shown AS (
    SELECT unnest(@partner_types::text[]) AS type
)
INSERT INTO webhook_deliveries (id, org_id, program_id, endpoint_id, event_id, event_type, event_seq, status,
    next_attempt_at, created_at)
SELECT 'whd_' || substr(e.id, 5) || w.number, e.org_id, e.program_id, w.id, e.id, e.type, e.seq, 'pending', 'epoch',
    e.created_at
FROM e JOIN webhook_endpoints w ON w.program_id = e.program_id AND w.org_id = e.org_id
WHERE w.enabled AND (w.event_types = '{}' OR e.type = ANY (w.event_types))
  AND (w.partner_id IS NULL OR w.partner_id = e.partner_id AND e.type IN (SELECT type FROM shown));

-- name: EventsLastNumber :one
-- EventsLastNumber returns the last number of the sequence that EventsInsert uses for events and locks.
SELECT coalesce(pg_sequence_last_value('events_seq_seq'), 0)::bigint AS drawn;

-- name: EventsLocks :many
-- EventsLocks lists the locks of running transactions with events: the class of their program, and
-- 32 bits of the number below their first event. Only these locks have two keys (objsubid 2); other
-- locks have one (objsubid 1).
SELECT k.classid::bigint::bit(32)::integer AS class, k.objid::bigint::bit(32)::integer AS number
    FROM pg_catalog.pg_locks k
WHERE k.locktype = 'advisory' AND k.objsubid = 2 AND k.database = (SELECT b.oid FROM pg_catalog.pg_database b
    WHERE b.datname = current_database());

-- name: EventsSince :many
-- EventsSince follows an organization's events, up to a horizon (package event).
SELECT e.id, e.program_id, e.type, e.body, e.seq::bigint AS seq, e.created_at FROM events e
WHERE e.org_id = @org_id AND e.seq > @after_seq::bigint AND e.seq < @before_seq::bigint
ORDER BY e.seq LIMIT @lim;

-- name: EventTime :one
-- EventTime is the time of an organization's last event up to a number.
SELECT e.created_at FROM events e WHERE e.org_id = @org_id AND e.seq <= @seq::bigint ORDER BY e.seq DESC LIMIT 1;

-- name: EventSubjects :many
-- EventSubjects lists the objects of a program's events after a number.
SELECT e.type, e.subject_id, e.seq::bigint AS seq, e.created_at FROM events e
WHERE e.org_id = @org_id AND e.program_id = @program_id AND e.seq > @after_seq::bigint ORDER BY e.seq LIMIT @lim;

-- name: EventGet :one
SELECT e.id, e.program_id, e.type, e.body, e.seq::bigint AS seq, e.created_at FROM events e
WHERE e.id = @id AND e.org_id = @org_id;

-- name: AuditLogEntryGet :one
-- AuditLogEntryGet reads an entry of a program. Entries about console users have the organization's
-- id instead, and are in no list of the API.
SELECT t.* FROM audit_log_entries t WHERE t.id = @id AND t.org_id = @org_id AND t.program_id <> t.org_id;

-- name: AuditInsert :exec
INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, api_key_id, actor_type, actor_id, request_id,
    reason, before, after,
    created_at, client)
VALUES (@id, @org_id, @program_id, @action, @target_id, @api_key_id, @actor_type, nullif(@actor_id::text, ''),
    @request_id, @reason,
    @before, @after, @created_at, nullif(@client::text, ''));

-- name: AuditNames :many
-- AuditNames returns the names by which people know objects of the audit log; objects without one and deleted ones are
-- left out.
WITH named AS (
    SELECT p.id, coalesce(nullif(p.display_name, ''), nullif(concat_ws(' ', p.first_name, p.last_name), ''),
        nullif(p.company_name, ''), p.handle) AS name
    FROM partners p WHERE p.org_id = @org_id AND p.id IN (
        SELECT unnest(@ids::text[])
        UNION SELECT y.partner_id FROM payouts y WHERE y.org_id = @org_id AND y.id = ANY (@ids::text[])
        UNION SELECT c.partner_id FROM commissions c WHERE c.org_id = @org_id AND c.id = ANY (@ids::text[]))
), objects AS (
    SELECT n.id, n.name FROM named n WHERE n.id = ANY (@ids::text[])
    UNION ALL SELECT y.id, n.name FROM payouts y JOIN named n ON n.id = y.partner_id
        WHERE y.org_id = @org_id AND y.id = ANY (@ids::text[])
    UNION ALL SELECT c.id, n.name FROM commissions c JOIN named n ON n.id = c.partner_id
        WHERE c.org_id = @org_id AND c.id = ANY (@ids::text[])
    UNION ALL SELECT a.id, a.email FROM applications a WHERE a.org_id = @org_id AND a.id = ANY (@ids::text[])
    UNION ALL SELECT c.id, coalesce(nullif(c.name, ''), c.email) FROM customers c
        WHERE c.org_id = @org_id AND c.id = ANY (@ids::text[])
    UNION ALL SELECT k.id, 'ending in ' || k.last4 FROM api_keys k WHERE k.org_id = @org_id AND k.id = ANY (@ids::text[])
    UNION ALL SELECT r.id, r.kind FROM payout_rails r WHERE r.org_id = @org_id AND r.id = ANY (@ids::text[])
    UNION ALL SELECT r.id, r.processor FROM processor_connections r
        WHERE r.org_id = @org_id AND r.id = ANY (@ids::text[])
    UNION ALL SELECT b.id, to_char(b.period_month, 'FMMonth YYYY') FROM payout_batches b
        WHERE b.org_id = @org_id AND b.id = ANY (@ids::text[])
    UNION ALL SELECT f.id, f.name FROM flows f WHERE f.org_id = @org_id AND f.id = ANY (@ids::text[])
    UNION ALL SELECT m.id, m.name FROM campaigns m WHERE m.org_id = @org_id AND m.id = ANY (@ids::text[])
    UNION ALL SELECT s.id, s.name FROM sequences s WHERE s.org_id = @org_id AND s.id = ANY (@ids::text[])
    UNION ALL SELECT g.id, g.name FROM groups g WHERE g.org_id = @org_id AND g.id = ANY (@ids::text[])
    UNION ALL SELECT t.id, t.name FROM tags t WHERE t.org_id = @org_id AND t.id = ANY (@ids::text[])
    UNION ALL SELECT r.id, r.title FROM resources r WHERE r.org_id = @org_id AND r.id = ANY (@ids::text[])
    UNION ALL SELECT c.id, c.code FROM coupons c WHERE c.org_id = @org_id AND c.id = ANY (@ids::text[])
    UNION ALL SELECT w.id, w.url FROM webhook_endpoints w WHERE w.org_id = @org_id AND w.id = ANY (@ids::text[])
)
SELECT o.id::text AS id, o.name::text AS name FROM objects o WHERE o.name IS NOT NULL;

-- name: AuditInsertMany :exec
-- AuditInsertMany writes the same entry for many targets; befores are JSON.
INSERT INTO audit_log_entries (id, org_id, program_id, action, target_id, api_key_id, actor_type, actor_id, request_id,
    reason, before, after, created_at, client)
SELECT unnest(@ids::text[]), @org_id, @program_id, @action, unnest(@target_ids::text[]), @api_key_id, @actor_type,
    nullif(@actor_id::text, ''), @request_id, @reason, unnest(@befores::text[])::json, @after, @created_at,
    nullif(@client::text, '');

-- name: RiskFlagOpen :execrows
-- RiskFlagOpen does nothing if the same flag is open, or was closed after created_at: its reviewer
-- has seen the same facts.
INSERT INTO risk_flags (id, org_id, program_id, partner_id, customer_id, kind, severity, status, evidence, created_at)
SELECT @id::text, @org_id, @program_id::text, sqlc.narg('partner_id')::text, sqlc.narg('customer_id')::text,
    @kind::text, @severity::text, 'open', @evidence::json, @created_at::timestamptz
WHERE NOT EXISTS (
    SELECT 1 FROM risk_flags f WHERE f.program_id = @program_id AND f.org_id = @org_id
        AND f.partner_id = sqlc.narg('partner_id')::text AND f.kind = @kind
      AND f.customer_id IS NOT DISTINCT FROM sqlc.narg('customer_id')::text AND f.resolved_at > @created_at
      AND f.evidence->>'dispute_id' IS NOT DISTINCT FROM @evidence::json->>'dispute_id')
ON CONFLICT DO NOTHING;

-- name: AuditLogCut :one
-- AuditLogCut drops up to lim entries of the audit log from before a time, and counts them.
-- The facts that the books need of them stay (schema/000113_audit_log_cut.up.sql).
SELECT cut_audit_log(@before::timestamptz, @lim::bigint)::bigint AS dropped;
