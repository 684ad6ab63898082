-- The equations of money. Each query returns the rows that violate it, at most a hundred. They run
-- in one snapshot of the whole database and name no organization. Most can be restricted to a list
-- of partners; null means all.

-- name: AuditM01 :many
-- AuditM01: a balance as read is the sum of the commissions by the bucket of their status; a row on
-- one side only is a violation.
WITH k AS (
    SELECT program_id, partner_id, currency,
        sum(amount_minor) FILTER (WHERE status IN ('pending', 'approved')) AS pending,
        sum(amount_minor) FILTER (WHERE status = 'due') AS due,
        sum(amount_minor) FILTER (WHERE status = 'paid') AS paid
    FROM commissions c WHERE (@partners::text[] IS NULL OR c.partner_id = ANY (@partners::text[]))
    GROUP BY 1, 2, 3
), open AS (
    SELECT b.id,
        sum(CASE WHEN l.to_bucket = 'pending' THEN l.amount_minor
            WHEN l.from_bucket = 'pending' THEN -l.amount_minor END) AS pending,
        sum(CASE WHEN l.to_bucket = 'due' THEN l.amount_minor
            WHEN l.from_bucket = 'due' THEN -l.amount_minor END) AS due,
        sum(CASE WHEN l.to_bucket = 'paid' THEN l.amount_minor
            WHEN l.from_bucket = 'paid' THEN -l.amount_minor END) AS paid
    FROM balances b JOIN ledger_entries l ON l.partner_id = b.partner_id AND l.currency = b.currency
        AND l.created_xid >= b.folded_xid
    WHERE (@partners::text[] IS NULL OR b.partner_id = ANY (@partners::text[]))
    GROUP BY b.id
), b AS (
    SELECT t.program_id, t.partner_id, t.currency, t.pending_minor + coalesce(o.pending, 0) AS pending,
        t.due_minor + coalesce(o.due, 0) AS due, t.paid_minor + coalesce(o.paid, 0) AS paid
    FROM balances t LEFT JOIN open o ON o.id = t.id
    WHERE (@partners::text[] IS NULL OR t.partner_id = ANY (@partners::text[]))
)
SELECT (coalesce(k.partner_id, b.partner_id) || ' ' || coalesce(k.currency, b.currency))::text AS what,
    CASE WHEN b.partner_id IS NULL THEN 'commissions without a balance'
        WHEN k.partner_id IS NULL THEN 'a balance without commissions'
        ELSE format('balance %s/%s/%s, commissions %s/%s/%s (pending/due/paid)', b.pending, b.due, b.paid,
            coalesce(k.pending, 0), coalesce(k.due, 0), coalesce(k.paid, 0)) END::text AS message
FROM k FULL JOIN b ON b.program_id = k.program_id AND b.partner_id = k.partner_id AND b.currency = k.currency
WHERE (b.pending, b.due, b.paid) IS DISTINCT FROM (coalesce(k.pending, 0), coalesce(k.due, 0), coalesce(k.paid, 0))
    OR k.partner_id IS NULL
LIMIT 100;

-- name: AuditM02 :many
-- AuditM02: a balance as read is the sum of the ledger. The reader adds unfolded ledger rows to the
-- balance row, so the row must be the sum of the folded ones. Money in the ledger without a balance
-- is a violation.
WITH l AS (
    SELECT e.program_id, e.partner_id, e.currency,
        coalesce(sum(CASE WHEN e.to_bucket = 'pending' THEN e.amount_minor
            WHEN e.from_bucket = 'pending' THEN -e.amount_minor END) FILTER (WHERE b.id IS NULL
            OR e.created_xid < b.folded_xid), 0) AS pending,
        coalesce(sum(CASE WHEN e.to_bucket = 'due' THEN e.amount_minor
            WHEN e.from_bucket = 'due' THEN -e.amount_minor END) FILTER (WHERE b.id IS NULL
            OR e.created_xid < b.folded_xid), 0) AS due,
        coalesce(sum(CASE WHEN e.to_bucket = 'paid' THEN e.amount_minor
            WHEN e.from_bucket = 'paid' THEN -e.amount_minor END) FILTER (WHERE b.id IS NULL
            OR e.created_xid < b.folded_xid), 0) AS paid
    FROM ledger_entries e LEFT JOIN balances b ON b.program_id = e.program_id AND b.partner_id = e.partner_id
        AND b.currency = e.currency
    WHERE (@partners::text[] IS NULL OR e.partner_id = ANY (@partners::text[]))
    GROUP BY 1, 2, 3
), b AS (
    SELECT t.program_id, t.partner_id, t.currency, t.pending_minor, t.due_minor, t.paid_minor FROM balances t
    WHERE (@partners::text[] IS NULL OR t.partner_id = ANY (@partners::text[]))
)
SELECT (coalesce(l.partner_id, b.partner_id) || ' ' || coalesce(l.currency, b.currency))::text AS what,
    format('balance %s/%s/%s, ledger %s/%s/%s (pending/due/paid)', coalesce(b.pending_minor, 0),
        coalesce(b.due_minor, 0), coalesce(b.paid_minor, 0),
        coalesce(l.pending, 0), coalesce(l.due, 0), coalesce(l.paid, 0))::text AS message
FROM l FULL JOIN b ON b.program_id = l.program_id AND b.partner_id = l.partner_id AND b.currency = l.currency
WHERE (coalesce(b.pending_minor, 0), coalesce(b.due_minor, 0), coalesce(b.paid_minor, 0))
    IS DISTINCT FROM (coalesce(l.pending, 0), coalesce(l.due, 0), coalesce(l.paid, 0))
LIMIT 100;

-- name: AuditM03 :many
-- AuditM03: a commission's money comes from source once, and once more for each correction in the
-- audit log that raised it, under the commission's own owner and currency. Each row of the ledger
-- sums to zero by construction, so the query only checks that the rows of one commission belong
-- together.
SELECT l.commission_id::text AS what,
    CASE WHEN l.earned <> 1 THEN format('earned %s times, raised %s times', l.earned, c.raised)
        WHEN l.gone_back THEN 'money went back to source'
        ELSE 'entries of several owners or currencies' END::text AS message
FROM (
    SELECT e.commission_id, count(*) FILTER (WHERE e.from_bucket = 'source') AS earned,
        bool_or(e.to_bucket = 'source') AS gone_back,
        min(e.org_id) <> max(e.org_id) OR min(e.program_id) <> max(e.program_id)
            OR min(e.partner_id) <> max(e.partner_id) OR min(e.currency) <> max(e.currency)
            OR bool_or((e.org_id, e.program_id, e.partner_id, e.currency)
                <> (k.org_id, k.program_id, k.partner_id, k.currency)) AS mixed
    FROM ledger_entries e LEFT JOIN commissions k ON k.id = e.commission_id
    WHERE (@partners::text[] IS NULL OR e.partner_id = ANY (@partners::text[]))
    GROUP BY e.commission_id, k.id
) l LEFT JOIN LATERAL (SELECT count(*) AS raised FROM audit_facts a
    WHERE l.earned <> 1 AND a.target_id = l.commission_id
        AND a.action IN ('commission.corrected', 'commission.redecided')
        AND a.after_minor > a.before_minor) c ON true
WHERE l.earned <> 1 + c.raised OR l.gone_back OR l.mixed
LIMIT 100;

-- name: AuditM04 :many
-- AuditM04: no bucket has the opposite sign of the earned amount, and all money of a deleted
-- commission is in removed.
SELECT m.commission_id::text AS what, (CASE WHEN k.id IS NULL THEN format('is gone but %s holds %s', m.bucket, m.amount)
    ELSE format('%s holds %s of %s', m.bucket, m.amount, m.earned) END)::text AS message
FROM (
    SELECT n.commission_id, n.bucket, n.amount,
        coalesce(-sum(n.amount) FILTER (WHERE n.bucket = 'source') OVER (PARTITION BY n.commission_id), 0) AS earned
    FROM (
        SELECT y.commission_id, y.bucket, sum(y.amount) AS amount FROM (
            SELECT l.commission_id, l.to_bucket AS bucket, l.amount_minor AS amount FROM ledger_entries l
                WHERE (@partners::text[] IS NULL OR l.partner_id = ANY (@partners::text[]))
            UNION ALL SELECT l.commission_id, l.from_bucket AS bucket, -l.amount_minor AS amount FROM ledger_entries l
                WHERE (@partners::text[] IS NULL OR l.partner_id = ANY (@partners::text[]))
        ) y GROUP BY 1, 2
    ) n WHERE n.amount <> 0
) m LEFT JOIN commissions k ON k.id = m.commission_id
WHERE m.bucket <> 'source' AND (k.id IS NULL AND m.bucket <> 'removed' OR k.id IS NOT NULL AND m.bucket = 'removed'
    OR sign(m.amount) <> sign(m.earned))
LIMIT 100;

-- name: AuditM05 :many
-- AuditM05: of pending, due and paid, only the bucket of a commission's status has money, which is
-- its amount; the rest of the earned amount is in sink (a partial refund moves a part there,
-- rejecting and voiding all of it).
WITH l AS (
    SELECT commission_id,
        coalesce(sum(CASE WHEN to_bucket = 'pending' THEN amount_minor
            WHEN from_bucket = 'pending' THEN -amount_minor END), 0) AS pending,
        coalesce(sum(CASE WHEN to_bucket = 'due' THEN amount_minor WHEN from_bucket = 'due' THEN -amount_minor END),
            0) AS due,
        coalesce(sum(CASE WHEN to_bucket = 'paid' THEN amount_minor WHEN from_bucket = 'paid' THEN -amount_minor END),
            0) AS paid,
        coalesce(sum(CASE WHEN to_bucket = 'sink' THEN amount_minor WHEN from_bucket = 'sink' THEN -amount_minor END),
            0) AS sink
    FROM ledger_entries e WHERE (@partners::text[] IS NULL OR e.partner_id = ANY (@partners::text[]))
    GROUP BY commission_id
)
SELECT k.id::text AS what, format('%s %s, ledger %s/%s/%s/%s (pending/due/paid/sink)', k.status, k.amount_minor,
    coalesce(l.pending, 0), coalesce(l.due, 0), coalesce(l.paid, 0), coalesce(l.sink, 0))::text AS message
FROM commissions k LEFT JOIN l ON l.commission_id = k.id
WHERE (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
    AND ((coalesce(l.pending, 0), coalesce(l.due, 0), coalesce(l.paid, 0)) <> (
        CASE WHEN k.status IN ('pending', 'approved') THEN k.amount_minor ELSE 0 END,
        CASE WHEN k.status = 'due' THEN k.amount_minor ELSE 0 END,
        CASE WHEN k.status = 'paid' THEN k.amount_minor ELSE 0 END)
    OR k.status IN ('rejected', 'voided') AND abs(coalesce(l.sink, 0)) < abs(k.amount_minor))
LIMIT 100;

-- name: AuditM06 :many
-- AuditM06: one charge is one sale.
SELECT (s.program_id || ' ' || s.external_charge_id)::text AS what, format('%s sales of one charge',
    count(*))::text AS message
FROM sales s GROUP BY s.program_id, s.external_charge_id HAVING count(*) > 1
LIMIT 100;

-- name: AuditM07 :many
-- AuditM07: a sale, or a sign-up, pays one commission.
SELECT coalesce(k.sale_id, k.customer_id, '')::text AS what, format('%s commissions of kind referral',
    count(*))::text AS message
FROM commissions k WHERE k.kind = 'referral' AND (k.sale_id IS NOT NULL OR k.customer_id IS NOT NULL)
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
GROUP BY k.sale_id, CASE WHEN k.sale_id IS NULL THEN k.customer_id END, coalesce(k.sale_id, k.customer_id, '')
HAVING count(*) > 1
LIMIT 100;

-- name: AuditM08 :many
-- AuditM08: the amount follows from the row's own rate and revenue, rounded half up. The rest of a
-- commission after a partial refund is a rounded share of rounded values, so it may differ by the
-- sum of the rounding errors. The commission's rate is the effective one, including a link's
-- override. A commission that was corrected by hand has only a rate, and an imported one has none.
WITH k AS (
    SELECT c.id, c.amount_minor, c.revenue_minor, c.rate_type, c.rate_value, c.currency, g.currency AS program_currency,
        floor((c.revenue_minor::numeric * c.rate_value + 5000) / 10000) AS percent,
        coalesce(e.earned, c.amount_minor) AS earned
    FROM commissions c JOIN programs g ON g.id = c.program_id
    LEFT JOIN (SELECT l.commission_id, sum(l.amount_minor) AS earned FROM ledger_entries l
        WHERE l.from_bucket = 'source'
        AND (@partners::text[] IS NULL OR l.partner_id = ANY (@partners::text[]))
        GROUP BY 1) e ON e.commission_id = c.id
    WHERE c.kind = 'referral' AND (@partners::text[] IS NULL OR c.partner_id = ANY (@partners::text[]))
)
SELECT k.id::text AS what, format('%s of %s at %s %s in %s (program %s)', k.amount_minor,
    coalesce(k.revenue_minor::text, 'nothing'),
    coalesce(k.rate_type, 'no rate'), coalesce(k.rate_value, 0), k.currency, k.program_currency)::text AS message
FROM k
WHERE NOT EXISTS (SELECT 1 FROM import_objects o WHERE o.target = k.id) AND (k.rate_type IS NULL
    OR k.rate_type = 'percent' AND k.percent IS NULL
    OR k.rate_type = 'fixed' AND k.currency <> k.program_currency
    OR (k.rate_type = 'percent' AND abs(k.amount_minor - k.percent)
            > CASE WHEN k.amount_minor < k.earned THEN 2 + k.rate_value / 20000 ELSE 0 END
        OR k.rate_type = 'fixed' AND (k.earned <> k.rate_value OR k.amount_minor > k.rate_value))
        AND NOT EXISTS (SELECT 1 FROM audit_facts a
            WHERE a.target_id = k.id AND a.action IN ('commission.corrected', 'commission.redecided')))
LIMIT 100;

-- name: AuditM09 :many
-- AuditM09: a commission and its sale belong to one program; a flow's commission has the sale's
-- currency.
SELECT k.id::text AS what, format('%s of %s, its sale %s of %s', k.currency, k.program_id, s.currency,
    s.program_id)::text AS message
FROM commissions k JOIN sales s ON s.id = k.sale_id
WHERE (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
    AND (k.program_id <> s.program_id OR k.kind = 'referral' AND k.currency <> s.currency)
LIMIT 100;

-- name: AuditM20 :many
-- AuditM20: a customer with sales has exactly one first sale.
SELECT s.customer_id::text AS what, format('%s first sales', count(*) FILTER (WHERE s.is_first_sale))::text AS message
FROM sales s GROUP BY s.customer_id HAVING count(*) FILTER (WHERE s.is_first_sale) <> 1
LIMIT 100;

-- name: AuditExternalIDs :many
-- AuditExternalIDs: an external id belongs to a customer of its program, and a customer's first one
-- is among its ids.
SELECT e.external_customer_id::text AS what, format('of %s, its customer %s of %s', e.program_id, e.customer_id,
    coalesce(c.program_id, 'no program'))::text AS message
FROM customer_external_ids e LEFT JOIN customers c ON c.id = e.customer_id
WHERE (c.program_id, c.org_id) IS DISTINCT FROM (e.program_id, e.org_id)
UNION ALL
SELECT c.id::text, format('%s is not one of its ids', coalesce(c.external_customer_id, 'no id'))::text
FROM customers c LEFT JOIN customer_external_ids e ON e.customer_id = c.id
    AND e.external_customer_id = c.external_customer_id COLLATE "C"
WHERE e.customer_id IS NULL AND (c.external_customer_id IS NOT NULL
    OR EXISTS (SELECT FROM customer_external_ids o WHERE o.customer_id = c.id))
LIMIT 100;

-- name: AuditMerges :many
-- AuditMerges: a merged customer is deleted, its id refers to a customer of its program, and it has
-- no sale and no unpaid commission of a sale.
SELECT m.id::text AS what, format('merged into %s of %s: %s', m.customer_id, coalesce(c.program_id, 'no program'),
    CASE WHEN c.id IS NULL OR (c.program_id, c.org_id) <> (m.program_id, m.org_id)
        THEN 'not a customer of ' || m.program_id
        WHEN g.id IS NOT NULL THEN 'it is still there'
        ELSE 'it still has sales or unpaid commissions of sales' END)::text AS message
FROM customer_merges m LEFT JOIN customers c ON c.id = m.customer_id LEFT JOIN customers g ON g.id = m.id
WHERE c.id IS NULL OR (c.program_id, c.org_id) <> (m.program_id, m.org_id) OR g.id IS NOT NULL
    OR EXISTS (SELECT FROM sales s WHERE s.customer_id = m.id)
    OR EXISTS (SELECT FROM commissions k WHERE k.customer_id = m.id
        AND k.status IN ('pending', 'approved', 'due') AND k.sale_id IS NOT NULL)
LIMIT 100;

-- name: AuditCredits :many
-- AuditCredits: a commission by rule has the partner and the customer of its sale. A
-- commission paid before a merge keeps the old customer id.
SELECT k.id::text AS what, format('of %s and %s, its sale of %s and %s',
    k.partner_id, coalesce(k.customer_id, 'no customer'),
    coalesce(s.partner_id, 'no partner'), s.customer_id)::text AS message
FROM commissions k JOIN sales s ON s.id = k.sale_id LEFT JOIN customer_merges m ON m.id = k.customer_id
WHERE k.kind = 'referral' AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
    AND (k.partner_id IS DISTINCT FROM s.partner_id
        OR coalesce(m.customer_id, k.customer_id) IS DISTINCT FROM s.customer_id)
LIMIT 100;

-- name: AuditOutcome :many
-- AuditOutcome: a sale has a commission exactly if its outcome is commission_created, unless its
-- partner is deleted.
SELECT s.id::text AS what, CASE WHEN k.id IS NULL THEN 'says commission_created but has none'
    ELSE 'has a commission but says ' || s.activity_outcome END::text AS message
FROM sales s LEFT JOIN commissions k ON k.sale_id = s.id AND k.kind = 'referral'
WHERE (s.activity_outcome = 'commission_created') <> (k.id IS NOT NULL)
    AND (k.id IS NOT NULL OR s.partner_id IS NOT NULL)
    AND (@partners::text[] IS NULL OR s.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditM10 :many
-- AuditM10: a payout's amount is the sum of its commissions, and an ineligible one has none. The
-- query avoids a join, which would become a nested loop with the statistics of empty tables.
SELECT x.id::text AS what, format('%s payout of %s %s holds %s', max(x.status), max(x.amount_minor), max(x.currency),
    coalesce(sum(x.held), 0))::text AS message
FROM (
    SELECT p.id, p.status, p.amount_minor, p.currency, NULL::bigint AS held FROM payouts p
    WHERE @partners::text[] IS NULL OR p.partner_id = ANY (@partners::text[])
    UNION ALL
    SELECT k.payout_id, NULL, NULL, NULL, k.amount_minor FROM commissions k
    WHERE k.payout_id IS NOT NULL AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))) x
GROUP BY x.id
HAVING max(x.status) <> 'not_eligible' AND coalesce(sum(x.held), 0) <> max(x.amount_minor)
    OR max(x.status) = 'not_eligible' AND count(x.held) > 0
LIMIT 100;

-- name: AuditM12 :many
-- AuditM12: the commissions of a payout have its partner, currency and program.
SELECT k.id::text AS what, format('%s %s of %s in %s payout %s of %s', k.program_id, k.currency, k.partner_id,
    p.currency, p.id, p.partner_id)::text AS message
FROM commissions k JOIN payouts p ON p.id = k.payout_id
WHERE (k.partner_id, k.currency, k.program_id) IS DISTINCT FROM (p.partner_id, p.currency, p.program_id)
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditM13 :many
-- AuditM13: a commission is paid exactly when its payout is.
SELECT k.id::text AS what, format('commission %s, payout %s', k.status, coalesce(p.status, 'none'))::text AS message
FROM commissions k LEFT JOIN payouts p ON p.id = k.payout_id
WHERE (k.status = 'paid') IS DISTINCT FROM coalesce(p.status = 'paid', false)
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditM16 :many
-- AuditM16: a refunded sale has no open commission except one in flight, and a paid one is clawed
-- back as a whole (M17), whether a flow or a person made it. Refunds of the first release did not
-- affect manual commissions; the migration marked those.
SELECT k.id::text AS what, format('%s %s of a refunded sale, %s clawed back', k.status, k.amount_minor,
    k.clawed_minor)::text AS message
FROM sales s JOIN commissions k ON k.sale_id = s.id
WHERE s.refunded_at IS NOT NULL AND k.metadata ->> 'commission_id' IS NULL AND k.status IN ('pending', 'approved',
    'due', 'paid') AND k.clawed_minor <> k.amount_minor
    AND k.refunded_before_minor < s.amount_minor + s.refunded_minor
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditM18 :many
-- AuditM18: the clawed back amount of a commission is the sum of the commissions that refer to it,
-- with its partner and currency: clawbacks, and for a deduction the rewards that undo it.
SELECT k.id::text AS what, format('%s clawed back, clawbacks of %s', k.clawed_minor,
    coalesce(c.sum, 0))::text AS message
FROM commissions k LEFT JOIN (
    SELECT b.metadata ->> 'commission_id' AS origin, b.partner_id, b.currency, -sum(b.amount_minor) AS sum
        FROM commissions b
    WHERE b.metadata ->> 'commission_id' IS NOT NULL
        AND (@partners::text[] IS NULL OR b.partner_id = ANY (@partners::text[])) GROUP BY 1, 2, 3
) c ON c.origin = k.id AND c.partner_id = k.partner_id AND c.currency = k.currency
WHERE k.clawed_minor <> coalesce(c.sum, 0) AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditRefunds :many
-- AuditRefunds: the refunds of a sale, less their restorations, sum to its refunded amount.
SELECT s.id::text AS what, format('%s refunded, refunds of %s', g.refunded, coalesce(r.sum, 0))::text AS message
FROM sales s CROSS JOIN LATERAL (SELECT s.refunded_minor + CASE WHEN s.refunded_at IS NOT NULL THEN s.amount_minor
    ELSE 0 END AS refunded) g
LEFT JOIN (SELECT f.sale_id, sum(f.amount_minor - f.restored_minor) AS sum FROM refunds f WHERE f.status = 'applied'
    GROUP BY 1) r ON r.sale_id = s.id
WHERE g.refunded <> coalesce(r.sum, 0)
LIMIT 100;

-- name: AuditM19 :many
-- AuditM19: no partner keeps money of a refunded sale. A rejected clawback counts too: rejecting it
-- waives the debt.
SELECT k.sale_id::text AS what, format('%s %s are left to %s after the refund', sum(k.amount_minor), k.currency,
    k.partner_id)::text AS message
FROM sales s JOIN commissions k ON k.sale_id = s.id
WHERE s.refunded_at IS NOT NULL AND (k.status NOT IN ('voided', 'rejected') OR k.status = 'rejected'
    AND k.metadata ->> 'commission_id' IS NOT NULL)
    AND k.refunded_before_minor < s.amount_minor + s.refunded_minor
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
GROUP BY k.sale_id, k.partner_id, k.currency HAVING sum(k.amount_minor) <> 0
LIMIT 100;

-- name: AuditReportDays :many
-- AuditReportDays: a summed and unmarked day is the sum of its rows, by link.
WITH days AS MATERIALIZED (
    SELECT s.program_id, s.start FROM report_untouched s JOIN programs g ON g.id = s.program_id AND g.time_zone = s.zone
    WHERE s.span = 'day'
), raw AS (
    SELECT f.program_id, zone_day(f.at, g.time_zone) AS start, coalesce(f.partner_id, '') AS partner_id,
        coalesce(f.link_id, '') AS link_id, coalesce(f.currency, g.currency) AS currency,
        ARRAY[sum(f.clicks), sum(f.leads), sum(f.customers), sum(f.sales), sum(f.refunded), sum(f.revenue_minor),
            sum(f.commissions_minor), sum(f.paid_minor)]::text AS figures
    FROM report_facts f JOIN programs g ON g.id = f.program_id GROUP BY 1, 2, 3, 4, 5
), summed AS (
    SELECT s.program_id, s.start, s.partner_id, s.key AS link_id, s.currency, ARRAY[s.clicks, s.leads, s.customers,
        s.sales, s.refunded, s.revenue_minor, s.commissions_minor, s.paid_minor]::text AS figures
    FROM report_sums s WHERE s.dimension = 'link' AND s.span = 'day'
)
SELECT (d.program_id || ' ' || d.start)::text AS what,
    format('partner %s, %s: summed %s, rows %s', coalesce(s.partner_id, r.partner_id), coalesce(s.currency, r.currency),
        s.figures, r.figures)::text AS message
FROM (raw r FULL JOIN summed s ON (r.program_id, r.start, r.partner_id, r.link_id, r.currency) = (s.program_id, s.start,
    s.partner_id, s.link_id, s.currency))
JOIN days d ON d.program_id = coalesce(s.program_id, r.program_id) AND d.start = coalesce(s.start, r.start)
WHERE s.figures IS DISTINCT FROM r.figures
LIMIT 100;

-- name: AuditReportLevels :many
-- AuditReportLevels: a day has the same sums at every level, and a wider span is the sum of its
-- quarters.
WITH levels AS MATERIALIZED (
    SELECT s.program_id, s.span, s.start, s.dimension, sum(s.clicks) AS clicks, sum(s.leads) AS leads,
        sum(s.customers) AS customers, sum(s.sales) AS sales,
        sum(s.refunded) AS refunded, sum(s.revenue_minor) AS revenue, sum(s.commissions_minor) AS commissions,
        sum(s.paid_minor) AS paid
    FROM report_sums s JOIN report_spans w ON (w.program_id, w.span, w.start) = (s.program_id, s.span, s.start)
    GROUP BY 1, 2, 3, 4
), uneven AS (
    SELECT l.program_id, l.span, l.start, l.dimension FROM levels l
        JOIN levels t ON (t.program_id, t.span, t.start, t.dimension) = (l.program_id, l.span, l.start, 'total')
    WHERE (l.dimension NOT LIKE 'partner\_%' OR l.dimension IN ('partner_product', 'partner_source', 'partner_cohort'))
        AND ((l.sales, l.refunded, l.revenue, l.commissions, l.paid) <> (t.sales, t.refunded, t.revenue, t.commissions,
            t.paid)
        OR l.dimension NOT IN ('cohort', 'partner_cohort') AND l.customers <> t.customers
        OR l.dimension NOT IN ('product', 'partner_product', 'cohort', 'partner_cohort')
            AND (l.clicks, l.leads) <> (t.clicks, t.leads))
    UNION ALL
    SELECT y.program_id, y.span, y.start, y.dimension FROM report_spans w JOIN (
        SELECT l.program_id, l.span, l.start, l.dimension, l.clicks, l.leads, l.customers, l.sales, l.refunded,
            l.revenue, l.commissions, l.paid FROM levels l
        UNION ALL
        SELECT l.program_id, (4 * report_days(l.span))::text, l.start - (l.start - date '0001-01-01')
            % (4 * report_days(l.span)), l.dimension, -l.clicks, -l.leads, -l.customers, -l.sales, -l.refunded,
            -l.revenue, -l.commissions, -l.paid FROM levels l
    ) y ON (y.program_id, y.span, y.start) = (w.program_id, w.span, w.start)
    WHERE w.span <> 'day' GROUP BY 1, 2, 3, 4
    HAVING (sum(y.clicks), sum(y.leads), sum(y.customers), sum(y.sales), sum(y.refunded), sum(y.revenue),
        sum(y.commissions), sum(y.paid)) <> (0, 0, 0, 0, 0, 0, 0, 0)
)
SELECT (u.program_id || ' ' || u.start)::text AS what, format('%s sums of %s do not fit', u.span,
    u.dimension)::text AS message FROM uneven u
LIMIT 100;

-- name: AuditM11 :many
-- AuditM11: a payout's amount is positive.
SELECT p.id::text AS what, format('a %s payout of %s %s', p.status, p.amount_minor, p.currency)::text AS message
FROM payouts p WHERE p.amount_minor <= 0 AND (@partners::text[] IS NULL OR p.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditM15 :many
-- AuditM15: a partner has one payout a currency and month.
SELECT min(p.id)::text AS what, format('%s payouts of %s in %s for %s', count(*), p.partner_id, p.currency,
    p.period_month)::text AS message
FROM payouts p WHERE p.import_id IS NULL AND (@partners::text[] IS NULL OR p.partner_id = ANY (@partners::text[]))
GROUP BY p.program_id, p.partner_id, p.currency, p.period_month HAVING count(*) > 1
LIMIT 100;

-- name: AuditRails :many
-- AuditRails: a payout's rail is of its program, a payout that its rail has paid was submitted, and
-- its attention fits its status: money comes back after payment, and all other states end with it.
SELECT p.id::text AS what, (CASE
    WHEN p.rail_id IS NOT NULL AND (r.org_id, r.program_id, r.kind) IS DISTINCT FROM (p.org_id, p.program_id, p.rail)
        THEN format('%s in %s, its rail %s is %s in %s', coalesce(p.rail, 'no rail'), p.program_id, p.rail_id,
            coalesce(r.kind, 'none'), coalesce(r.program_id, 'none'))
    WHEN p.status = 'paid' AND p.marked_at IS NULL AND (p.submissions < 1 OR p.submitted_at IS NULL)
        AND p.rail_id IS NOT NULL THEN format('paid by %s without a submission', p.rail_id)
    ELSE format('%s with the attention %s', p.status, p.attention) END)::text AS message
FROM payouts p LEFT JOIN payout_rails r ON r.id = p.rail_id
WHERE (@partners::text[] IS NULL OR p.partner_id = ANY (@partners::text[]))
    AND (p.rail_id IS NOT NULL AND ((r.org_id, r.program_id, r.kind) IS DISTINCT FROM (p.org_id, p.program_id, p.rail)
            OR p.status = 'paid' AND p.marked_at IS NULL AND (p.submissions < 1 OR p.submitted_at IS NULL))
        OR p.attention IS NOT NULL AND p.status <> CASE WHEN p.attention IN ('returned', 'reversed') THEN 'paid'
            ELSE 'processing' END)
LIMIT 100;

-- name: AuditRailIDs :many
-- AuditRailIDs: a batch of PayPal's pays one payout. Another service may pay several payouts together.
SELECT min(p.id)::text AS what, format('%s payouts have the id %s at %s', count(*), p.external_id,
    p.rail_id)::text AS message
FROM payouts p WHERE p.rail = 'paypal' AND p.rail_id IS NOT NULL AND p.marked_at IS NULL
    AND p.external_id IS NOT NULL
GROUP BY p.rail_id, p.external_id HAVING count(*) > 1
LIMIT 100;

-- name: AuditSends :many
-- AuditSends: a hand-over of payouts to a rail has payouts and an amount.
SELECT s.id::text AS what, format('%s payouts of %s %s', s.payout_count, s.amount_minor, s.currency)::text AS message
FROM payout_sends s WHERE s.payout_count < 1 OR s.amount_minor < s.payout_count
LIMIT 100;

-- name: AuditLeftOut :many
-- AuditLeftOut: a month's automatic run includes all commissions due at its begin: the partner has
-- a payout of that month and currency, eligible or not. A clawback may have reduced the sum to
-- zero, and a payout may have been deleted since. A commission approved in the minute before may
-- have been committed after the run.
SELECT k.id::text AS what, format('matured at %s, in no payout of %s', k.mature_at, b.id)::text AS message
FROM payout_batches b JOIN programs g ON g.id = b.program_id JOIN commissions k ON k.program_id = b.program_id
WHERE b.auto_run_at IS NOT NULL AND k.status = 'due' AND k.payout_id IS NULL AND k.amount_minor > 0
    AND NOT starts_with(k.partner_id, 'sample_')
  AND k.mature_at <= b.period_end
  AND k.mature_at < zone_midnight((b.period_month + interval '1 month')::date, g.time_zone)
  AND greatest(k.created_at, k.approved_at) < b.auto_run_at - interval '1 minute'
  AND NOT EXISTS (SELECT 1 FROM import_objects o WHERE o.target = k.id)
  AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
  AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.program_id = k.program_id AND p.partner_id = k.partner_id
      AND p.currency = k.currency AND p.period_month = b.period_month)
  AND NOT EXISTS (SELECT 1 FROM commissions c WHERE c.program_id = k.program_id AND c.partner_id = k.partner_id
      AND c.currency = k.currency AND c.kind = 'clawback')
  AND NOT EXISTS (SELECT 1 FROM audit_facts a WHERE a.program_id = k.program_id AND a.action = 'payout.deleted'
      AND a.created_at >= b.auto_run_at AND a.partner_id = k.partner_id)
LIMIT 100;

-- name: AuditM21 :many
-- AuditM21: a voided or rejected commission has a time and a reason, and is in no payout.
SELECT k.id::text AS what, format('%s at %s because %s, in payout %s', k.status, coalesce(k.voided_at::text, 'no time'),
    coalesce(k.void_reason, 'nothing'), coalesce(k.payout_id, 'none'))::text AS message
FROM commissions k
WHERE (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
    AND ((k.status IN ('voided', 'rejected')) <> (k.voided_at IS NOT NULL)
    OR (k.status IN ('voided', 'rejected')) <> (k.void_reason IS NOT NULL)
    OR k.status IN ('voided', 'rejected') AND k.payout_id IS NOT NULL)
LIMIT 100;

-- name: AuditM22 :many
-- AuditM22: no commission is due before its holding period has ended.
SELECT k.id::text AS what, format('%s since %s at the latest, its hold runs until %s', k.status, k.updated_at,
    k.mature_at)::text AS message
FROM commissions k WHERE k.status IN ('due', 'paid') AND k.kind <> 'clawback' AND k.mature_at > k.updated_at
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditM25 :many
-- AuditM25: a commission is paid once, and once more for each payment that was undone.
SELECT e.subject_id::text AS what, format('told as paid %s times', count(*))::text AS message
FROM events e WHERE e.type = 'commission.paid' GROUP BY e.subject_id HAVING count(*) > 1
    AND count(*) > 1 + (SELECT count(*) FROM events b WHERE b.subject_id = e.subject_id
        AND b.type = 'commission.updated'
        AND b.body LIKE '%"previous_status":"paid"%')
LIMIT 100;

-- name: AuditM33 :many
-- AuditM33: a commission that a person or an API key has made or rejected has one line in the audit
-- log with that actor. A reward that restores a refunded amount results from an event of the
-- processor.
SELECT k.id::text AS what, format('%s lines of %s', count(a.id), w.action)::text AS message
FROM commissions k CROSS JOIN LATERAL (
    SELECT 'commission.created' AS action WHERE k.kind <> 'referral' AND k.metadata ->> 'commission_id' IS NULL
        AND k.metadata ->> 'restores' IS NULL
    UNION ALL SELECT 'commission.rejected' WHERE k.status = 'rejected') w
LEFT JOIN audit_facts a ON a.target_id = k.id AND a.action = w.action AND a.named
WHERE NOT starts_with(k.id, 'sample_') AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
    AND NOT EXISTS (SELECT 1 FROM import_objects o WHERE o.target = k.id AND o.created)
GROUP BY k.id, w.action HAVING count(a.id) <> 1
LIMIT 100;

-- name: AuditM34 :many
-- AuditM34: amounts are within their bounds, and no commission is zero.
SELECT k.id::text AS what, format('an amount of %s', k.amount_minor)::text AS message FROM commissions k
    WHERE (k.amount_minor = 0 OR abs(k.amount_minor) >= 100000000000000)
    AND (@partners::text[] IS NULL OR k.partner_id = ANY (@partners::text[]))
UNION ALL
SELECT s.id::text, format('an amount of %s', s.amount_minor)::text FROM sales s
    WHERE s.amount_minor NOT BETWEEN 1 AND 999999999999
    AND (@partners::text[] IS NULL OR s.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditCurrencies :many
-- AuditCurrencies lists the currencies in use, for M34.
SELECT s.currency FROM sales s GROUP BY 1 UNION SELECT k.currency FROM commissions k GROUP BY 1 UNION SELECT p.currency
    FROM payouts p GROUP BY 1 UNION SELECT b.currency FROM balances b GROUP BY 1;

-- name: AuditTallies :many
-- AuditTallies compares the totals that lists show with the rows.
WITH both_sides AS (
    SELECT a.org_id, a.program_id, a.list, o.owner_id, a.status, a.kind, a.n, 0 AS tallied
    FROM (SELECT r.org_id, r.program_id, r.list, r.owner_ids, r.status, r.kind, sum(r.n) AS n FROM tally_rows r
        GROUP BY 1, 2, 3, 4, 5, 6) a
    CROSS JOIN LATERAL unnest(array_append(a.owner_ids, '')) o(owner_id)
    UNION ALL
    SELECT t.org_id, t.program_id, t.list, t.owner_id, t.status, t.kind, 0, t.total FROM tally_sums t
)
SELECT (b.program_id || ' ' || b.list)::text AS what,
    format('%s of status %s %s: %s, but there are %s (SELECT recount_tallies() counts anew)',
        coalesce(nullif(b.owner_id, ''), 'all'), b.status, b.kind, sum(b.tallied), sum(b.n))::text AS message
FROM both_sides b GROUP BY b.org_id, b.program_id, b.list, b.owner_id, b.status,
    b.kind HAVING sum(b.n) <> sum(b.tallied) ORDER BY 1, 2 LIMIT 100;

-- name: AuditSnapshot :one
-- AuditSnapshot exports this snapshot for other connections, and returns the start of the next
-- audit: ledger entries behind after_id, and writes of transactions unfinished at horizon.
SELECT pg_export_snapshot()::text AS snapshot, m.after_id,
    pg_snapshot_xmin(pg_current_snapshot())::xid8 AS horizon, now()::timestamptz AS audited_at
FROM ledger_mark m;

-- name: AuditLast :many
-- AuditLast is the last audit without violations, if any. One of another cluster, from a logical
-- restore, is ignored.
SELECT m.audited_at, m.whole_at, m.after_id, m.horizon FROM audit_mark m
WHERE m.horizon <= pg_snapshot_xmax(pg_current_snapshot());

-- name: AuditSave :exec
-- AuditSave records an audit without violations. An incremental one does not change the time of
-- the last full one.
INSERT INTO audit_mark (audited_at, whole_at, after_id, horizon)
VALUES (@audited_at, @audited_at, @after_id, @horizon)
ON CONFLICT (id) DO UPDATE SET audited_at = excluded.audited_at, after_id = excluded.after_id,
    horizon = excluded.horizon,
    whole_at = CASE WHEN @whole::boolean THEN excluded.whole_at ELSE audit_mark.whole_at END;

-- name: AuditPartnersSince :many
-- AuditPartnersSince lists the partners with ledger entries or events that the last audit could not see.
-- An event's time is from a server's clock, which may be an hour slow.
SELECT l.partner_id FROM ledger_entries l WHERE l.id > @after_id AND l.created_xid >= @horizon::xid8
UNION SELECT e.partner_id::text FROM events e
WHERE e.created_at >= sqlc.arg(audited_at)::timestamptz - interval '1 hour' AND e.created_xid >= @horizon::xid8
    AND e.partner_id IS NOT NULL;

-- name: AuditStatementNumbers :many
-- AuditStatementNumbers: the numbers of an organization and year begin with 1 and have no gaps, up to the counter.
SELECT (t.org_id || ' ' || t.series || ' ' || t.year)::text AS what,
    format('%s statements, the last has the number %s, the counter is at %s', t.n, t.last, coalesce(c.last, 0))::text AS message
FROM (SELECT s.org_id, s.series, s.year, count(*) AS n, max(s.sequence) AS last FROM statements s GROUP BY 1, 2, 3) t
LEFT JOIN statement_counters c ON c.org_id = t.org_id AND c.series = t.series AND c.year = t.year
WHERE t.n <> t.last OR c.last IS DISTINCT FROM t.last
UNION ALL
SELECT (c.org_id || ' ' || c.series || ' ' || c.year)::text, format('no statements, the counter is at %s', c.last)::text
FROM statement_counters c WHERE NOT EXISTS (SELECT FROM statements s WHERE s.org_id = c.org_id AND s.series = c.series
    AND s.year = c.year)
LIMIT 100;

-- name: AuditStatementChain :many
-- AuditStatementChain: each statement has the hash of the partner's statement before it.
SELECT t.id::text AS what, CASE WHEN p.id IS NULL THEN format('the statement before position %s is missing', t.position)
    ELSE format('its previous hash is not the hash of %s', p.number) END::text AS message
FROM statements t LEFT JOIN statements p ON p.program_id = t.program_id AND p.partner_id = t.partner_id
    AND p.position = t.position - 1
WHERE t.position > 1 AND t.previous_hash IS DISTINCT FROM p.hash
    AND (@partners::text[] IS NULL OR t.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditStatementMissing :many
-- AuditStatementMissing: a payout that was paid since the organization issues statements has one. A payout of which only
-- an earlier time is known may have been paid before. The first key is a minute older than the first statement. A payout
-- that was marked as paid again has a statement of the last mark.
SELECT p.id::text AS what, 'it is paid and has no statement'::text AS message
FROM payouts p JOIN (SELECT k.org_id, min(k.created_at) + interval '1 minute' AS since FROM statement_keys k GROUP BY 1) f
    ON f.org_id = p.org_id
WHERE p.status = 'paid' AND p.import_id IS NULL AND greatest(p.created_at, p.submitted_at, p.marked_at) >= f.since
    AND NOT EXISTS (SELECT FROM statements s WHERE s.payout_id = p.id AND s.org_id = p.org_id
        AND (p.marked_at IS NULL OR s.issued_at >= p.marked_at))
    AND (@partners::text[] IS NULL OR p.partner_id = ANY (@partners::text[]))
LIMIT 100;

-- name: AuditStatements :many
-- AuditStatements lists statements with their keys. current is set if the payout is still paid by this statement, so
-- that its lines are those of the statement.
SELECT sqlc.embed(t), k.public_key, k.created_at AS key_created_at, k.retired_at AS key_retired_at,
    (EXISTS (SELECT FROM payouts p WHERE p.id = t.payout_id AND p.status = 'paid')
        AND NOT EXISTS (SELECT FROM statements o WHERE o.payout_id = t.payout_id AND o.position > t.position))::boolean
    AS current
FROM statements t LEFT JOIN statement_keys k ON k.id = t.key_id AND k.org_id = t.org_id
WHERE t.id > @after AND (@partners::text[] IS NULL OR t.partner_id = ANY (@partners::text[]))
ORDER BY t.id LIMIT @lim;

-- name: AuditStatementLines :many
-- AuditStatementLines reads the lines of payouts as StatementLines does.
SELECT k.payout_id, k.id, k.kind, k.sale_id, (CASE WHEN k.kind = 'referral' THEN coalesce(s.occurred_at, k.created_at)
    ELSE k.created_at END)::timestamptz AS occurred_at, s.external_charge_id, k.amount_minor, k.currency
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id AND s.org_id = k.org_id
WHERE k.payout_id = ANY (@payout_ids::text[]) ORDER BY k.payout_id, k.id;

-- name: AuditRows :many
-- AuditRows counts the rows that the equations cover.
SELECT 'audit_log_entries'::text AS name, count(*) AS n FROM audit_log_entries
UNION ALL SELECT 'audit_log_facts', count(*) FROM audit_log_facts
UNION ALL SELECT 'balances', count(*) FROM balances
UNION ALL SELECT 'clicks', count(*) FROM clicks
UNION ALL SELECT 'commissions', count(*) FROM commissions
UNION ALL SELECT 'customer_external_ids', count(*) FROM customer_external_ids
UNION ALL SELECT 'customer_merges', count(*) FROM customer_merges
UNION ALL SELECT 'customers', count(*) FROM customers
UNION ALL SELECT 'events', count(*) FROM events
UNION ALL SELECT 'forgotten', count(*) FROM forgotten
UNION ALL SELECT 'ledger_entries', count(*) FROM ledger_entries
UNION ALL SELECT 'organizations', count(*) FROM organizations
UNION ALL SELECT 'partners', count(*) FROM partners
UNION ALL SELECT 'payout_batches', count(*) FROM payout_batches
UNION ALL SELECT 'payout_rails', count(*) FROM payout_rails
UNION ALL SELECT 'payout_sends', count(*) FROM payout_sends
UNION ALL SELECT 'payouts', count(*) FROM payouts
UNION ALL SELECT 'programs', count(*) FROM programs
UNION ALL SELECT 'referrals', count(*) FROM referrals
UNION ALL SELECT 'refunds', count(*) FROM refunds
UNION ALL SELECT 'report_sums', count(*) FROM report_sums
UNION ALL SELECT 'sales', count(*) FROM sales
UNION ALL SELECT 'statements', count(*) FROM statements
UNION ALL SELECT 'tallies', count(*) FROM tallies;
