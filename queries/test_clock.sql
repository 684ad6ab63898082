-- The test clock of a server for tests (server/work/testclock).

-- name: TestClockGet :one
SELECT t.ahead_us FROM test_clock t;

-- name: TestClockSessionLock :exec
-- TestClockSessionLock waits until no server holds the test clock, and holds it for this session.
SELECT pg_advisory_lock(hashtextextended('test-clock', 0));

-- name: TestClockLockInserts :exec
-- TestClockLockInserts keeps others from adding keys, rails and connections until the commit.
LOCK TABLE api_keys, payout_rails, processor_connections IN SHARE ROW EXCLUSIVE MODE;

-- name: TestClockConflicts :one
-- TestClockConflicts counts what must not be beside a test clock. A revoked key counts, since real data
-- may have come by it.
SELECT (SELECT count(*) FROM api_keys k WHERE k.livemode) AS keys,
    (SELECT count(*) FROM payout_rails r WHERE r.livemode AND NOT starts_with(r.id, 'sample_')) AS rails,
    (SELECT count(*) FROM processor_connections c WHERE c.livemode AND NOT starts_with(c.id, 'sample_'))
        AS connections;

-- name: TestClockMake :one
-- TestClockMake makes the row unless there is one, and returns how far the clock is ahead.
INSERT INTO test_clock AS t (ahead_us, updated_at) VALUES (0, @now)
ON CONFLICT (id) DO UPDATE SET updated_at = t.updated_at RETURNING t.ahead_us;

-- name: TestClockMove :exec
-- TestClockMove stores how far the clock is ahead; it never goes back.
UPDATE test_clock SET ahead_us = greatest(ahead_us, @ahead_us::bigint), updated_at = @now;

-- name: TestClockDue :one
-- TestClockDue returns the first moment after a time at which a job has something to do; until if
-- there is none. A month's batches are made ten minutes into the month of their time zone. An
-- old refund and a search for idle partners have a fixed age.
SELECT coalesce(min(x.at), @until::timestamptz)::timestamptz AS due_at FROM (
    SELECT min(k.approve_at) AS at FROM commissions k WHERE k.status = 'pending' AND k.approve_at > @after::timestamptz
    UNION ALL SELECT min(k.mature_at) FROM commissions k WHERE k.status = 'approved' AND k.mature_at > @after::timestamptz
    UNION ALL SELECT min(p.ban_at) FROM partners p WHERE p.ban_at > @after::timestamptz
    UNION ALL SELECT min(p.due_at) FROM payouts p WHERE p.status = 'pending' AND p.due_at > @after::timestamptz
    UNION ALL SELECT min(m.at) FROM (
        SELECT zone_midnight((date_trunc('month', zone_day(@after::timestamptz, z.time_zone)::timestamp)
            + n * interval '1 month')::date, z.time_zone) + interval '10 minutes' AS at
        FROM (SELECT DISTINCT p.time_zone FROM programs p WHERE p.auto_payouts_enabled) z
            CROSS JOIN generate_series(0, 1) n) m WHERE m.at > @after::timestamptz
    UNION ALL SELECT min(r.expires_at) FROM referrals r WHERE r.current AND r.expires_at > @after::timestamptz
    UNION ALL SELECT min(r.created_at + sqlc.arg('refund_hours')::bigint * interval '1 hour') FROM refunds r
        WHERE r.status = 'waiting' AND r.created_at + sqlc.arg('refund_hours')::bigint * interval '1 hour' > @after::timestamptz
    UNION ALL SELECT min(f.expires_at) FROM tax_form_statuses f
        WHERE f.status = 'submitted' AND f.expires_at > @after::timestamptz
    UNION ALL SELECT min(e.due_at) FROM inbox_events e WHERE e.due_at > @after::timestamptz
    UNION ALL SELECT min(c.reconcile_at) FROM processor_connections c
        WHERE c.status = 'active' AND c.reconcile_at > @after::timestamptz
    UNION ALL SELECT min(c.scheduled_at) FROM campaigns c
        WHERE c.status = 'scheduled' AND c.scheduled_at > @after::timestamptz
    UNION ALL SELECT min(e.next_at) FROM sequence_enrolments e JOIN sequences s ON s.id = e.sequence_id
        WHERE s.status = 'active' AND e.next_at > @after::timestamptz
    UNION ALL SELECT min(s.idle_checked_at) + interval '24 hours' FROM sequences s WHERE s.trigger = 'idle'
        AND s.status = 'active' AND s.idle_checked_at + interval '24 hours' > @after::timestamptz
    UNION ALL SELECT min(m.next_attempt_at) FROM mails m
        WHERE m.status = 'queued' AND m.next_attempt_at > @after::timestamptz
) x;
