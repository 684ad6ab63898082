-- name: ReportRows :many
-- ReportRows sums a window of the program's days by one dimension: the widest summed and unmarked spans from
-- report_sums, all other days from their rows. It is one statement, for one snapshot. level is the dimension of
-- report_sums to read, by the dimension of the rows; subject is that of its keys, and key the only key to read. With
-- rows_only, no sums are read. Rows of periods and cohorts use spans within one period, and read the other days period
-- by period. less_direct subtracts the figures without a partner, which are at direct_level, from sums of all: the
-- cost does not depend on the number of partners. A row adds up days before split_day or days from it on, never both;
-- before is true for the former. One statement reads both windows of a comparison: planning takes longer than reading.
-- The rows of a day that is not summed are grouped first: there can be many today. A cohort counts a customer by the
-- first sale of the month, and of two at the same moment by that of the lower partner id.
WITH spans AS MATERIALIZED (
    SELECT w.span, w.start, w.upto FROM (
        SELECT r.span, r.start, r.upto, max(r.upto) OVER (ORDER BY r.start, r.upto DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM report_untouched r
        WHERE r.program_id = @program_id AND r.org_id = @org_id AND r.zone = @time_zone::text
            AND NOT @rows_only::boolean AND r.start >= @from_day::date
          AND r.upto <= sqlc.arg(to_day)::date + 1 AND (r.start >= @split_day::date OR r.upto <= @split_day::date)
          AND (@by::text NOT IN ('period', 'cohort')
            OR date_trunc(@bucket::text, r.start::timestamp) = date_trunc(@bucket::text, (r.upto - 1)::timestamp))) w
    WHERE coalesce(w.reached, '-infinity') <= w.start
), gaps AS (
    SELECT g.first, g.next FROM (
        SELECT coalesce(lag(b.upto) OVER (ORDER BY b.start, b.upto), @from_day::date) AS first, b.start AS next FROM (
            SELECT s.start, s.upto FROM spans s
            UNION ALL SELECT @split_day::date, @split_day::date
            UNION ALL SELECT sqlc.arg(to_day)::date + 1, sqlc.arg(to_day)::date + 1) b) g
    WHERE g.first < g.next
), raw AS MATERIALIZED (
    SELECT p.first, zone_midnight(p.first, @time_zone::text) AS from_at,
        zone_midnight(p.next, @time_zone::text) AS to_at,
        zone_midnight(date_trunc('month', p.first::timestamp)::date, @time_zone::text) AS month_at FROM (
        SELECT g.first, g.next FROM gaps g WHERE @by::text NOT IN ('period', 'cohort')
        UNION ALL
        SELECT greatest(g.first, b.start::date), least(g.next, (b.start + e.step)::date)
        FROM gaps g CROSS JOIN (SELECT concat('1 ', @bucket::text)::interval AS step) e CROSS JOIN LATERAL
            generate_series(date_trunc(@bucket::text, g.first::timestamp), (g.next - 1)::timestamp, e.step) b (start)
        WHERE @by::text IN ('period', 'cohort')) p
), facts AS (
    SELECT w.start AS day, s.partner_id, s.key, s.currency, s.label, s.clicks, s.leads, s.customers, s.sales,
        s.refunded, s.revenue_minor, s.commissions_minor, s.paid_minor
    FROM spans w CROSS JOIN LATERAL (
        SELECT x.partner_id, x.key, x.currency, x.label, x.clicks, x.leads, x.customers, x.sales, x.refunded,
            x.revenue_minor, x.commissions_minor, x.paid_minor FROM report_sums x
            WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.dimension = @level::text AND x.span = w.span
            AND x.start = w.start AND (sqlc.narg('key')::text IS NULL OR x.key = sqlc.narg('key')::text)
          AND (sqlc.narg('partner_id')::text IS NULL OR x.partner_id = sqlc.narg('partner_id')::text) OFFSET 0) s
    UNION ALL
    SELECT w.start, '', s.key, s.currency, s.label, -s.clicks, -s.leads, -s.customers, -s.sales, -s.refunded,
        -s.revenue_minor, -s.commissions_minor, -s.paid_minor
    FROM spans w CROSS JOIN LATERAL (
        SELECT x.key, x.currency, x.label, x.clicks, x.leads, x.customers, x.sales, x.refunded, x.revenue_minor,
            x.commissions_minor, x.paid_minor FROM report_sums x
            WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.dimension = @direct_level::text
            AND x.span = w.span AND x.start = w.start AND x.partner_id = ''
            AND (sqlc.narg('key')::text IS NULL OR x.key = sqlc.narg('key')::text) OFFSET 0) s
    WHERE @less_direct::boolean
    UNION ALL
    SELECT r.first, coalesce(f.partner_id, ''), coalesce(CASE WHEN @subject::text <> 'cohort' THEN f.key
        WHEN f.converted_at IS NOT NULL THEN to_char(zone_day(f.converted_at, @time_zone::text), 'YYYY-MM') END, ''),
        coalesce(f.currency, @program_currency::text), f.label, f.clicks, f.leads,
        CASE WHEN @subject::text <> 'cohort' THEN f.customers ELSE (f.sales > 0 AND NOT EXISTS (SELECT FROM sales e
            WHERE e.customer_id = f.customer_id AND e.org_id = @org_id AND e.currency = f.currency
                AND e.occurred_at >= r.month_at AND (e.occurred_at, coalesce(e.partner_id, ''))
                    < (f.first_at, coalesce(f.partner_id, ''))))::integer END,
        f.sales, f.refunded, f.revenue_minor, f.commissions_minor, f.paid_minor
    FROM raw r CROSS JOIN LATERAL (
        SELECT x.partner_id, x.currency, CASE @subject::text WHEN 'link' THEN x.link_id WHEN 'product' THEN x.product
                WHEN 'source' THEN x.source WHEN 'medium' THEN x.medium WHEN 'campaign' THEN x.campaign
                WHEN 'referrer' THEN x.referrer WHEN 'country' THEN x.country WHEN 'device' THEN x.device
                WHEN 'tracked_by' THEN x.tracked_by END AS key,
            CASE @subject::text WHEN 'cohort' THEN x.converted_at END AS converted_at,
            CASE @subject::text WHEN 'cohort' THEN x.customer_id END AS customer_id,
            CASE @subject::text WHEN 'cohort' THEN min(x.at) FILTER (WHERE x.sales > 0) END AS first_at,
            max(CASE @subject::text WHEN 'product' THEN x.product_name END) AS label,
            sum(x.clicks) AS clicks, sum(x.leads) AS leads, sum(x.customers) AS customers, sum(x.sales) AS sales,
            sum(x.refunded) AS refunded, sum(x.revenue_minor) AS revenue_minor,
            sum(x.commissions_minor) AS commissions_minor, sum(x.paid_minor) AS paid_minor
        FROM (SELECT y.* FROM report_facts y
            WHERE y.program_id = @program_id AND y.at >= r.from_at AND y.at < r.to_at OFFSET 0) x
        WHERE (sqlc.narg('partner_id')::text IS NULL OR x.partner_id = sqlc.narg('partner_id')::text
            OR sqlc.narg('partner_id')::text = '' AND x.partner_id IS NULL)
          AND (NOT @less_direct::boolean OR x.partner_id IS NOT NULL)
          AND (x.customers > 0 OR x.currency IS NOT NULL OR @subject::text <> 'product')
          AND (x.currency IS NOT NULL OR @subject::text <> 'cohort')
          AND (sqlc.narg('source')::text IS NULL OR coalesce(x.source, '') = sqlc.narg('source')::text)
          AND (sqlc.narg('medium')::text IS NULL OR coalesce(x.medium, '') = sqlc.narg('medium')::text)
          AND (sqlc.narg('campaign')::text IS NULL OR coalesce(x.campaign, '') = sqlc.narg('campaign')::text)
          AND (sqlc.narg('referrer')::text IS NULL OR coalesce(x.referrer, '') = sqlc.narg('referrer')::text)
          AND (sqlc.narg('country')::text IS NULL OR coalesce(x.country, '') = sqlc.narg('country')::text)
          AND (sqlc.narg('device')::text IS NULL OR coalesce(x.device, '') = sqlc.narg('device')::text)
          AND (sqlc.narg('tracked_by')::text IS NULL OR coalesce(x.tracked_by, '') = sqlc.narg('tracked_by')::text)
        GROUP BY 1, 2, 3, 4, 5) f
)
SELECT (f.day < @split_day::date)::boolean AS before,
    (@by::text IN ('partner', 'link', 'group', 'tag') AND f.partner_id = '')::boolean AS direct,
    coalesce(CASE @by::text WHEN 'partner' THEN f.partner_id WHEN 'group' THEN p.group_id WHEN 'tag' THEN t.tag_id
        WHEN 'period' THEN date_trunc(@bucket::text, f.day::timestamp)::date::text
        WHEN 'cohort' THEN concat(f.key, ' ', to_char(f.day, 'YYYY-MM')) WHEN 'all' THEN '' ELSE f.key END,
        '')::text AS key,
    coalesce(max(f.label), '')::text AS label, sum(f.clicks)::bigint AS clicks, sum(f.leads)::bigint AS leads,
    coalesce(sum(f.customers) FILTER (WHERE @by::text <> 'cohort' OR f.currency = @currency::text), 0)::bigint
        AS customers,
    coalesce(sum(f.sales) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS sales,
    coalesce(sum(f.refunded) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS refunded,
    coalesce(sum(f.revenue_minor) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS revenue_minor,
    coalesce(sum(f.commissions_minor) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS commissions_minor,
    coalesce(sum(f.paid_minor) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS paid_minor
FROM facts f
LEFT JOIN partners p ON @by::text = 'group' AND p.id = f.partner_id AND p.org_id = @org_id
LEFT JOIN partner_tags t ON @by::text = 'tag' AND t.partner_id = f.partner_id AND t.org_id = @org_id
WHERE f.currency IN (@program_currency::text, @currency::text) AND (NOT @attributed::boolean OR f.partner_id <> '')
  AND (sqlc.narg('group_id')::text IS NULL OR f.partner_id IN (SELECT p.id FROM partners p
      WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.group_id = sqlc.narg('group_id')::text))
  AND (sqlc.narg('tag_id')::text IS NULL OR f.partner_id IN (SELECT g.partner_id FROM partner_tags g
      WHERE g.program_id = @program_id AND g.org_id = @org_id AND g.tag_id = sqlc.narg('tag_id')::text))
GROUP BY 1, 2, 3
HAVING (sum(f.clicks) + sum(f.leads) + sum(f.customers) > 0 OR bool_or(f.currency = @currency::text))
    -- what is left of sums of all may be nothing
    AND (NOT @less_direct::boolean OR (sum(f.clicks), sum(f.leads), sum(f.customers), sum(f.sales), sum(f.refunded),
        sum(f.revenue_minor), sum(f.commissions_minor), sum(f.paid_minor)) <> (0, 0, 0, 0, 0, 0, 0, 0));

-- name: ReportSize :one
-- ReportSize counts the rows of a window of the program's days, up to a limit.
SELECT count(*) FROM (SELECT FROM report_facts f JOIN programs g ON g.id = f.program_id AND g.org_id = @org_id
    WHERE f.program_id = @program_id AND f.at >= zone_midnight(@from_day::date, @time_zone::text)
        AND f.at < zone_midnight(sqlc.arg(to_day)::date + 1, @time_zone::text) LIMIT @lim) s;

-- name: ReportLabels :many
-- ReportLabels names partners, links, groups and tags.
SELECT p.id, coalesce(p.display_name, nullif(concat_ws(' ', p.first_name, p.last_name), ''), p.company_name,
    p.handle)::text AS label
FROM partners p WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id
UNION ALL
SELECT l.id, coalesce(l.label, l.value) FROM links l JOIN partners o ON o.id = l.partner_id
    WHERE l.id = ANY (@ids::text[]) AND l.org_id = @org_id AND o.org_id = @org_id
UNION ALL
SELECT g.id, g.name FROM groups g WHERE g.id = ANY (@ids::text[]) AND g.org_id = @org_id
UNION ALL
SELECT t.id, t.name FROM tags t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: ReportSetWorkMem :exec
-- ReportSetWorkMem lets the report in the same round trip aggregate in memory.
SELECT set_config('work_mem', '32MB', true);

-- name: ReportMark :exec
-- ReportMark marks the day of a moment as changed, since it may have been summed. Days after
-- settled are not summed yet.
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT g.org_id, g.id, (sqlc.arg(at)::timestamptz AT TIME ZONE 'UTC')::date AS day,
    @at::timestamptz AS first_at, @at::timestamptz AS last_at
FROM programs g WHERE g.id = @program_id AND g.org_id = @org_id
    AND @at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at);

-- name: ReportMarkSale :exec
-- ReportMarkSale marks the moment of a sale.
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT g.org_id, g.id, (s.occurred_at AT TIME ZONE 'UTC')::date, s.occurred_at, s.occurred_at
FROM sales s JOIN programs g ON g.id = @program_id AND g.org_id = @org_id
WHERE s.id = @sale_id AND s.org_id = @org_id
    AND s.occurred_at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at);

-- name: ReportMarkLaterSales :exec
-- ReportMarkLaterSales marks the later sales of a customer in the month of a moment. A sale at that moment makes them no
-- longer the first of the month, by which cohorts count customers.
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT g.org_id, g.id, (s.occurred_at AT TIME ZONE 'UTC')::date, min(s.occurred_at), max(s.occurred_at)
FROM programs g JOIN sales s ON s.customer_id = @customer_id AND s.org_id = g.org_id
WHERE g.id = @program_id AND g.org_id = @org_id AND s.occurred_at > @at::timestamptz
    AND s.occurred_at < zone_midnight((date_trunc('month', zone_day(@at::timestamptz, g.time_zone)::timestamp)
        + interval '1 month')::date, g.time_zone)
    AND s.occurred_at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at)
GROUP BY 1, 2, 3;

-- name: ReportMarkPayout :exec
-- ReportMarkPayout marks the moment at which a payout was paid.
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT g.org_id, g.id, (y.paid_at AT TIME ZONE 'UTC')::date, y.paid_at, y.paid_at
FROM payouts y JOIN programs g ON g.id = y.program_id AND g.org_id = y.org_id
WHERE y.id = @payout_id AND y.org_id = @org_id AND y.status = 'paid'
    AND y.paid_at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at);

-- name: ReportMarkBeforeCreation :exec
-- ReportMarkBeforeCreation marks the summed days before the creation of a program, which the job would not
-- find in another zone.
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT s.org_id, s.program_id, (s.from_at AT TIME ZONE 'UTC')::date, s.from_at, s.to_at - interval '1 microsecond'
FROM report_spans s JOIN programs g ON g.id = s.program_id
WHERE s.program_id = @program_id AND s.org_id = @org_id AND s.span = 'day' AND s.from_at < g.created_at;

-- name: ReportMarkCommissions :exec
-- ReportMarkCommissions marks the days of commissions.
WITH moments AS (
    SELECT CASE WHEN k.sale_id IS NULL OR k.kind = 'clawback' THEN k.created_at ELSE s.occurred_at END AS at
    FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id
    UNION SELECT y.paid_at FROM commissions k JOIN payouts y ON y.id = k.payout_id AND y.status = 'paid'
        WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id AND y.org_id = @org_id
), days AS (
    SELECT (x.at AT TIME ZONE 'UTC')::date AS day, min(x.at) AS first_at, max(x.at) AS last_at
    FROM moments x JOIN programs g ON g.id = @program_id AND g.org_id = @org_id
    WHERE x.at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at) GROUP BY 1
)
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT @org_id, @program_id, d.day, d.first_at, d.last_at FROM days d;

-- name: ReportMarkCustomer :exec
-- ReportMarkCustomer marks every day with rows of the customer's partner, link or origin.
-- Paid commissions of customers that were merged into it keep the id of theirs.
WITH ids AS (
    SELECT @customer_id::text AS id
    UNION ALL SELECT m.id FROM customer_merges m WHERE m.customer_id = @customer_id AND m.org_id = @org_id
), moments AS (
    SELECT c.lead_at AS at FROM customers c WHERE c.id = @customer_id AND c.org_id = @org_id
    UNION SELECT c.converted_at FROM customers c WHERE c.id = @customer_id AND c.org_id = @org_id
        AND c.converted_at IS NOT NULL
    UNION SELECT s.occurred_at FROM sales s WHERE s.customer_id = @customer_id AND s.org_id = @org_id
    UNION SELECT k.created_at FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.customer_id IN (SELECT i.id FROM ids i) AND (k.sale_id IS NULL OR k.kind = 'clawback')
    UNION SELECT s.occurred_at FROM commissions k JOIN sales s ON s.id = k.sale_id
        WHERE k.program_id = @program_id AND k.org_id = @org_id AND s.org_id = @org_id AND k.customer_id IN (SELECT i.id FROM ids i)
    UNION SELECT y.paid_at FROM commissions k JOIN payouts y ON y.id = k.payout_id AND y.status = 'paid'
        WHERE k.program_id = @program_id AND k.org_id = @org_id AND y.org_id = @org_id AND k.customer_id IN (SELECT i.id FROM ids i)
), days AS (
    SELECT (x.at AT TIME ZONE 'UTC')::date AS day, min(x.at) AS first_at, max(x.at) AS last_at
    FROM moments x JOIN programs g ON g.id = @program_id AND g.org_id = @org_id
    WHERE x.at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at) GROUP BY 1
)
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT @org_id, @program_id, d.day, d.first_at, d.last_at FROM days d;

-- name: ReportMarkPartner :exec
-- ReportMarkPartner marks every day with rows of a deleted partner or its links.
WITH moments AS (
    SELECT k.created_at AS at FROM clicks_counted k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.partner_id = @partner_id
    UNION SELECT c.lead_at FROM customers c WHERE c.program_id = @program_id AND c.org_id = @org_id
        AND c.partner_id = @partner_id
    UNION SELECT c.converted_at FROM customers c WHERE c.program_id = @program_id AND c.org_id = @org_id
        AND c.partner_id = @partner_id AND c.converted_at IS NOT NULL
    UNION SELECT s.occurred_at FROM sales s WHERE s.program_id = @program_id AND s.org_id = @org_id
        AND s.partner_id = @partner_id
    UNION SELECT k.created_at FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.partner_id = @partner_id
    UNION SELECT s.occurred_at FROM commissions k JOIN sales s ON s.id = k.sale_id
        WHERE k.program_id = @program_id AND k.org_id = @org_id AND s.org_id = @org_id AND k.partner_id = @partner_id
    UNION SELECT coalesce(s.occurred_at, k.created_at) FROM commissions k JOIN customers c ON c.id = k.customer_id
        LEFT JOIN sales s ON s.id = k.sale_id AND s.org_id = @org_id AND k.kind <> 'clawback'
        WHERE k.program_id = @program_id AND k.org_id = @org_id AND c.org_id = @org_id AND c.partner_id = @partner_id
            AND k.partner_id <> @partner_id
    UNION SELECT s.occurred_at FROM customers c JOIN sales s ON s.customer_id = c.id AND s.org_id = @org_id
        WHERE c.program_id = @program_id AND c.org_id = @org_id AND c.partner_id = @partner_id
    UNION SELECT y.paid_at FROM customers c LEFT JOIN customer_merges m ON m.customer_id = c.id AND m.org_id = @org_id
        JOIN commissions k ON k.customer_id IN (c.id, m.id) AND k.org_id = @org_id
        JOIN payouts y ON y.id = k.payout_id AND y.status = 'paid' AND y.org_id = @org_id
        WHERE k.program_id = @program_id AND c.org_id = @org_id AND c.partner_id = @partner_id
    UNION SELECT y.paid_at FROM payouts y WHERE y.program_id = @program_id AND y.org_id = @org_id
        AND y.partner_id = @partner_id AND y.status = 'paid'
), days AS (
    SELECT (x.at AT TIME ZONE 'UTC')::date AS day, min(x.at) AS first_at, max(x.at) AS last_at
    FROM moments x JOIN programs g ON g.id = @program_id AND g.org_id = @org_id
    WHERE x.at < report_open_since(@settled::timestamptz, g.time_zone, g.zone_changed_at) GROUP BY 1
)
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT @org_id, @program_id, d.day, d.first_at, d.last_at FROM days d;

-- name: ReportDaysToSum :many
-- ReportDaysToSum lists days that ended before a time and are not summed, or marked since: the
-- latest first, one program after the other, so that a program with a new zone does not delay the
-- others. A program whose zone changed after settled waits.
SELECT x.org_id, x.program_id, x.zone, x.day::date AS day FROM (
    SELECT g.org_id, g.id AS program_id, g.time_zone AS zone, (zone_day(@ended::timestamptz, g.time_zone) - i.n) AS day
    FROM programs g CROSS JOIN LATERAL generate_series(1,
        zone_day(@ended::timestamptz, g.time_zone) - zone_day(g.created_at, g.time_zone)) i (n)
    WHERE coalesce(g.zone_changed_at, '-infinity') <= @settled::timestamptz AND NOT EXISTS (SELECT 1 FROM report_spans s
        WHERE s.program_id = g.id AND s.span = 'day' AND s.start = zone_day(@ended::timestamptz, g.time_zone) - i.n
            AND s.zone = g.time_zone)
    UNION
    SELECT m.org_id, m.program_id, g.time_zone, zone_day(m.first_at, g.time_zone) + i.n
    FROM report_marks m JOIN programs g ON g.id = m.program_id CROSS JOIN LATERAL generate_series(0,
        zone_day(least(m.last_at, @ended::timestamptz), g.time_zone) - zone_day(m.first_at, g.time_zone)) i (n)
    WHERE coalesce(g.zone_changed_at, '-infinity') <= @settled::timestamptz
        AND zone_day(m.first_at, g.time_zone) + i.n < zone_day(@ended::timestamptz, g.time_zone)
) x ORDER BY row_number() OVER (PARTITION BY x.program_id ORDER BY x.day DESC), x.program_id LIMIT @lim;

-- name: ReportSpansToSum :many
-- ReportSpansToSum lists unsummed spans whose quarters are summed, the shortest first, which are
-- quarters of others. A span with a day that was summed again today waits until tomorrow, and so do
-- the spans of which it is a quarter.
SELECT q.org_id, q.program_id, q.zone, q.start, q.span::text AS span FROM report_quarters q
WHERE coalesce(q.again_on, '-infinity') < @today::date
  AND NOT EXISTS (SELECT 1 FROM report_spans w WHERE w.program_id = q.program_id AND w.start = q.start
      AND w.span = q.span)
ORDER BY report_days(q.span), q.start DESC, q.program_id LIMIT @lim;

-- name: ReportLock :one
-- ReportLock serializes replicas that sum the same program.
SELECT pg_try_advisory_xact_lock(hashtextextended('report/' || @program_id::text, 0));

-- name: ReportDay :one
-- ReportDay returns the zone of a program, the begin and end of a day in it, and the begin of its month.
SELECT g.time_zone AS zone, zone_midnight(sqlc.arg(day)::date, g.time_zone)::timestamptz AS from_at,
    zone_midnight(sqlc.arg(day)::date + 1, g.time_zone)::timestamptz AS to_at,
    zone_midnight(date_trunc('month', sqlc.arg(day)::date::timestamp)::date, g.time_zone)::timestamptz AS month_at
FROM programs g WHERE g.id = @program_id AND g.org_id = @org_id;

-- name: ReportUnmark :exec
-- ReportUnmark runs in the transaction that writes the sums. It keeps the rest of a mark, which
-- after a change of the zone may span two days.
WITH gone AS (
    DELETE FROM report_marks m WHERE m.program_id = @program_id
        AND m.day BETWEEN (sqlc.arg(from_at)::timestamptz AT TIME ZONE 'UTC')::date - 2
            AND (sqlc.arg(to_at)::timestamptz AT TIME ZONE 'UTC')::date
        AND m.last_at >= @from_at AND m.first_at < @to_at
    RETURNING m.org_id, m.program_id, m.day, m.first_at, m.last_at
)
INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
SELECT g.org_id, g.program_id, g.day, r.first_at, r.last_at
FROM gone g CROSS JOIN LATERAL (VALUES (g.first_at, sqlc.arg(from_at)::timestamptz - interval '1 microsecond'),
    (sqlc.arg(to_at)::timestamptz, g.last_at)) r (first_at, last_at)
WHERE r.first_at <= r.last_at;

-- name: ReportDeleteSums :exec
-- ReportDeleteSums names every dimension, so that the primary key finds the rows: otherwise it would
-- scan all sums of the program.
DELETE FROM report_sums WHERE program_id = @program_id AND dimension = ANY (report_dimensions()) AND span = @span
    AND start = @start;

-- name: ReportDeleteDay :one
-- ReportDeleteDay deletes a day, and overlapping days of other zones; a trigger deletes the spans that
-- contain them. It reports whether the day was summed in this zone.
WITH gone AS (
    DELETE FROM report_spans s WHERE s.program_id = @program_id AND s.span = 'day'
        AND s.start BETWEEN sqlc.arg(start)::date - 2 AND sqlc.arg(start)::date + 2
        AND (s.start = sqlc.arg(start)::date OR s.from_at < @to_at AND s.to_at > @from_at)
    RETURNING s.start, s.zone
)
SELECT EXISTS (SELECT 1 FROM gone g WHERE g.start = sqlc.arg(start)::date AND g.zone = @time_zone::text);

-- name: ReportSpan :exec
-- ReportSpan records that a day is summed, or summed again.
INSERT INTO report_spans (org_id, program_id, span, start, zone, again_on)
    VALUES (@org_id, @program_id, 'day', @start, @time_zone, CASE WHEN @again::boolean THEN @today::date END)
    ON CONFLICT DO NOTHING;

-- name: ReportAddSpan :execrows
-- ReportAddSpan records that a span is summed, if its quarters still are.
INSERT INTO report_spans (org_id, program_id, span, start, zone)
SELECT q.org_id, q.program_id, q.span, q.start, q.zone FROM report_quarters q
WHERE q.program_id = @program_id AND q.org_id = @org_id AND q.span = @span AND q.start = @start
ON CONFLICT DO NOTHING;

-- name: ReportSumDay :exec
-- ReportSumDay sums the rows of one day, at every level. Products and cohorts have no clicks and no leads, and the
-- customers of a cohort are those without an earlier sale in the month. Partners have sums by source, but not by the
-- other parts of the origin, which would multiply the rows; figures without a partner have all.
WITH facts AS MATERIALIZED (
    SELECT coalesce(f.partner_id, '') AS partner_id, coalesce(f.link_id, '') AS link_id,
        coalesce(f.product, '') AS product, coalesce(f.source, '') AS source, coalesce(f.medium, '') AS medium,
        coalesce(f.campaign, '') AS campaign, coalesce(f.referrer, '') AS referrer,
        coalesce(f.country, '') AS country, coalesce(f.device, '') AS device,
        coalesce(f.tracked_by, '') AS tracked_by, CASE WHEN f.converted_at IS NULL THEN ''
            ELSE to_char(zone_day(f.converted_at, g.time_zone), 'YYYY-MM') END AS cohort,
        coalesce(f.currency, g.currency) AS currency, f.currency IS NOT NULL AS money,
        max(f.product_name) AS label, sum(f.clicks) AS clicks, sum(f.leads) AS leads, sum(f.customers) AS customers,
        count(*) FILTER (WHERE f.sales > 0 AND NOT EXISTS (SELECT FROM sales e
            WHERE e.customer_id = f.customer_id AND e.org_id = @org_id AND e.currency = f.currency
                AND e.occurred_at >= @month_at::timestamptz AND (e.occurred_at, coalesce(e.partner_id, ''), e.id)
                    < (f.at, coalesce(f.partner_id, ''), f.sale_id))) AS active,
        sum(f.sales) AS sales, sum(f.refunded) AS refunded, sum(f.revenue_minor) AS revenue_minor,
        sum(f.commissions_minor) AS commissions_minor, sum(f.paid_minor) AS paid_minor
    FROM report_facts f JOIN programs g ON g.id = f.program_id WHERE f.program_id = @program_id AND f.at >= @from_at
        AND f.at < @to_at GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
)
INSERT INTO report_sums (org_id, program_id, dimension, span, start, partner_id, key, currency, label, clicks, leads,
    customers, sales, refunded, revenue_minor, commissions_minor, paid_minor)
SELECT @org_id, @program_id, concat(CASE WHEN o.own AND d.dimension NOT IN ('partner', 'link') THEN 'partner_' END,
        d.dimension), 'day', @day, CASE WHEN o.own THEN f.partner_id ELSE '' END, d.key, f.currency,
    max(CASE WHEN d.dimension = 'product' THEN f.label END), sum(CASE WHEN d.visits THEN f.clicks ELSE 0 END),
    sum(CASE WHEN d.visits THEN f.leads ELSE 0 END),
    sum(CASE WHEN d.dimension = 'cohort' THEN f.active ELSE f.customers END), sum(f.sales), sum(f.refunded),
    sum(f.revenue_minor), sum(f.commissions_minor), sum(f.paid_minor)
FROM facts f CROSS JOIN (VALUES (false), (true)) o (own) CROSS JOIN LATERAL (
    VALUES ('total', '', true), ('partner', '', true), ('link', f.link_id, true), ('product', f.product, false),
        ('source', f.source, true), ('medium', f.medium, true), ('campaign', f.campaign, true),
        ('referrer', f.referrer, true), ('country', f.country, true), ('device', f.device, true),
        ('tracked_by', f.tracked_by, true), ('cohort', f.cohort, false)) d (dimension, key, visits)
WHERE CASE WHEN o.own THEN d.dimension IN ('partner', 'link', 'product', 'source', 'cohort')
        OR f.partner_id = '' AND d.dimension <> 'total' ELSE d.dimension NOT IN ('partner', 'link') END
    AND (d.visits OR f.money OR d.dimension = 'product' AND f.customers > 0)
GROUP BY o.own, d.dimension, 6, d.key, f.currency;

-- name: ReportSumSpan :exec
-- ReportSumSpan sums the four quarters of a span.
INSERT INTO report_sums (org_id, program_id, dimension, span, start, partner_id, key, currency, label, clicks, leads,
    customers, sales, refunded, revenue_minor, commissions_minor, paid_minor)
SELECT @org_id, @program_id, s.dimension, w.span, w.start, s.partner_id, s.key, s.currency, max(s.label), sum(s.clicks),
    sum(s.leads), sum(s.customers), sum(s.sales), sum(s.refunded),
    sum(s.revenue_minor), sum(s.commissions_minor), sum(s.paid_minor)
FROM report_spans w JOIN report_spans q ON q.program_id = w.program_id AND q.start >= w.start AND q.upto <= w.upto
    AND 4 * (q.upto - q.start) = w.upto - w.start
JOIN report_sums s ON s.program_id = q.program_id AND s.span = q.span AND s.start = q.start
WHERE w.program_id = @program_id AND w.org_id = @org_id AND w.span = @span AND w.start = @start
  AND s.dimension = ANY (report_dimensions())
GROUP BY s.dimension, w.span, w.start, s.partner_id, s.key, s.currency;
