-- The namespace of handles, former handles and custom link values.

-- name: TrackingValueGet :one
SELECT t.* FROM tracking_values t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.value = @value;

-- name: TrackingValueClaim :execrows
-- TrackingValueClaim claims a value for a partner; it changes nothing, and returns no row, if
-- another partner or a link has it.
INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id, link_id)
VALUES (@org_id, @program_id, @value, @kind, @partner_id, @link_id)
ON CONFLICT (program_id, value) DO NOTHING;

-- name: TrackingValuesTaken :many
-- TrackingValuesTaken lists the values in use that begin with a stem.
SELECT t.value FROM tracking_values t WHERE t.program_id = @program_id AND t.org_id = @org_id
AND (t.value = @stem::text OR t.value LIKE @pattern::text);

-- name: TrackingResolve :many
-- TrackingResolve finds, for each of several visits, their program and the active partner behind
-- the value, its link that fits the landing page best (the same page, else the oldest of that
-- value, deleted ones included), and the visitor's current referral (decisions, 65 and 68). expired
-- reports whether that has expired but is not retired. recent_click_id is the visitor's last click
-- on the same value after since, where that is before now. expires_at is the end of that referral,
-- or of a new referral. name and coupon are for browsers; a coupon is read if since is before
-- now. reserved reports whether several partners have the value in different cases. The rows are in the order of the
-- visits; missing values are ''. The partner, who is of the
-- value's program, is found by id alone: without statistics the planner would read all that are
-- active.
SELECT i.n::bigint AS n, coalesce(g.status, '')::text AS program_status,
    coalesce(g.attribution_model, '')::text AS attribution_model,
    coalesce(h.expires_at,
        i.now + make_interval(hours => 24 * coalesce(g.cookie_days, 0)::int))::timestamptz AS expires_at,
    coalesce(h.partner_id, '')::text AS partner_id, coalesce(h.link_id, '')::text AS link_id,
    coalesce(h.handle, '')::text AS handle, coalesce(h.name, '')::text AS name, coalesce(h.coupon, '')::text AS coupon,
    coalesce(h.referral_id, '')::text AS referral_id, coalesce(h.expired, false)::boolean AS expired,
    coalesce(k.id, '')::text AS recent_click_id,
    (h.partner_id IS NULL AND EXISTS (SELECT 1 FROM tracking_values v WHERE v.program_id = i.program_id
        AND v.org_id = i.org_id AND v.value = i.value AND v.kind = 'reserved'))::boolean AS reserved
FROM (SELECT unnest(@program_ids::text[]) AS program_id, unnest(@org_ids::text[]) AS org_id,
    unnest(@values::text[]) AS value, unnest(@landing_keys::text[]) AS landing_key,
    unnest(@visitors::bytea[]) AS visitor, unnest(@nows::timestamptz[]) AS now,
    unnest(@sinces::timestamptz[]) AS since, generate_subscripts(@program_ids::text[], 1) AS n) i
LEFT JOIN programs g ON g.id = i.program_id AND g.org_id = i.org_id
LEFT JOIN LATERAL (
    SELECT p.id AS partner_id, p.handle, coalesce(p.display_name, p.company_name, p.handle) AS name,
        CASE WHEN i.since < i.now THEN (SELECT d.code FROM coupons d
            WHERE d.program_id = t.program_id AND d.partner_id = p.id
            AND d.active ORDER BY d.created_at DESC, d.id DESC LIMIT 1) END AS coupon,
        coalesce((SELECT l.id FROM links l WHERE l.partner_id = p.id AND l.value_key = i.value
            ORDER BY (l.destination_key = i.landing_key) DESC, l.created_at, l.id LIMIT 1), t.link_id) AS link_id,
        CASE WHEN r.expires_at > i.now THEN r.id END AS referral_id,
        CASE WHEN r.expires_at > i.now THEN r.expires_at END AS expires_at, r.expires_at <= i.now AS expired
    FROM tracking_values t JOIN partners p ON p.id = t.partner_id
    LEFT JOIN referrals r ON r.program_id = t.program_id AND r.partner_id = p.id AND r.visitor = i.visitor AND r.current
    WHERE t.program_id = i.program_id AND t.org_id = i.org_id AND t.value = i.value AND t.kind <> 'reserved'
        AND p.status = 'active'
    OFFSET 0
) h ON true
LEFT JOIN LATERAL (
    SELECT c.id FROM clicks c LEFT JOIN links l ON l.id = c.link_id
    WHERE i.since < i.now AND c.referral_id = h.referral_id AND c.org_id = i.org_id AND c.created_at > i.since
        AND coalesce(l.value_key = i.value, h.link_id IS NULL)
    ORDER BY c.created_at DESC, c.id DESC LIMIT 1
) k ON true
ORDER BY i.n;

-- name: TrackingValuesExist :many
-- TrackingValuesExist returns the indexes, from 1 and in order, of the values that exist in their
-- programs, including those of inactive partners.
SELECT i.n::bigint AS n
FROM (SELECT unnest(@program_ids::text[]) AS program_id, unnest(@org_ids::text[]) AS org_id,
    unnest(@values::text[]) AS value, generate_subscripts(@program_ids::text[], 1) AS n) i
WHERE EXISTS (SELECT 1 FROM tracking_values t
    WHERE t.program_id = i.program_id AND t.org_id = i.org_id AND t.value = i.value AND t.kind <> 'reserved')
ORDER BY i.n;

-- name: VisitorReferral :one
-- VisitorReferral returns the referral that a browser is attributed to: of its live referrals, and
-- that of a click handed over to it, the one with the last click or return, or the first one by the
-- program's model. It finds the referrals first, and the rest for each of them by id: without
-- statistics the planner would begin with all partners, or read all clicks.
WITH g AS MATERIALIZED (
    SELECT m.attribution_model FROM programs m WHERE m.id = @program_id AND m.org_id = @org_id
), known AS MATERIALIZED (
    SELECT v.id, v.program_id, v.partner_id, v.expires_at, v.returned_at, v.returned_click_id FROM referrals v
    WHERE v.program_id = @program_id AND v.org_id = @org_id AND v.visitor = @visitor AND v.current
        AND v.expires_at > @now
    UNION
    SELECT h.id, h.program_id, h.partner_id, h.expires_at, h.returned_at, h.returned_click_id FROM referrals h
    WHERE h.id = (SELECT k.referral_id FROM clicks k WHERE k.id = @click_id AND k.org_id = @org_id)
        AND h.program_id = @program_id AND h.org_id = @org_id AND h.expires_at > @now
)
SELECT c.id AS click_id, r.id AS referral_id, r.expires_at, p.handle,
    coalesce(p.display_name, p.company_name, p.handle)::text AS name,
    coalesce((SELECT d.code FROM coupons d WHERE d.program_id = r.program_id AND d.partner_id = r.partner_id
        AND d.org_id = @org_id AND d.active ORDER BY d.created_at DESC, d.id DESC LIMIT 1), '')::text AS coupon
FROM g CROSS JOIN known r
JOIN LATERAL (SELECT t.handle, t.display_name, t.company_name FROM partners t
    WHERE t.id = r.partner_id AND t.org_id = @org_id AND t.status = 'active' OFFSET 0) p ON true
JOIN LATERAL (
    (SELECT CASE WHEN r.returned_at > k.created_at THEN r.returned_click_id ELSE k.id END::text AS id,
            greatest(k.created_at, r.returned_at) AS at
        FROM clicks k WHERE k.referral_id = r.id AND k.org_id = @org_id AND g.attribution_model = 'last'
        ORDER BY k.created_at DESC, k.id DESC LIMIT 1)
    UNION ALL
    (SELECT k.id, k.created_at AS at FROM clicks k
        WHERE k.referral_id = r.id AND k.org_id = @org_id AND g.attribution_model = 'first'
        ORDER BY k.created_at, k.id LIMIT 1)
) c ON true
ORDER BY CASE WHEN g.attribution_model = 'first' THEN c.at END, c.at DESC, c.id DESC LIMIT 1;

-- name: TrackingValueInsert :exec
-- TrackingValueInsert claims a value after a check that it is free; if another request has taken it
-- since, tracking_values_pkey makes the work run again.
INSERT INTO tracking_values (org_id, program_id, value, kind, partner_id, link_id)
VALUES (@org_id, @program_id, @value, @kind, @partner_id, @link_id);

-- name: TrackingStemLock :exec
-- TrackingStemLock serializes requests that derive a handle from one stem, so that each sees the
-- handles before it. It ends with the transaction.
SELECT pg_advisory_xact_lock(hashtextextended(@program_id::text || '/' || @stem::text, 0));
