-- name: SaleTotal :one
-- SaleTotal counts like ClickTotal, with or without a window. It avoids the partner's index for the
-- gaps, which does not have the time in this order.
WITH covered AS MATERIALIZED (
    SELECT w.span, w.start, w.from_at, w.to_at FROM (
        SELECT r.span, r.start, r.from_at, r.to_at, max(r.to_at) OVER (ORDER BY r.from_at, r.to_at DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM report_untouched r WHERE r.program_id = @program_id AND r.org_id = @org_id
          AND (sqlc.narg('occurred_after')::timestamptz IS NULL
              OR r.from_at >= sqlc.narg('occurred_after')::timestamptz)
          AND (sqlc.narg('occurred_before')::timestamptz IS NULL
              OR r.to_at <= sqlc.narg('occurred_before')::timestamptz)) w
    WHERE coalesce(w.reached, '-infinity') <= w.from_at
), gaps AS MATERIALIZED (
    SELECT coalesce(lag(c.to_at) OVER (ORDER BY c.from_at), '-infinity') AS after, c.from_at AS before FROM covered c
    UNION ALL
    SELECT coalesce(max(c.to_at), '-infinity'), 'infinity' FROM covered c
), parts AS (
    SELECT (SELECT sum(CASE sqlc.narg('refunded')::boolean WHEN true THEN x.refunded
        WHEN false THEN x.sales - x.refunded ELSE x.sales END) FROM report_sums x
        WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.span = c.span AND x.start = c.start
          AND x.dimension = CASE WHEN sqlc.narg('partner_id')::text IS NOT NULL THEN 'partner' ELSE 'total' END
          AND (sqlc.narg('partner_id')::text IS NULL OR x.partner_id = sqlc.narg('partner_id')::text)) AS n
    FROM covered c
    UNION ALL
    SELECT (SELECT count(*) FROM sales t
        WHERE t.program_id = @program_id AND t.occurred_at >= g.after AND t.occurred_at < g.before
          AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id || '' = sqlc.narg('partner_id')::text)
          AND (sqlc.narg('occurred_after')::timestamptz IS NULL
              OR t.occurred_at >= sqlc.narg('occurred_after')::timestamptz)
          AND (sqlc.narg('occurred_before')::timestamptz IS NULL
              OR t.occurred_at < sqlc.narg('occurred_before')::timestamptz)
          AND (sqlc.narg('refunded')::boolean IS NULL OR (t.refunded_at IS NOT NULL) = sqlc.narg('refunded')::boolean))
    FROM gaps g WHERE g.after < g.before
)
SELECT coalesce(sum(p.n), 0)::bigint AS total FROM parts p
WHERE EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id);

-- name: SaleByIDs :many
SELECT t.* FROM sales t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: SaleGet :one
SELECT t.* FROM sales t WHERE t.id = @id AND t.org_id = @org_id;

-- name: SaleLock :one
-- SaleLock reads the row for a change and locks it until the commit.
SELECT t.* FROM sales t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: SaleCustomer :one
-- SaleCustomer reads the customer of a new sale with its attribution, after SaleCustomerLock: a
-- separate statement sees the commits during the wait for the lock.
SELECT sqlc.embed(c), g.id AS program_id, g.currency AS program_currency, g.commission_on_net_revenue,
    g.commission_net_of_fee, g.holding_period_days, g.enrols_first_commission, g.block_self_referrals,
    g.ignore_late_clicks,
    coalesce(p.status, '')::text AS partner_status, p.group_id AS partner_group_id, p.country_code AS partner_country,
    (SELECT l.rate_override FROM links l WHERE l.id = c.link_id) AS rate_override,
    coalesce((SELECT k.country FROM clicks k WHERE k.id = c.click_id), '')::text AS click_country,
    ARRAY(SELECT pt.tag_id FROM partner_tags pt WHERE pt.partner_id = c.partner_id)::text[] AS tag_ids
FROM customers c JOIN programs g ON g.id = c.program_id LEFT JOIN partners p ON p.id = c.partner_id
WHERE c.id = @customer_id AND c.org_id = @org_id;

-- name: SaleNewCustomer :one
-- SaleNewCustomer reads the same as SaleCustomer for a new customer.
SELECT g.id AS program_id, g.currency AS program_currency, g.commission_on_net_revenue, g.commission_net_of_fee,
    g.holding_period_days, p.status::text AS partner_status, p.group_id AS partner_group_id,
    p.country_code AS partner_country,
    ARRAY(SELECT pt.tag_id FROM partner_tags pt WHERE pt.partner_id = p.id)::text[] AS tag_ids
FROM partners p JOIN programs g ON g.id = p.program_id WHERE p.id = @partner_id AND p.org_id = @org_id;

-- name: SaleHistory :one
-- SaleHistory reports, after the locks, whether the charge is known, also under another id, whether
-- refunds of it wait, and whether the customer has paid before. The index of sales has the default collation.
SELECT coalesce((SELECT s.id FROM sales s WHERE s.program_id = @program_id AND s.org_id = @org_id
        AND s.external_charge_id = @external_charge_id),
    (SELECT s.id FROM sales s WHERE s.program_id = @program_id AND s.org_id = @org_id
        AND s.external_charge_id = (SELECT a.external_charge_id COLLATE "default" FROM charge_aliases a
            WHERE a.program_id = @program_id AND a.org_id = @org_id AND a.alias = @external_charge_id)),
    '')::text AS existing_id,
    EXISTS (SELECT 1 FROM refunds r WHERE r.program_id = @program_id AND r.org_id = @org_id
        AND r.external_charge_id = @external_charge_id AND r.status = 'waiting') AS refunds_wait,
    EXISTS (SELECT 1 FROM inbox_waits w WHERE w.program_id = @program_id AND w.org_id = @org_id
        AND w.key = 'charge ' || @external_charge_id) AS events_wait,
    EXISTS (SELECT 1 FROM sales s WHERE s.customer_id = @customer_id AND s.org_id = @org_id) AS has_sales;

-- name: SaleByCharge :one
-- SaleByCharge finds the sale of a charge, also by another id of the charge, and the charge's first id.
SELECT t.id, t.external_charge_id FROM sales t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_charge_id = @external_charge_id
UNION ALL
SELECT t.id, t.external_charge_id FROM sales t WHERE t.program_id = @program_id AND t.org_id = @org_id
    AND t.external_charge_id = (SELECT a.external_charge_id COLLATE "default" FROM charge_aliases a
        WHERE a.program_id = @program_id AND a.org_id = @org_id AND a.alias = @external_charge_id)
LIMIT 1;

-- name: SaleShare :one
-- SaleShare prevents refunds of a sale until the commit.
SELECT t.* FROM sales t WHERE t.id = @id AND t.org_id = @org_id FOR SHARE;

-- name: SaleInsert :exec
-- SaleInsert writes a row as it is; a created_xid of 0 is this transaction's.
INSERT INTO sales (id, org_id, program_id, customer_id, partner_id, external_charge_id, external_payment_intent_id,
    processor, amount_minor, tax_minor, currency, billing_type, interval, product_id, product_name, is_first_sale,
    activity_outcome, warnings, occurred_at, refunded_at, metadata, created_at, updated_at, created_xid,
    refunded_minor, fee_minor)
VALUES (@id, @org_id, @program_id, @customer_id, @partner_id, @external_charge_id, @external_payment_intent_id,
    @processor, @amount_minor, @tax_minor, @currency, @billing_type, @interval, @product_id, @product_name,
    @is_first_sale, @activity_outcome, @warnings, @occurred_at, @refunded_at, @metadata, @created_at, @updated_at,
    coalesce(nullif(@created_xid::xid8, '0'), pg_current_xact_id()), @refunded_minor, @fee_minor);

-- name: SaleCustomerCounters :one
-- SaleCustomerCounters and SalePartnerCounters are read only for flows whose
-- conditions ask; money is the program's currency (decisions, 3.4).
SELECT count(*) AS sales_count, coalesce(sum(s.amount_minor) FILTER (WHERE s.currency = @currency),
    0)::bigint AS total_paid_minor
FROM sales s WHERE s.customer_id = @customer_id AND s.org_id = @org_id AND s.refunded_at IS NULL;

-- name: SalePartnerCounters :one
SELECT (SELECT count(*) FROM customers x
    WHERE x.program_id = @program_id AND x.partner_id = @partner_id) AS leads_count,
    (SELECT count(*) FROM customers x WHERE x.program_id = @program_id AND x.partner_id = @partner_id
        AND x.converted_at IS NOT NULL) AS customers_count,
    count(*) AS sales_count, coalesce(sum(s.amount_minor) FILTER (WHERE s.currency = @currency
        AND s.refunded_at IS NULL), 0)::bigint AS revenue_minor,
    (SELECT coalesce(sum(x.amount_minor), 0)::bigint FROM commissions x
        WHERE x.program_id = @program_id AND x.partner_id = @partner_id
        AND x.currency = @currency AND x.status NOT IN ('rejected', 'voided')) AS commissions_minor
FROM sales s WHERE s.program_id = @program_id AND s.org_id = @org_id AND s.partner_id = @partner_id;

-- name: SaleProgram :one
SELECT t.program_id FROM sales t WHERE t.id = @id AND t.org_id = @org_id;

-- name: SaleCustomerLock :one
-- SaleCustomerLock locks the customer of a new sale, which makes "first sale" and
-- every counter of the customer exact.
SELECT t.id FROM customers t WHERE t.id = @id AND t.org_id = @org_id FOR NO KEY UPDATE;

-- name: SaleLead :one
-- SaleLead locks the customer's referral while it is a lead, so that of all its
-- customers' first sales one converts it.
SELECT r.id FROM customers c JOIN referrals r ON r.id = c.referral_id
WHERE c.id = @customer_id AND c.org_id = @org_id AND r.status = 'lead' FOR NO KEY UPDATE OF r;

-- name: SaleRefund :exec
UPDATE sales SET amount_minor = @amount_minor, tax_minor = @tax_minor, refunded_minor = @refunded_minor,
    refunded_at = @refunded_at, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: SaleCommissions :many
-- SaleCommissions locks the commissions of the sale, made by flows or by hand, and manual
-- deductions. Deductions come first, so that no payout falls below its remaining commissions.
-- Clawbacks of refunds refer to their commission.
SELECT t.* FROM commissions t
WHERE t.sale_id = @sale_id AND t.org_id = @org_id AND t.metadata ->> 'commission_id' IS NULL
ORDER BY t.amount_minor > 0, t.created_at, t.id FOR NO KEY UPDATE;

-- name: SalePartnersLock :many
-- SalePartnersLock locks all partners that earn from a sale, in the order of ids.
SELECT t.id FROM partners t
WHERE t.org_id = @org_id AND t.id IN (
    SELECT s.partner_id FROM sales s WHERE s.id = @sale_id AND s.org_id = @org_id
    UNION SELECT k.partner_id FROM commissions k WHERE k.sale_id = @sale_id AND k.org_id = @org_id)
ORDER BY t.id FOR NO KEY UPDATE OF t;

-- name: CustomerSetRefunded :exec
UPDATE customers SET status = 'refunded', updated_at = @updated_at WHERE id = @id AND org_id = @org_id;

-- name: CustomerClearRefunded :exec
-- CustomerClearRefunded undoes CustomerSetRefunded.
UPDATE customers SET status = 'active', updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND status = 'refunded';

-- name: SaleCommissionsSetRefunded :exec
-- SaleCommissionsSetRefunded records that the refunded amount is now lower than when some of the
-- commissions were made.
UPDATE commissions SET refunded_before_minor = @refunded_minor, updated_at = greatest(updated_at,
    @updated_at::timestamptz)
WHERE sale_id = @sale_id AND org_id = @org_id AND refunded_before_minor > @refunded_minor;

-- name: SaleSetIntent :execrows
-- SaleSetIntent stores the payment intent of a sale that has none yet.
UPDATE sales SET external_payment_intent_id = @intent::text, updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND external_payment_intent_id IS NULL;

-- name: RehearsalProgramSales :many
-- RehearsalProgramSales reads a page of a program's sales, latest first, with the columns of SaleCustomer.
SELECT sqlc.embed(s), sqlc.embed(c), p.status AS partner_status, p.group_id AS partner_group_id,
    p.country_code AS partner_country, (SELECT l.rate_override FROM links l WHERE l.id = c.link_id) AS rate_override,
    coalesce((SELECT k.country FROM clicks k WHERE k.id = c.click_id), '')::text AS click_country,
    ARRAY(SELECT pt.tag_id FROM partner_tags pt WHERE pt.partner_id = p.id)::text[] AS tag_ids
FROM sales s JOIN customers c ON c.id = s.customer_id JOIN partners p ON p.id = s.partner_id
WHERE s.program_id = @program_id AND s.org_id = @org_id AND s.refunded_at IS NULL AND s.occurred_at >= @since
    AND s.occurred_at <= @before_at AND (s.occurred_at, s.id) < (@before_at, @before_id::text)
ORDER BY s.occurred_at DESC, s.id DESC LIMIT @lim;

-- name: RehearsalSaleCounters :many
-- RehearsalSaleCounters counts the sales of each sale's customer up to itself.
SELECT s.id, n.sales_count, n.total_paid_minor FROM sales s CROSS JOIN LATERAL (
    SELECT count(*) AS sales_count,
        coalesce(sum(x.amount_minor) FILTER (WHERE x.currency = @currency), 0)::bigint AS total_paid_minor
    FROM sales x WHERE x.customer_id = s.customer_id AND x.org_id = @org_id AND x.refunded_at IS NULL
        AND (x.occurred_at, x.id) <= (s.occurred_at, s.id)) n
WHERE s.id = ANY (@ids::text[]) AND s.org_id = @org_id;

-- name: SalesOfCustomers :many
-- SalesOfCustomers locks the sales of customers, the oldest first.
SELECT t.* FROM sales t WHERE t.customer_id = ANY (@customer_ids::text[]) AND t.org_id = @org_id
ORDER BY t.occurred_at, t.id LIMIT @lim FOR NO KEY UPDATE;

-- name: SalesForRules :many
-- SalesForRules reads the columns of SaleCustomer for recorded sales, with their partner or, for sales
-- without one, the given partner.
SELECT sqlc.embed(s), sqlc.embed(c), p.status AS partner_status, p.group_id AS partner_group_id,
    p.country_code AS partner_country, (SELECT l.rate_override FROM links l WHERE l.id = c.link_id) AS rate_override,
    coalesce((SELECT k.country FROM clicks k WHERE k.id = c.click_id), '')::text AS click_country,
    ARRAY(SELECT pt.tag_id FROM partner_tags pt WHERE pt.partner_id = p.id)::text[] AS tag_ids
FROM sales s JOIN customers c ON c.id = s.customer_id
    JOIN partners p ON p.id = coalesce(s.partner_id, sqlc.narg('partner_id')::text)
WHERE s.id = ANY (@ids::text[]) AND s.org_id = @org_id AND p.org_id = @org_id ORDER BY s.occurred_at, s.id;

-- name: SaleSetPartner :exec
-- SaleSetPartner assigns a partner to a sale without one.
UPDATE sales SET partner_id = @partner_id::text, activity_outcome = @activity_outcome, warnings = @warnings,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id AND partner_id IS NULL;

-- name: SaleSetEarned :exec
-- SaleSetEarned records that a sale pays a commission after all.
UPDATE sales SET activity_outcome = 'commission_created', warnings = '[]', updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: SalesNotFirst :exec
UPDATE sales SET is_first_sale = false, updated_at = @updated_at
WHERE customer_id = ANY (@customer_ids::text[]) AND org_id = @org_id AND is_first_sale AND id <> @first;

-- name: SalesMove :exec
-- SalesMove moves the sales of a customer to another.
UPDATE sales SET customer_id = @to_id, updated_at = @updated_at WHERE customer_id = @from_id AND org_id = @org_id;

-- name: SalesReferralCommissions :many
-- SalesReferralCommissions locks the commissions that rules made of sales.
SELECT t.* FROM commissions t WHERE t.sale_id = ANY (@sale_ids::text[]) AND t.org_id = @org_id AND t.kind = 'referral'
ORDER BY t.created_at, t.id FOR NO KEY UPDATE;

-- name: SaleCommissionAmounts :many
-- SaleCommissionAmounts returns the commissions that rules made of sales and that were neither voided nor rejected.
SELECT t.sale_id, t.amount_minor, t.currency FROM commissions t
WHERE t.sale_id = ANY (@sale_ids::text[]) AND t.org_id = @org_id AND t.kind = 'referral'
    AND t.status NOT IN ('voided', 'rejected');

-- name: SalesWithoutPartner :many
-- SalesWithoutPartner locks the sales of a customer that have no partner, the oldest first.
SELECT t.* FROM sales t WHERE t.customer_id = @customer_id AND t.org_id = @org_id AND t.partner_id IS NULL
    AND t.occurred_at >= @since ORDER BY t.occurred_at, t.id LIMIT @lim FOR NO KEY UPDATE;

-- name: ProductNames :many
-- ProductNames returns the products of a program's latest sales and of its latest daily sums, with their latest names.
SELECT p.id::text AS id,
    coalesce((array_agg(p.name ORDER BY p.at DESC) FILTER (WHERE p.name IS NOT NULL))[1], '')::text AS name
FROM (
    SELECT s.product_id AS id, s.product_name AS name, s.occurred_at AS at FROM (
        SELECT t.product_id, t.product_name, t.occurred_at FROM sales t
        WHERE t.program_id = @program_id AND t.org_id = @org_id ORDER BY t.created_at DESC, t.id DESC LIMIT 500) s
    WHERE s.product_id IS NOT NULL
    UNION ALL
    SELECT r.key, r.label, r.start::timestamptz FROM (
        SELECT t.key, t.label, t.start FROM report_sums t
        WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.dimension = 'product' AND t.span = 'day'
        ORDER BY t.start DESC LIMIT 1000) r
    WHERE r.key <> '' AND r.key IS DISTINCT FROM r.label
) p GROUP BY p.id ORDER BY max(p.at) DESC, p.id LIMIT 200;
