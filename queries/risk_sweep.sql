-- The reads of the hourly risk sweep of one program. A closed flag covers the facts before it:
-- judged reports for each partner whether a flag of the kind is open, and when the last one was
-- closed.

-- name: RiskPrograms :many
-- RiskPrograms lists the programs of organizations that are monitored; monitored
-- is the server's default.
SELECT t.id, t.org_id FROM programs t JOIN organizations o ON o.id = t.org_id
WHERE t.id > @after AND coalesce(o.fraud_monitoring, @monitored::boolean) AND NOT starts_with(t.id, 'sample_')
ORDER BY t.id LIMIT @lim;

-- name: RiskLock :one
-- RiskLock locks the program for one sweep, unless another has it, and gives the sweep's reads
-- more time than a request's.
SELECT pg_try_advisory_xact_lock(hashtextextended('risk-sweep/' || @program_id::text, 0)) AS taken,
    set_config('statement_timeout', '60000', true) AS allowed, set_config('plan_cache_mode', 'force_custom_plan',
        true) AS planned;

-- name: RiskSharedDetails :many
SELECT t.partner_id, t.payout_details_hash, t.payout_details_changed_at FROM (
    SELECT p.id AS partner_id, p.payout_details_hash, p.payout_details_changed_at,
        count(*) OVER (PARTITION BY p.payout_details_hash) AS partners
    FROM partners p WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.payout_details_hash <> ''
) t WHERE t.partners > 1 ORDER BY t.partner_id;

-- name: RiskSharedAddresses :many
SELECT t.partner_id, t.ip_hash, t.device FROM (
    SELECT a.partner_id, a.ip_hash, a.device, count(*) OVER (PARTITION BY a.ip_hash, a.device) AS partners
    FROM partner_addresses a WHERE a.program_id = @program_id AND a.org_id = @org_id AND a.seen_at > @since
        AND a.device <> ''
) t WHERE t.partners > 1 ORDER BY t.partner_id;

-- name: RiskFlagsOfKind :many
SELECT f.partner_id, f.resolved_at, f.evidence FROM risk_flags f WHERE f.program_id = @program_id AND f.org_id = @org_id
    AND f.kind = @kind AND f.partner_id IS NOT NULL;

-- name: RiskOwnAddresses :many
-- RiskOwnAddresses lists unflagged customers who clicked from an address of their partner.
SELECT DISTINCT ON (k.id) k.id AS customer_id, k.partner_id::text AS partner_id, x.id AS click_id,
    x.created_at AS clicked_at, a.seen_at
FROM customers k JOIN clicks x ON x.id = k.click_id AND x.program_id = k.program_id
    JOIN partner_addresses a ON a.program_id = k.program_id AND a.partner_id = k.partner_id AND a.ip_hash = x.ip_hash
WHERE k.program_id = @program_id AND k.org_id = @org_id AND k.created_at > @since AND k.created_at <= @now
    AND a.seen_at > @since
  AND k.partner_id IN (SELECT o.partner_id FROM partner_addresses o
      WHERE o.program_id = @program_id AND o.org_id = @org_id)
  AND NOT EXISTS (SELECT 1 FROM risk_flags f WHERE f.program_id = @program_id AND f.org_id = @org_id
      AND f.kind = 'self_referral_ip' AND f.partner_id = k.partner_id AND f.customer_id = k.id)
ORDER BY k.id, a.seen_at DESC
LIMIT @lim;

-- name: RiskRefundRates :many
-- RiskRefundRates counts, for each partner with a refunded sale, the customers of its sales since a
-- time, and those with a fully refunded sale after the last closed flag.
WITH judged AS MATERIALIZED (
    SELECT f.partner_id, bool_or(f.resolved_at IS NULL) AS open, max(f.resolved_at)::timestamptz AS at FROM risk_flags f
    WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.kind = 'high_refund_rate' GROUP BY f.partner_id
), refunded AS MATERIALIZED (
    SELECT DISTINCT r.partner_id FROM sales r WHERE r.program_id = @program_id AND r.org_id = @org_id
        AND r.created_at > @since AND r.refunded_at IS NOT NULL
)
SELECT x.partner_id::text AS partner_id, count(DISTINCT x.customer_id) AS customers,
    count(DISTINCT x.customer_id) FILTER (WHERE x.refunded_at <= @now
        AND (j.at IS NULL OR x.refunded_at > j.at)) AS refunded
FROM refunded r JOIN sales x ON x.partner_id = r.partner_id LEFT JOIN judged j ON j.partner_id = x.partner_id
WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.created_at > @since AND j.open IS NOT TRUE
GROUP BY x.partner_id HAVING count(DISTINCT x.customer_id) >= @least::bigint
ORDER BY x.partner_id;

-- name: RiskClickVelocity :many
-- RiskClickVelocity finds for each partner the most clicks from one address within an hour, of the
-- clicks since a time and after the last closed flag.
WITH judged AS MATERIALIZED (
    SELECT f.partner_id, bool_or(f.resolved_at IS NULL) AS open, max(f.resolved_at)::timestamptz AS at FROM risk_flags f
    WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.kind = 'click_velocity' GROUP BY f.partner_id
), counted AS (
    SELECT x.partner_id, x.created_at, count(*) OVER (PARTITION BY x.partner_id, x.ip_hash
        ORDER BY x.created_at RANGE BETWEEN '1 hour'::interval PRECEDING AND CURRENT ROW) AS clicks
    FROM clicks x LEFT JOIN judged j ON j.partner_id = x.partner_id
    WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.created_at > @since AND x.created_at <= @now
        AND x.ip_hash IS NOT NULL
      AND j.open IS NOT TRUE AND (j.at IS NULL OR x.created_at > j.at)
)
SELECT t.partner_id, max(t.clicks)::bigint AS clicks, max(t.created_at)::timestamptz AS last_at FROM counted t
WHERE t.clicks > @most::bigint GROUP BY t.partner_id ORDER BY t.partner_id;

-- name: RiskSignups :many
-- RiskSignups and RiskSales count, for each partner with at least so many in the last day after the
-- last closed flag, these and those of the preceding weeks.
WITH judged AS MATERIALIZED (
    SELECT f.partner_id, bool_or(f.resolved_at IS NULL) AS open, max(f.resolved_at)::timestamptz AS at FROM risk_flags f
    WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.kind = 'conversion_spike' GROUP BY f.partner_id
), recent AS MATERIALIZED (
    SELECT x.partner_id, count(*) AS number FROM customers x LEFT JOIN judged j ON j.partner_id = x.partner_id
    WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.partner_id IS NOT NULL AND x.created_at > @day_ago
        AND x.created_at <= @now
      AND j.open IS NOT TRUE AND (j.at IS NULL OR x.created_at > j.at)
    GROUP BY x.partner_id HAVING count(*) >= @least::bigint
)
SELECT t.partner_id::text AS partner_id, t.number,
    (SELECT count(*) FROM customers b WHERE b.program_id = @program_id AND b.org_id = @org_id
        AND b.partner_id = t.partner_id AND b.created_at > @since AND b.created_at <= @day_ago) AS before
FROM recent t ORDER BY t.partner_id;

-- name: RiskSales :many
WITH judged AS MATERIALIZED (
    SELECT f.partner_id, bool_or(f.resolved_at IS NULL) AS open, max(f.resolved_at)::timestamptz AS at FROM risk_flags f
    WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.kind = 'conversion_spike' GROUP BY f.partner_id
), recent AS MATERIALIZED (
    SELECT x.partner_id, count(*) AS number FROM sales x LEFT JOIN judged j ON j.partner_id = x.partner_id
    WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.partner_id IS NOT NULL AND x.occurred_at > @day_ago
        AND x.occurred_at <= @now
      AND j.open IS NOT TRUE AND (j.at IS NULL OR x.occurred_at > j.at)
    GROUP BY x.partner_id HAVING count(*) >= @least::bigint
)
SELECT t.partner_id::text AS partner_id, t.number,
    (SELECT count(*) FROM sales b WHERE b.program_id = @program_id AND b.org_id = @org_id
        AND b.partner_id = t.partner_id
        AND b.created_at > @since AND b.occurred_at > @since AND b.occurred_at <= @day_ago) AS before
FROM recent t ORDER BY t.partner_id;
