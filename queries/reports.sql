-- name: ReportRows :many
-- ReportRows sums a window of days by one dimension: the widest spans in it that
-- are summed and untouched since from report_sums, all other days from their rows.
-- One statement, so that all of it is of one moment. level is the dimension of
-- report_sums that is read, by what the rows stand for. What stands for a period
-- takes spans that lie in one.
WITH spans AS MATERIALIZED (
    SELECT w.span, w.start, w.upto FROM (
        SELECT r.span, r.start, r.upto, max(r.upto) OVER (ORDER BY r.start, r.upto DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM report_untouched r
        WHERE r.program_id = @program_id AND r.org_id = @org_id AND r.start >= @from_day::date
          AND r.upto <= sqlc.arg(to_day)::date + 1 AND (@by::text <> 'period'
            OR date_trunc(@bucket::text, r.start::timestamp) = date_trunc(@bucket::text, (r.upto - 1)::timestamp))) w
    WHERE coalesce(w.reached, '-infinity') <= w.start
), raw AS MATERIALIZED (
    SELECT g.first, g.next FROM (
        SELECT coalesce(lag(b.upto) OVER (ORDER BY b.start), @from_day::date) AS first, b.start AS next FROM (
            SELECT s.start, s.upto FROM spans s
            UNION ALL SELECT sqlc.arg(to_day)::date + 1, sqlc.arg(to_day)::date + 1) b) g
    WHERE g.first < g.next
), facts AS (
    SELECT w.start AS day, s.partner_id, s.key, s.currency, s.label, s.clicks, s.leads, s.customers, s.sales,
        s.refunded, s.revenue_minor, s.commissions_minor
    FROM spans w CROSS JOIN LATERAL (
        SELECT x.partner_id, x.key, x.currency, x.label, x.clicks, x.leads, x.customers, x.sales, x.refunded,
            x.revenue_minor, x.commissions_minor FROM report_sums x
            WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.dimension = @level::text AND x.span = w.span
            AND x.start = w.start
          AND (sqlc.narg('partner_id')::text IS NULL OR x.partner_id = sqlc.narg('partner_id')::text) OFFSET 0) s
    UNION ALL
    SELECT (f.at AT TIME ZONE 'UTC')::date, coalesce(f.partner_id, ''), CASE @level::text
        WHEN 'link' THEN coalesce(f.link_id, '') WHEN 'product' THEN coalesce(f.product, '')
        WHEN 'partner_product' THEN coalesce(f.product, '') ELSE '' END,
        coalesce(f.currency, @program_currency::text), f.product_name, f.clicks, f.leads, f.customers, f.sales,
            f.refunded, f.revenue_minor, f.commissions_minor
    FROM raw r CROSS JOIN LATERAL (
        SELECT x.at, x.partner_id, x.link_id, x.product, x.product_name, x.currency, x.clicks, x.leads, x.customers,
            x.sales, x.refunded, x.revenue_minor, x.commissions_minor FROM report_facts x
            WHERE x.program_id = @program_id
          AND x.at >= r.first::timestamp AT TIME ZONE 'UTC'
              AND x.at < r.next::timestamp AT TIME ZONE 'UTC' OFFSET 0) f
    WHERE (sqlc.narg('partner_id')::text IS NULL OR f.partner_id = sqlc.narg('partner_id')::text)
      AND (f.customers > 0 OR f.currency IS NOT NULL OR @level::text NOT IN ('product', 'partner_product'))
)
SELECT (@by::text IN ('partner', 'link', 'group', 'tag') AND f.partner_id = '')::boolean AS direct,
    coalesce(CASE @by::text WHEN 'partner' THEN f.partner_id WHEN 'link' THEN nullif(f.key, '')
        WHEN 'product' THEN nullif(f.key, '') WHEN 'group' THEN p.group_id WHEN 'tag' THEN t.tag_id
        WHEN 'period' THEN date_trunc(@bucket::text, f.day::timestamp)::date::text END, '')::text AS key,
    coalesce(max(f.label), '')::text AS label, sum(f.clicks)::bigint AS clicks, sum(f.leads)::bigint AS leads,
    sum(f.customers)::bigint AS customers,
    coalesce(sum(f.sales) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS sales,
    coalesce(sum(f.refunded) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS refunded,
    coalesce(sum(f.revenue_minor) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS revenue_minor,
    coalesce(sum(f.commissions_minor) FILTER (WHERE f.currency = @currency::text), 0)::bigint AS commissions_minor
FROM facts f
LEFT JOIN partners p ON @by::text = 'group' AND p.id = f.partner_id AND p.org_id = @org_id
LEFT JOIN partner_tags t ON @by::text = 'tag' AND t.partner_id = f.partner_id AND t.org_id = @org_id
WHERE f.currency IN (@program_currency::text, @currency::text) AND (NOT @attributed::boolean OR f.partner_id <> '')
  AND (sqlc.narg('group_id')::text IS NULL OR f.partner_id IN (SELECT p.id FROM partners p
      WHERE p.program_id = @program_id AND p.org_id = @org_id AND p.group_id = sqlc.narg('group_id')::text))
  AND (sqlc.narg('tag_id')::text IS NULL OR f.partner_id IN (SELECT g.partner_id FROM partner_tags g
      WHERE g.program_id = @program_id AND g.org_id = @org_id AND g.tag_id = sqlc.narg('tag_id')::text))
GROUP BY 1, 2
HAVING sum(f.clicks) + sum(f.leads) + sum(f.customers) > 0 OR bool_or(f.currency = @currency::text);

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

-- name: ReportMemory :exec
-- ReportMemory lets the report after it in the trip sum in memory.
SELECT set_config('work_mem', '32MB', true);

-- name: ReportMark :exec
-- ReportMark notes that days which may have been summed are no longer right.
INSERT INTO report_marks (org_id, program_id, day)
SELECT @org_id, @program_id, unnest(@days::date[]);

-- name: ReportMarkSale :exec
-- ReportMarkSale marks the day of a sale.
INSERT INTO report_marks (org_id, program_id, day)
SELECT @org_id, @program_id, (s.occurred_at AT TIME ZONE 'UTC')::date FROM sales s
    WHERE s.id = @sale_id AND s.org_id = @org_id AND s.occurred_at < @open_since;

-- name: ReportMarkCommissions :exec
-- ReportMarkCommissions marks the days on which commissions count.
WITH moments AS (
    SELECT CASE WHEN k.sale_id IS NULL OR k.kind = 'clawback' THEN k.created_at ELSE s.occurred_at END AS at
    FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id
), days AS (
    SELECT DISTINCT (x.at AT TIME ZONE 'UTC')::date AS day FROM moments x WHERE x.at < @open_since::timestamptz
)
INSERT INTO report_marks (org_id, program_id, day)
SELECT @org_id, @program_id, d.day FROM days d;

-- name: ReportMarkCustomer :exec
-- ReportMarkCustomer marks every day on which something counts under the
-- customer's partner or link.
WITH moments AS (
    SELECT c.lead_at AS at FROM customers c WHERE c.id = @customer_id AND c.org_id = @org_id
    UNION SELECT c.converted_at FROM customers c WHERE c.id = @customer_id AND c.org_id = @org_id
        AND c.converted_at IS NOT NULL
    UNION SELECT s.occurred_at FROM sales s WHERE s.customer_id = @customer_id AND s.org_id = @org_id
    UNION SELECT k.created_at FROM commissions k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.customer_id = @customer_id AND (k.sale_id IS NULL OR k.kind = 'clawback')
    UNION SELECT s.occurred_at FROM commissions k JOIN sales s ON s.id = k.sale_id
        WHERE k.program_id = @program_id AND k.org_id = @org_id AND s.org_id = @org_id AND k.customer_id = @customer_id
), days AS (
    SELECT DISTINCT (x.at AT TIME ZONE 'UTC')::date AS day FROM moments x WHERE x.at < @open_since::timestamptz
)
INSERT INTO report_marks (org_id, program_id, day)
SELECT @org_id, @program_id, d.day FROM days d;

-- name: ReportMarkPartner :exec
-- ReportMarkPartner marks every day on which something counts under a partner
-- that goes, or under its links.
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
), days AS (
    SELECT DISTINCT (x.at AT TIME ZONE 'UTC')::date AS day FROM moments x WHERE x.at < @open_since::timestamptz
)
INSERT INTO report_marks (org_id, program_id, day)
SELECT @org_id, @program_id, d.day FROM days d;

-- name: ReportDaysToSum :many
-- ReportDaysToSum lists days that are over and not summed, or touched since, the
-- latest first.
SELECT x.org_id, x.program_id, x.day FROM (
    SELECT g.org_id, g.id AS program_id, d::date AS day
    FROM programs g CROSS JOIN LATERAL generate_series((g.created_at AT TIME ZONE 'UTC')::date, @last_day::date,
        '1 day') d
    WHERE NOT EXISTS (SELECT 1 FROM report_spans s WHERE s.program_id = g.id AND s.span = 'day' AND s.start = d::date)
    UNION
    SELECT m.org_id, m.program_id, m.day FROM report_marks m WHERE m.day <= @last_day::date
) x ORDER BY x.day DESC, x.program_id LIMIT @lim;

-- name: ReportSpansToSum :many
-- ReportSpansToSum lists spans whose halves are summed and which are not, the
-- shortest first: they are halves of others. What holds a day that was summed again
-- today waits until tomorrow.
SELECT a.org_id, a.program_id, a.start, (2 * (a.upto - a.start))::text AS span FROM report_spans a
JOIN report_spans b ON b.program_id = a.program_id AND b.span = a.span AND b.start = a.upto
WHERE a.span <> '256' AND (a.start - date '0001-01-01') % (2 * (a.upto - a.start)) = 0
  AND NOT EXISTS (SELECT 1 FROM report_spans w WHERE w.program_id = a.program_id AND w.start = a.start
      AND w.span = (2 * (a.upto - a.start))::text)
  AND NOT EXISTS (SELECT 1 FROM report_spans d WHERE d.program_id = a.program_id AND d.again_on >= @today::date
      AND d.start >= a.start AND d.start < b.upto)
ORDER BY a.upto - a.start, a.start DESC, a.program_id LIMIT @lim;

-- name: ReportLock :one
-- ReportLock makes replicas that sum the same program take turns.
SELECT pg_try_advisory_xact_lock(hashtextextended('report/' || @program_id::text, 0));

-- name: ReportUnmark :exec
-- ReportUnmark goes with the sums that it makes right, in one transaction.
DELETE FROM report_marks WHERE program_id = @program_id AND day = @day;

-- name: ReportUnsum :exec
-- ReportUnsum names every dimension, which lets the key find the rows: without
-- them it would walk all sums of the program, day after day.
DELETE FROM report_sums WHERE program_id = @program_id AND dimension IN ('total', 'partner', 'link', 'product',
    'partner_product') AND span = @span AND start = @start;

-- name: ReportUnspan :execrows
-- ReportUnspan takes back what holds the day too, by a trigger.
DELETE FROM report_spans WHERE program_id = @program_id AND span = @span AND start = @start;

-- name: ReportSpan :exec
-- ReportSpan notes that a day is summed, and that it is so again.
INSERT INTO report_spans (org_id, program_id, span, start, again_on)
    VALUES (@org_id, @program_id, 'day', @start, CASE WHEN @again::boolean THEN @today::date END)
    ON CONFLICT DO NOTHING;

-- name: ReportJoin :execrows
-- ReportJoin notes that a span is summed whose halves still are.
INSERT INTO report_spans (org_id, program_id, span, start)
SELECT a.org_id, a.program_id, @span::text, a.start FROM report_spans a
JOIN report_spans b ON b.program_id = a.program_id AND b.span = a.span AND b.start = a.upto
WHERE a.program_id = @program_id AND a.org_id = @org_id AND a.start = @start
  AND 2 * (a.upto - a.start) = report_days(@span::text)
ON CONFLICT DO NOTHING;

-- name: ReportSumDay :exec
-- ReportSumDay sums the rows of one day, at every level.
WITH facts AS MATERIALIZED (
    SELECT coalesce(f.partner_id, '') AS partner_id, coalesce(f.link_id, '') AS link_id,
        coalesce(f.product, '') AS product, coalesce(f.currency, g.currency) AS currency,
        bool_or(f.currency IS NOT NULL) AS money,
        max(f.product_name) AS label, sum(f.clicks) AS clicks, sum(f.leads) AS leads, sum(f.customers) AS customers,
            sum(f.sales) AS sales,
        sum(f.refunded) AS refunded, sum(f.revenue_minor) AS revenue_minor,
            sum(f.commissions_minor) AS commissions_minor
    FROM report_facts f JOIN programs g ON g.id = f.program_id WHERE f.program_id = @program_id AND f.at >= @from_at
        AND f.at < @to_at GROUP BY 1, 2, 3, 4
)
INSERT INTO report_sums (org_id, program_id, dimension, span, start, partner_id, key, currency, label, clicks, leads,
    customers, sales, refunded, revenue_minor, commissions_minor)
SELECT @org_id, @program_id, x.dimension, 'day', @day, x.partner_id, x.key, x.currency, max(x.label), sum(x.clicks),
    sum(x.leads), sum(x.customers), sum(x.sales), sum(x.refunded),
    sum(x.revenue_minor), sum(x.commissions_minor)
FROM (
    SELECT 'total' AS dimension, '' AS partner_id, '' AS key, f.currency, NULL AS label, f.clicks, f.leads, f.customers,
        f.sales, f.refunded, f.revenue_minor, f.commissions_minor FROM facts f
    UNION ALL SELECT 'partner', f.partner_id, '', f.currency, NULL, f.clicks, f.leads, f.customers, f.sales, f.refunded,
        f.revenue_minor, f.commissions_minor FROM facts f
    UNION ALL SELECT 'link', f.partner_id, f.link_id, f.currency, NULL, f.clicks, f.leads, f.customers, f.sales,
        f.refunded, f.revenue_minor, f.commissions_minor FROM facts f
    UNION ALL SELECT 'product', '', f.product, f.currency, f.label, 0, 0, f.customers, f.sales, f.refunded,
        f.revenue_minor, f.commissions_minor FROM facts f WHERE f.customers > 0 OR f.money
    UNION ALL SELECT 'partner_product', f.partner_id, f.product, f.currency, f.label, 0, 0, f.customers, f.sales,
        f.refunded, f.revenue_minor, f.commissions_minor FROM facts f WHERE f.customers > 0 OR f.money
) x GROUP BY x.dimension, x.partner_id, x.key, x.currency;

-- name: ReportSumSpan :exec
-- ReportSumSpan sums the two halves of a span.
INSERT INTO report_sums (org_id, program_id, dimension, span, start, partner_id, key, currency, label, clicks, leads,
    customers, sales, refunded, revenue_minor, commissions_minor)
SELECT @org_id, @program_id, s.dimension, w.span, w.start, s.partner_id, s.key, s.currency, max(s.label), sum(s.clicks),
    sum(s.leads), sum(s.customers), sum(s.sales), sum(s.refunded),
    sum(s.revenue_minor), sum(s.commissions_minor)
FROM report_spans w JOIN report_spans h ON h.program_id = w.program_id AND h.start >= w.start AND h.upto <= w.upto
    AND 2 * (h.upto - h.start) = w.upto - w.start
JOIN report_sums s ON s.program_id = h.program_id AND s.span = h.span AND s.start = h.start
WHERE w.program_id = @program_id AND w.org_id = @org_id AND w.span = @span AND w.start = @start
  AND s.dimension IN ('total', 'partner', 'link', 'product', 'partner_product')
GROUP BY s.dimension, w.span, w.start, s.partner_id, s.key, s.currency;
