-- The queues in the database, for metrics and probes. Long queues are not counted: each is read by
-- the index of its waiting rows, up to a limit, in the order of the index.

-- name: Backlog :one
-- Backlog counts the rows of each queue, up to lim, and the seconds since the first one was due. An
-- endpoint, or the mail server, counts as failing while something waits for a retry and nothing has
-- succeeded since that was created. Rows of a sample are never sent.
WITH present AS (
    SELECT @now::timestamptz AS at
), line AS (
    SELECT greatest(d.next_attempt_at, d.created_at)::timestamptz AS due, d.endpoint_id, d.status, d.created_at
    FROM webhook_deliveries d
    WHERE d.next_attempt_at IS NOT NULL AND NOT starts_with(d.endpoint_id, 'sample_') LIMIT @lim::integer
), failing AS (
    SELECT r.endpoint_id, r.since FROM (
        SELECT l.endpoint_id, min(l.created_at) AS since FROM line l WHERE l.status = 'retrying' GROUP BY 1) r
    WHERE NOT EXISTS (SELECT FROM webhook_deliveries s WHERE s.endpoint_id = r.endpoint_id AND s.finished_at > r.since
        AND s.status = 'delivered' AND NOT s.is_test)
), outbox AS (
    SELECT m.next_attempt_at AS due, m.attempts, m.created_at FROM mails m WHERE m.status = 'queued'
    ORDER BY (m.partner_id IS NOT NULL), m.next_attempt_at LIMIT @lim::integer
), mail_since AS (
    SELECT r.since FROM (SELECT min(o.created_at) AS since FROM outbox o WHERE o.attempts > 0) r
    WHERE NOT EXISTS (SELECT FROM mails s WHERE s.sent_at > r.since)
), inbox AS (
    SELECT e.due_at AS due FROM inbox_events e WHERE e.due_at IS NOT NULL
    ORDER BY e.org_id, e.due_at LIMIT @lim::integer
), marks AS (
    SELECT r.program_id, r.day FROM report_marks r LIMIT @lim::integer
), refused AS (
    SELECT f.id FROM (SELECT DISTINCT c.program_id FROM processor_connections c) g CROSS JOIN LATERAL (
        SELECT e.id FROM inbox_events e WHERE e.program_id = g.program_id AND e.status = 'failed'
        ORDER BY e.created_at LIMIT @lim::integer) f LIMIT @lim::integer
)
SELECT (SELECT count(*) FROM line) AS deliveries,
    (SELECT coalesce(extract(epoch FROM max(p.at - l.due)), 0) FROM line l, present p
        WHERE l.due <= p.at)::float8 AS deliveries_due,
    (SELECT count(*) FROM failing) AS endpoints_failing,
    (SELECT coalesce(extract(epoch FROM max(p.at - f.since)), 0) FROM failing f, present p)::float8 AS endpoint_failing,
    (SELECT coalesce(extract(epoch FROM max(p.at - f.since)), 0) FROM mail_since f, present p)::float8 AS mail_failing,
    (SELECT coalesce(extract(epoch FROM max(b.made_at)), 0) FROM backup_mark b)::float8 AS backup_at,
    (SELECT coalesce(extract(epoch FROM max(a.audited_at)), 0) FROM audit_mark a)::float8 AS audit_at,
    (SELECT count(*) FROM webhook_endpoints w WHERE NOT w.enabled
        AND NOT starts_with(w.id, 'sample_')) AS endpoints_off,
    (SELECT count(*) FROM outbox) AS mails,
    (SELECT coalesce(extract(epoch FROM max(p.at - o.due)), 0) FROM outbox o, present p
        WHERE o.due <= p.at)::float8 AS mails_due,
    (SELECT count(*) FROM inbox i, present p WHERE i.due <= p.at) AS inbox,
    (SELECT coalesce(extract(epoch FROM max(p.at - i.due)), 0) FROM inbox i, present p
        WHERE i.due <= p.at)::float8 AS inbox_due,
    (SELECT count(*) FROM inbox i, present p WHERE i.due > p.at) AS inbox_waiting,
    (SELECT count(*) FROM refused) AS inbox_failed,
    greatest(0, (SELECT coalesce(max(l.id), 0) FROM ledger_entries l)
        - (SELECT coalesce(max(k.after_id), 0) FROM ledger_mark k))::bigint AS ledger_unfolded,
    (SELECT count(*) FROM (SELECT DISTINCT k.program_id, k.day FROM marks k) d) AS report_days,
    pg_database_size(current_database()) AS bytes,
    (SELECT coalesce(max(extract(epoch FROM p.at - coalesce(a.last_archived_time, a.stats_reset))), 0)
        FROM pg_catalog.pg_stat_archiver a, present p
        WHERE a.last_failed_time > coalesce(a.last_archived_time, '-infinity'))::float8 AS archive_behind;

-- name: PayoutTotals :many
-- PayoutTotals counts payouts by status from the folded tallies.
SELECT t.status, sum(t.total)::bigint AS total FROM programs g JOIN tallies t ON t.program_id = g.id
WHERE t.list = 'payouts' AND t.owner_id = '' GROUP BY 1;

-- name: BackupSave :exec
-- BackupSave records the time of a backup.
INSERT INTO backup_mark (made_at) VALUES (@made_at)
ON CONFLICT (id) DO UPDATE SET made_at = greatest(backup_mark.made_at, excluded.made_at);

-- name: WebhookEndpointsFailing :one
-- WebhookEndpointsFailing counts the program's endpoints with attempts but no success since a time.
SELECT count(*) FROM webhook_endpoints w CROSS JOIN LATERAL (
    SELECT min(d.created_at) AS since FROM webhook_deliveries d
    WHERE d.endpoint_id = w.id AND d.next_attempt_at IS NOT NULL AND d.status = 'retrying') r
WHERE w.program_id = @program_id AND w.org_id = @org_id AND w.enabled AND NOT starts_with(w.id, 'sample_')
    AND r.since < @before::timestamptz
    AND NOT EXISTS (SELECT FROM webhook_deliveries s WHERE s.endpoint_id = w.id AND s.finished_at > r.since
        AND s.status = 'delivered' AND NOT s.is_test);

-- name: OrganizationsUpTo :many
-- OrganizationsUpTo returns the creation times of the first few organizations.
SELECT o.created_at FROM organizations o ORDER BY o.created_at, o.id LIMIT @lim;

-- name: PayoutRailState :one
-- PayoutRailState reads the seconds since the oldest submission without an end or an attention, of
-- the first lim payouts that rails have, and the numbers of rails whose calls fail or whose accounts
-- lack funds. A rail fails if its last call did, within a day, and none has succeeded since a time.
WITH present AS (
    SELECT @now::timestamptz AS at, @called_after::timestamptz AS called_after, @before::timestamptz AS before
), sent AS (
    SELECT p.submitted_at, p.attention FROM payouts p WHERE p.status = 'processing' AND p.rail <> 'file'
    ORDER BY p.rail, coalesce(p.rail_id, ''), p.checked_at, p.id LIMIT @lim::integer
), troubled AS (
    SELECT r.without_funds_at FROM payout_rails r, present n WHERE r.livemode AND r.last_error IS NOT NULL
        AND (r.status = 'active' AND r.without_funds_at IS NOT NULL OR r.without_funds_at IS NULL
            AND r.updated_at > n.called_after AND coalesce(r.last_success_at, r.created_at) < n.before)
)
SELECT (SELECT coalesce(extract(epoch FROM max(n.at - s.submitted_at)), 0) FROM sent s, present n
        WHERE s.attention IS NULL)::float8 AS oldest,
    (SELECT count(*) FROM troubled t WHERE t.without_funds_at IS NULL) AS failing,
    (SELECT count(*) FROM troubled t WHERE t.without_funds_at IS NOT NULL) AS poor;

-- name: PayoutAttentionCounts :many
-- PayoutAttentionCounts counts the payouts that a person should look at, the first lim of them.
SELECT a.attention::text AS attention, count(*) AS total
FROM (SELECT p.attention FROM payouts p WHERE p.attention IS NOT NULL ORDER BY p.program_id, p.created_at, p.id
    LIMIT @lim::integer) a GROUP BY 1;

-- name: PayoutRailsFailing :many
-- PayoutRailsFailing lists the rails of a program whose calls fail or whose accounts lack funds, as
-- PayoutRailState counts them.
SELECT r.kind, (r.without_funds_at IS NOT NULL)::boolean AS poor FROM payout_rails r
WHERE r.program_id = @program_id AND r.org_id = @org_id AND r.livemode AND r.last_error IS NOT NULL
    AND (r.status = 'active' AND r.without_funds_at IS NOT NULL OR r.without_funds_at IS NULL
        AND r.updated_at > @called_after::timestamptz
        AND coalesce(r.last_success_at, r.created_at) < @before::timestamptz)
ORDER BY r.created_at, r.id;
