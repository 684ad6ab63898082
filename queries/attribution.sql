-- name: VisitorTouches :many
-- VisitorTouches returns clicks of the visitor of a referral, in the referrals that are live at a moment: of each
-- of the first 100, the first click, and the last ten until that moment. A visitor of more partners is not a person.
-- With several, the clicks of a visitor with one referral are left out.
WITH own AS MATERIALIZED (
    SELECT r.program_id, r.visitor FROM referrals r WHERE r.id = @referral_id AND r.org_id = @org_id
), visits AS MATERIALIZED (
    SELECT v.id, v.partner_id, v.created_at, v.expires_at FROM own
    JOIN referrals v ON v.program_id = own.program_id AND v.visitor = own.visitor
    WHERE v.org_id = @org_id AND v.current AND v.expires_at > @at ORDER BY v.created_at, v.id LIMIT 100
)
SELECT v.id AS referral_id, v.partner_id, v.created_at AS begins_at, v.expires_at AS ends_at, k.id AS click_id,
    k.created_at AS at, p.active
FROM visits v
JOIN LATERAL (SELECT (t.status = 'active')::boolean AS active FROM partners t
    WHERE t.id = v.partner_id AND t.org_id = @org_id OFFSET 0) p ON true
CROSS JOIN LATERAL (
    (SELECT c.id, c.created_at FROM clicks c WHERE c.referral_id = v.id AND c.org_id = @org_id
        ORDER BY c.created_at, c.id LIMIT 1)
    UNION
    (SELECT c.id, c.created_at FROM clicks c WHERE c.referral_id = v.id AND c.org_id = @org_id
        AND c.created_at <= @at ORDER BY c.created_at DESC, c.id DESC LIMIT 10)
) k
WHERE NOT @several::boolean OR (SELECT count(*) FROM visits) > 1;

-- name: RehearsalTotal :one
-- RehearsalTotal counts the customers who signed up in a time, up to a number.
SELECT count(*) AS total FROM (SELECT FROM customers c WHERE c.program_id = @program_id AND c.org_id = @org_id
    AND c.lead_at >= @since AND c.lead_at <= @until LIMIT @lim) x;

-- name: RehearsalCustomers :many
-- RehearsalCustomers reads a page of the customers who signed up in a time, latest first, with the time of their first
-- payment.
SELECT sqlc.embed(c), s.occurred_at AS paid_at,
    EXISTS (SELECT 1 FROM customer_merges m WHERE m.customer_id = c.id AND m.org_id = @org_id) AS merged
FROM (SELECT k.id, k.lead_at FROM customers k WHERE k.program_id = @program_id AND k.org_id = @org_id
        AND k.lead_at >= @since AND k.lead_at <= @before_at AND (k.lead_at, k.id) < (@before_at, @before_id::text)
    ORDER BY k.lead_at DESC, k.id DESC LIMIT @lim) x
JOIN customers c ON c.id = x.id AND c.org_id = @org_id
LEFT JOIN sales s ON s.customer_id = x.id AND s.is_first_sale AND s.org_id = @org_id
ORDER BY x.lead_at DESC, x.id DESC;

-- name: RehearsalTouches :many
-- RehearsalTouches returns the clicks of the visitors of referrals until a moment, at most 1,001 of each visitor: of
-- each referral, also ended ones, the first click and the last 101. n is the index of the visitor, from 1. A referral
-- without a click has one row.
SELECT x.n::bigint AS n, t.referral_id, t.partner_id, t.visit_link_id, t.begins_at, t.ends_at, t.returned_at,
    coalesce(t.returned_click_id, '')::text AS returned_click_id, coalesce(t.click_id, '')::text AS click_id, t.link_id,
    coalesce(t.at, t.begins_at)::timestamptz AS at
FROM (SELECT unnest(@referral_ids::text[]) AS referral_id, unnest(@untils::timestamptz[]) AS until,
    generate_subscripts(@referral_ids::text[], 1) AS n) x
JOIN LATERAL (SELECT r.program_id, r.visitor FROM referrals r
    WHERE r.id = x.referral_id AND r.org_id = @org_id OFFSET 0) o ON true
JOIN LATERAL (
    SELECT v.id AS referral_id, v.partner_id, v.link_id AS visit_link_id, v.created_at AS begins_at,
        v.expires_at AS ends_at, v.returned_at, v.returned_click_id, k.id AS click_id, k.link_id, k.created_at AS at
    FROM (
        (SELECT r.id, r.partner_id, r.link_id, r.created_at, r.expires_at, r.returned_at, r.returned_click_id
            FROM referrals r WHERE r.program_id = o.program_id AND r.visitor = o.visitor AND r.org_id = @org_id
            AND r.current AND r.created_at <= x.until LIMIT 101)
        UNION ALL
        (SELECT r.id, r.partner_id, r.link_id, r.created_at, r.expires_at, r.returned_at, r.returned_click_id
            FROM referrals r WHERE r.program_id = o.program_id AND r.visitor = o.visitor AND r.org_id = @org_id
            AND NOT r.current AND r.created_at <= x.until LIMIT 101)
    ) v LEFT JOIN LATERAL (
        (SELECT c.id, c.link_id, c.created_at FROM clicks c WHERE c.referral_id = v.id AND c.org_id = @org_id
            ORDER BY c.created_at, c.id LIMIT 1)
        UNION
        (SELECT c.id, c.link_id, c.created_at FROM clicks c WHERE c.referral_id = v.id AND c.org_id = @org_id
            AND c.created_at <= x.until ORDER BY c.created_at DESC, c.id DESC LIMIT 101)
    ) k ON true LIMIT 1001
) t ON true
ORDER BY x.n;

-- name: RehearsalClicks :many
SELECT k.id, k.referral_id, k.country FROM clicks k WHERE k.id = ANY (@ids::text[]) AND k.org_id = @org_id;

-- name: RehearsalPartners :many
-- RehearsalPartners returns partners with the ids of their tags.
SELECT sqlc.embed(p), ARRAY(SELECT t.tag_id FROM partner_tags t WHERE t.partner_id = p.id)::text[] AS tag_ids
FROM partners p WHERE p.id = ANY (@ids::text[]) AND p.org_id = @org_id;

-- name: RehearsalLinks :many
-- RehearsalLinks returns the links that have their own rate.
SELECT l.id, l.rate_override FROM links l WHERE l.id = ANY (@ids::text[]) AND l.org_id = @org_id
    AND l.rate_override IS NOT NULL;

-- name: RehearsalSales :many
-- RehearsalSales reads a page of the sales of customers, in the order of the ids and then the oldest first. For the
-- first customer it begins behind a sale.
SELECT sqlc.embed(s) FROM (SELECT unnest(@customer_ids::text[]) AS id,
    generate_subscripts(@customer_ids::text[], 1) AS n) x
CROSS JOIN LATERAL (
    SELECT t.id, t.created_at FROM sales t WHERE t.customer_id = x.id AND t.org_id = @org_id AND t.refunded_at IS NULL
        AND (x.n > 1 OR (t.created_at, t.id) > (@after_at::timestamptz, @after_id::text))
    ORDER BY t.created_at, t.id LIMIT @lim
) k JOIN sales s ON s.id = k.id AND s.org_id = @org_id ORDER BY x.n, k.created_at, k.id LIMIT @lim;

-- name: ClicksSince :one
-- ClicksSince returns the time from which all clicks of a program are stored; no row if none was deleted.
SELECT ((f.day + 1)::timestamp AT TIME ZONE p.time_zone)::timestamptz AS since
FROM forgotten f JOIN programs p ON p.id = f.program_id AND p.org_id = @org_id
WHERE f.program_id = @program_id AND f.org_id = @org_id AND f.list = 'clicks' ORDER BY f.day DESC LIMIT 1;

-- name: RehearsalCoupons :many
SELECT t.id, t.partner_id FROM coupons t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;
