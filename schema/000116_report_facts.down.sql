SET LOCAL lock_timeout = '2s';

CREATE OR REPLACE VIEW report_facts AS
SELECT k.program_id, k.created_at AS at, k.partner_id, k.link_id, NULL::text AS product,
    NULL::text AS product_name, NULL::text AS currency,
    k.clicks, 0 AS leads, 0 AS customers, 0 AS sales, 0 AS refunded,
    0::bigint AS revenue_minor, 0::bigint AS commissions_minor, 0::bigint AS paid_minor,
    k.source, k.medium, k.campaign, k.referrer, k.country, k.device, 'link'::text COLLATE "C" AS tracked_by,
    NULL::text AS customer_id, NULL::text AS sale_id, NULL::timestamptz AS converted_at
FROM clicks_counted k
UNION ALL
SELECT c.program_id, c.lead_at, c.partner_id, c.link_id, NULL, NULL, NULL, 0, 1, 0, 0, 0, 0, 0, 0,
    c.source, c.medium, c.campaign, c.referrer, c.country, c.device,
    CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END, NULL, NULL, NULL
FROM customers c
UNION ALL
SELECT c.program_id, c.converted_at, c.partner_id, c.link_id, coalesce(f.product_id, f.product_name), f.product_name,
    NULL, 0, 0, 1, 0, 0, 0, 0, 0, c.source, c.medium, c.campaign, c.referrer, c.country, c.device,
    CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END, NULL, NULL, NULL
FROM customers c LEFT JOIN sales f ON f.customer_id = c.id AND f.is_first_sale WHERE c.converted_at IS NOT NULL
UNION ALL
SELECT s.program_id, s.occurred_at, s.partner_id, CASE WHEN s.partner_id IS NOT NULL THEN c.link_id END,
    coalesce(s.product_id, s.product_name), s.product_name,
    s.currency, 0, 0, 0, 1, (s.refunded_at IS NOT NULL)::int,
    CASE WHEN s.refunded_at IS NULL THEN s.amount_minor ELSE 0 END, 0, 0,
    c.source, c.medium, c.campaign, c.referrer, c.country, c.device,
    CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END, s.customer_id, s.id, c.converted_at
FROM sales s LEFT JOIN customers c ON c.id = s.customer_id
UNION ALL
SELECT s.program_id, s.occurred_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name,
    k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor, 0, c.source, c.medium, c.campaign, c.referrer, c.country, c.device,
    CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END, NULL, NULL, c.converted_at
FROM sales s JOIN commissions k ON k.sale_id = s.id AND k.kind <> 'clawback'
    LEFT JOIN customers c ON c.id = s.customer_id
WHERE k.status NOT IN ('rejected', 'voided')
UNION ALL
SELECT k.program_id, k.created_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name,
    k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor, 0, c.source, c.medium, c.campaign, c.referrer, c.country, c.device,
    CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END, NULL, NULL, c.converted_at
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id LEFT JOIN customer_merges m ON m.id = k.customer_id
    LEFT JOIN customers c ON c.id = coalesce(s.customer_id, m.customer_id, k.customer_id)
WHERE (k.sale_id IS NULL OR k.kind = 'clawback') AND k.status NOT IN ('rejected', 'voided')
UNION ALL
SELECT y.program_id, y.paid_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name,
    k.currency, 0, 0, 0, 0, 0, 0, 0, k.amount_minor, c.source, c.medium, c.campaign, c.referrer, c.country, c.device,
    CASE WHEN c.partner_id IS NOT NULL THEN c.tracked_by END, NULL, NULL, c.converted_at
FROM payouts y JOIN commissions k ON k.payout_id = y.id LEFT JOIN sales s ON s.id = k.sale_id
    LEFT JOIN customer_merges m ON m.id = k.customer_id
    LEFT JOIN customers c ON c.id = coalesce(s.customer_id, m.customer_id, k.customer_id)
WHERE y.status = 'paid' AND k.status = 'paid';
