-- The events of payment processors, and their outcomes.

-- name: InboxInsert :exec
-- InboxInsert stores an event once: another delivery of it changes nothing.
INSERT INTO inbox_events (id, org_id, program_id, connection_id, processor, external_event_id, type, livemode, status,
    reason_code, reason, customer_id, sale_id, refund_id, attempts, failures, payload, headers, due_at, processed_at,
    created_at)
VALUES (@id, @org_id, @program_id, @connection_id, @processor, @external_event_id, @type, @livemode, @status,
    @reason_code, @reason, @customer_id, @sale_id, @refund_id, @attempts, @failures, @payload, @headers, @due_at,
    @processed_at, @created_at)
ON CONFLICT DO NOTHING;

-- name: InboxTurnsAdd :exec
-- InboxTurnsAdd adds the turns of an event, if it is stored. Every parameter is an unnested array, so that requests in a
-- shared transaction share the statement. The subquery hides the number of turns from the planner; otherwise the
-- statement would be planned each time.
INSERT INTO inbox_waits (org_id, program_id, key, event_id)
SELECT e.org_id, e.program_id, i.key, e.id FROM (
    SELECT unnest(@org_ids::text[]) AS org_id, unnest(ARRAY(SELECT unnest(@event_ids::text[]))) AS event_id,
        unnest(@keys::text[]) AS key
) i JOIN inbox_events e ON e.id = i.event_id AND e.org_id = i.org_id
ON CONFLICT DO NOTHING;

-- name: InboxTurnsClear :exec
DELETE FROM inbox_waits WHERE event_id = @event_id AND org_id = @org_id AND key LIKE 'turn %';

-- name: ConnectionSetLastEvent :exec
-- ConnectionSetLastEvent stores the time of the last event if the stored one is before @stale_before: a busy connection
-- writes its row once a second.
UPDATE processor_connections SET last_event_at = @now
WHERE id = @id AND org_id = @org_id AND (last_event_at IS NULL OR last_event_at < @stale_before);

-- name: InboxGet :one
SELECT t.* FROM inbox_events t WHERE t.id = @id AND t.org_id = @org_id;

-- name: InboxOutcomes :many
-- InboxOutcomes returns the outcomes of a processor's received events.
SELECT t.external_event_id, t.status, t.reason_code, t.sale_id FROM inbox_events t
WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.connection_id = @connection_id
    AND t.external_event_id = ANY (@external_event_ids::text[]);

-- name: InboxReplay :one
-- InboxReplay queues an event again, unless it is waiting.
UPDATE inbox_events SET status = 'pending', due_at = @now::timestamptz, failures = 0
WHERE id = @id AND org_id = @org_id RETURNING *;

-- name: InboxClaim :many
-- InboxClaim leases at most 8 due events, organization by organization: first the organizations after @after, then the
-- others. It skips the organizations in @held. The lease ends at @until. asks reports whether Rail has an API
-- key with which it can fetch missing data of an event. A payload above @max_payload bytes is not returned. A batch is small, so that no event
-- waits long behind the others and every organization is served soon. Its size is a literal: with a parameter, the
-- statement would be planned each time.
WITH RECURSIVE orgs AS (
    SELECT (@after::text) COLLATE "C" AS org_id, false AS again
    UNION ALL
    SELECT coalesce(n.org_id, ''), o.again OR n.org_id IS NULL FROM orgs o LEFT JOIN LATERAL (
        SELECT e.org_id FROM inbox_events e WHERE e.due_at IS NOT NULL AND e.org_id > o.org_id
        ORDER BY e.org_id LIMIT 1) n ON true
    WHERE NOT o.again OR n.org_id <= @after
), due AS MATERIALIZED (
    SELECT d.id FROM orgs o CROSS JOIN LATERAL (
        SELECT e.id FROM inbox_events e WHERE e.org_id = o.org_id AND e.due_at <= @now
        ORDER BY e.due_at, e.id LIMIT 8 FOR NO KEY UPDATE SKIP LOCKED) d
    WHERE (o.again OR o.org_id > @after) AND o.org_id <> ALL (@held::text[]) LIMIT 8
)
UPDATE inbox_events t SET due_at = @until::timestamptz, attempts = t.attempts + 1, failures = t.failures + 1
FROM due, organizations g, processor_connections c, programs p
WHERE t.id = due.id AND g.id = t.org_id AND c.id = t.connection_id AND p.id = t.program_id
RETURNING t.id, t.org_id, t.connection_id, t.processor, t.attempts, t.failures,
    CASE WHEN octet_length(t.payload) <= @max_payload::int THEN t.payload END::bytea AS payload,
    g.flow_quota, g.revenue_meter_minor, g.fraud_monitoring, p.auto_enrol_customers,
    (c.api_key IS NOT NULL AND c.processor = 'stripe')::boolean AS asks;

-- name: InboxRelease :exec
-- InboxRelease releases an event that was not processed, unless another worker has claimed it since.
UPDATE inbox_events SET due_at = @now::timestamptz, failures = greatest(failures - 1, 0)
WHERE id = @id AND org_id = @org_id AND attempts = @attempts AND due_at IS NOT NULL;

-- name: InboxLock :one
-- InboxLock reads a claimed event; it returns no row if another worker has claimed it since.
SELECT t.* FROM inbox_events t WHERE t.id = @id AND t.org_id = @org_id AND t.attempts = @attempts
    AND t.due_at IS NOT NULL FOR NO KEY UPDATE;

-- name: InboxBlocker :one
-- InboxBlocker returns the first earlier event about the same customer that has no outcome yet. An event that has failed
-- counts if it arrived after @since.
SELECT f.event_id, f.failed, f.due_at FROM inbox_waits t CROSS JOIN LATERAL (
    SELECT w.event_id, (e.reason_code IS NOT NULL)::boolean AS failed, e.due_at
    FROM inbox_waits w JOIN inbox_events e ON e.id = w.event_id
    WHERE w.program_id = t.program_id AND w.key = t.key AND w.event_id < t.event_id AND e.status = 'pending'
        AND e.org_id = @org_id AND (e.reason_code IS NULL OR e.created_at > @since)
    ORDER BY w.event_id LIMIT 1) f
WHERE t.event_id = @id AND t.org_id = @org_id AND t.key LIKE 'turn %' ORDER BY f.event_id LIMIT 1;

-- name: InboxAdvance :exec
-- InboxAdvance moves a released event ahead of the later ones that it blocks. The condition due_at <= @until excludes
-- the events that a worker has leased.
UPDATE inbox_events SET due_at = created_at
WHERE id = @id AND org_id = @org_id AND status = 'pending' AND reason_code IS NULL AND due_at > created_at
    AND due_at <= @until;

-- name: InboxLockByID :one
SELECT t.* FROM inbox_events t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: InboxOutcome :exec
-- InboxOutcome writes the outcomes of processed events. due_ats counts for events that are retried. Every parameter is
-- an unnested array, so that events in a shared transaction share the statement; the subquery is that of InboxTurnsAdd.
UPDATE inbox_events t SET status = i.status, reason_code = nullif(i.reason_code, ''), reason = nullif(i.reason, ''),
    customer_id = nullif(i.customer_id, ''), sale_id = nullif(i.sale_id, ''), refund_id = nullif(i.refund_id, ''),
    failures = 0, due_at = CASE WHEN i.retried THEN i.due_at END, processed_at = i.processed_at
FROM (SELECT unnest(ARRAY(SELECT unnest(@ids::text[]))) AS id, unnest(@org_ids::text[]) AS org_id,
    unnest(@statuses::text[]) AS status,
    unnest(@reason_codes::text[]) AS reason_code, unnest(@reasons::text[]) AS reason,
    unnest(@customer_ids::text[]) AS customer_id, unnest(@sale_ids::text[]) AS sale_id,
    unnest(@refund_ids::text[]) AS refund_id, unnest(@retried::boolean[]) AS retried,
    unnest(@due_ats::timestamptz[]) AS due_at, unnest(@processed_ats::timestamptz[]) AS processed_at) i
WHERE t.id = i.id AND t.org_id = i.org_id;

-- name: InboxFail :execrows
-- InboxFail records failed work, unless another worker has claimed the event since.
UPDATE inbox_events SET status = @status, reason_code = @reason_code, reason = @reason, due_at = @due_at,
    processed_at = @processed_at
WHERE id = @id AND org_id = @org_id AND attempts = @attempts;

-- name: InboxPostpone :execrows
-- InboxPostpone records work that could not start, which is not a failure.
UPDATE inbox_events SET status = @status, reason_code = @reason_code, reason = @reason, failures = 0, due_at = @due_at,
    processed_at = @processed_at
WHERE id = @id AND org_id = @org_id AND attempts = @attempts;

-- name: InboxPayer :many
-- InboxPayer returns the customer's id at the processor for which an event waits.
SELECT substr(w.key, 10)::text AS external_customer_id FROM inbox_waits w
WHERE w.event_id = @event_id AND w.org_id = @org_id AND w.key LIKE 'customer %' LIMIT 1;

-- name: InboxEventsWaitingFor :many
-- InboxEventsWaitingFor returns the events of a connection that wait for the object of a key, newest first.
SELECT t.id, t.payload FROM inbox_waits w JOIN inbox_events t ON t.id = w.event_id
WHERE w.program_id = @program_id AND w.org_id = @org_id AND w.key = @key AND t.org_id = @org_id
    AND t.connection_id = @connection_id ORDER BY t.created_at DESC, t.id DESC LIMIT @lim;

-- name: InboxWaitsClear :exec
-- InboxWaitsClear deletes all keys and turns of events. Every parameter is an unnested array, so that events in a shared
-- transaction share the statement; the subquery is that of InboxTurnsAdd.
DELETE FROM inbox_waits t USING (
    SELECT unnest(ARRAY(SELECT unnest(@event_ids::text[]))) AS event_id, unnest(@org_ids::text[]) AS org_id
) i
WHERE t.event_id = i.event_id AND t.org_id = i.org_id;

-- name: InboxWaitsAdd :exec
INSERT INTO inbox_waits (org_id, program_id, key, event_id)
SELECT @org_id, @program_id, k, @event_id FROM unnest(@keys::text[]) k
ON CONFLICT DO NOTHING;

-- name: InboxWake :exec
-- InboxWake makes the events due that wait for the objects of the keys.
UPDATE inbox_events t SET due_at = @now::timestamptz
FROM inbox_waits w
WHERE w.program_id = @program_id AND w.org_id = @org_id AND w.key = ANY (@keys::text[]) AND t.id = w.event_id
    AND t.org_id = @org_id AND t.created_at > @since AND (t.due_at IS NULL OR t.due_at > @now);

-- name: InboxPurge :execrows
DELETE FROM inbox_events WHERE id IN (SELECT e.id FROM inbox_events e
    WHERE e.due_at IS NULL AND e.processed_at < @before ORDER BY e.processed_at LIMIT @lim FOR UPDATE SKIP LOCKED);

-- name: InboxSealed :many
SELECT t.id, t.payload FROM inbox_events t WHERE t.id > @after ORDER BY t.id LIMIT @lim;

-- name: InboxReseal :exec
UPDATE inbox_events SET payload = @payload WHERE id = @id AND payload = @was;

-- name: AliasesAdd :exec
-- AliasesAdd records the other ids of a payment; an id keeps its first charge.
INSERT INTO charge_aliases (org_id, program_id, alias, external_charge_id, created_at)
SELECT @org_id, @program_id, a, @external_charge_id, @now FROM unnest(@aliases::text[]) a
ON CONFLICT DO NOTHING;

-- name: AliasesPurge :execrows
DELETE FROM charge_aliases WHERE (program_id, alias) IN (SELECT a.program_id, a.alias FROM charge_aliases a
    WHERE a.created_at < @before ORDER BY a.created_at LIMIT @lim FOR UPDATE SKIP LOCKED);

-- name: AliasesOf :many
-- AliasesOf returns the charges of other ids, and the charge of which such a charge is another id: an imported sale may
-- have neither of the ids that its processor uses.
WITH first AS MATERIALIZED (
    SELECT t.external_charge_id FROM charge_aliases t
    WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.alias = ANY (@aliases::text[])
)
SELECT f.external_charge_id FROM first f
UNION SELECT t.external_charge_id FROM charge_aliases t JOIN first f ON f.external_charge_id = t.alias
WHERE t.program_id = @program_id AND t.org_id = @org_id ORDER BY 1;

-- name: OptOutsSet :exec
-- OptOutsSet records an event's opt-out, unless a later event has set it.
INSERT INTO opt_outs AS t (org_id, program_id, key, opted_out, at)
SELECT @org_id, @program_id, k, @opted_out, @at FROM unnest(@keys::text[]) k
ON CONFLICT (program_id, key) DO UPDATE SET opted_out = excluded.opted_out, at = excluded.at WHERE t.at <= excluded.at;

-- name: OptOutExists :one
-- OptOutExists reports whether one of the keys was opted out.
SELECT EXISTS (SELECT 1 FROM opt_outs t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.key = ANY (@keys::text[]) AND t.opted_out);

-- name: OptOutsPurge :execrows
-- OptOutsPurge deletes records that no event needs: those of payments, and those without an
-- opt-out. Those of customers remain as long as the program.
DELETE FROM opt_outs t WHERE (t.program_id, t.key) IN (SELECT o.program_id, o.key FROM opt_outs o
    WHERE o.at < @before AND (NOT o.opted_out OR o.key LIKE 'charge %')
    ORDER BY o.at LIMIT @lim FOR UPDATE SKIP LOCKED);

-- name: SaleByCharges :many
-- SaleByCharges finds the sales of a payment under any of its ids, the oldest first. The subquery hides the number of
-- ids from the planner; otherwise the statement would be planned each time.
SELECT t.* FROM sales t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_charge_id = ANY (ARRAY(SELECT unnest(@charges::text[]))) ORDER BY t.created_at, t.id;

-- name: CustomersWithoutExternalID :many
-- CustomersWithoutExternalID finds customers without an id at a processor by an email, created since a time, or by a
-- referral. Two rows mean that the match is ambiguous.
SELECT t.* FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_customer_id IS NULL AND lower(t.email) = sqlc.narg('email')::text AND t.lead_at > @since
UNION ALL
SELECT t.* FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_customer_id IS NULL AND t.referral_id = sqlc.narg('referral_id')::text
LIMIT 2;

-- name: CustomersByIdentifier :many
-- CustomersByIdentifier finds customers by the merchant's own id. Two rows mean that the match is ambiguous.
SELECT t.* FROM customers t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.identifier = @identifier::text LIMIT 2;

-- name: CustomerSetSubscription :exec
-- CustomerSetSubscription records the subscriptions that customers pay for. Every parameter is an unnested array, so that
-- events in a shared transaction share the statement; the subquery is that of InboxTurnsAdd.
UPDATE customers t SET external_subscription_id = i.subscription_id, updated_at = i.updated_at
FROM (SELECT unnest(ARRAY(SELECT unnest(@ids::text[]))) AS id, unnest(@org_ids::text[]) AS org_id,
    unnest(@subscription_ids::text[]) AS subscription_id, unnest(@updated_ats::timestamptz[]) AS updated_at) i
WHERE t.id = i.id AND t.org_id = i.org_id AND t.external_subscription_id IS DISTINCT FROM i.subscription_id;

-- name: CouponByExternalIDs :many
-- CouponByExternalIDs finds the coupons of a processor's discounts.
SELECT t.* FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_id = ANY (@external_ids::text[]) ORDER BY t.created_at, t.id;

-- name: CouponsOf :many
-- CouponsOf finds a discount of the processor by its id, and the codes that belong to it.
SELECT t.* FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.external_id = @external_id::text
UNION ALL
SELECT t.* FROM coupons t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_parent_id = @external_id::text AND t.external_id IS DISTINCT FROM @external_id::text
ORDER BY created_at, id;

