-- name: LinkByIDs :many
SELECT t.* FROM links t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id;

-- name: LinkGet :one
-- LinkGet finds no deleted link; LinkWithDeleted and LinkByIDs do.
SELECT t.* FROM links t WHERE t.id = @id AND t.org_id = @org_id
  AND t.deleted_at IS NULL;

-- name: LinkLock :one
-- LinkLock reads the row for a change and locks it until the commit.
SELECT t.* FROM links t WHERE t.id = @id AND t.org_id = @org_id
  AND t.deleted_at IS NULL FOR NO KEY UPDATE;

-- name: LinkInsert :exec
-- LinkInsert follows the claim of the value in tracking_values.
INSERT INTO links (id, org_id, program_id, partner_id, param, value, value_key, destination_url, destination_key,
    short_slug, label, rate_override, created_at, updated_at, deleted_at)
VALUES (@id, @org_id, @program_id, @partner_id, @param, @value, @value_key, @destination_url, @destination_key,
    @short_slug, @label, @rate_override, @created_at, @updated_at, @deleted_at);

-- name: LinkUpdate :exec
-- LinkUpdate does not change the value, which is published.
UPDATE links SET destination_url = @destination_url, destination_key = @destination_key, label = @label,
    updated_at = @updated_at
WHERE id = @id AND org_id = @org_id;

-- name: LinkDelete :exec
-- LinkDelete keeps the row: its address still redirects, and its value remains taken.
UPDATE links SET deleted_at = @deleted_at, updated_at = @deleted_at WHERE id = @id AND org_id = @org_id;

-- name: LinkSetRateOverride :execrows
UPDATE links SET rate_override = @rate_override, updated_at = @updated_at WHERE id = @id;

-- name: LinkWithDeleted :one
-- LinkWithDeleted finds a link, deleted or not, because a deleted link keeps its value.
SELECT t.* FROM links t WHERE t.id = @id AND t.org_id = @org_id;

-- name: LinkBySlug :one
-- LinkBySlug serves the public redirect, which knows no organization; deleted
-- links keep redirecting.
SELECT sqlc.embed(t), p.status AS partner_status, g.status AS program_status, g.cookie_days, g.url_params,
    g.click_on_redirect, o.fraud_monitoring
FROM links t JOIN partners p ON p.id = t.partner_id JOIN programs g ON g.id = t.program_id
    JOIN organizations o ON o.id = t.org_id
WHERE t.short_slug = @slug;

-- name: LinkStats :many
-- LinkStats counts clicks like ClickTotal.
WITH mine AS MATERIALIZED (
    SELECT t.id, t.program_id, t.partner_id FROM links t WHERE t.id = ANY (@ids::text[]) AND t.org_id = @org_id
), covered AS MATERIALIZED (
    SELECT c.program_id, c.span, c.start, c.from_at, c.to_at FROM report_covered c
        WHERE c.program_id = ANY (ARRAY(SELECT k.program_id FROM mine k)) AND c.org_id = @org_id
), gaps AS MATERIALIZED (
    SELECT c.program_id, coalesce(lag(c.to_at) OVER (PARTITION BY c.program_id ORDER BY c.from_at), '-infinity')
        AS after, c.from_at AS before FROM covered c
    UNION ALL
    SELECT o.id, coalesce((SELECT max(c.to_at) FROM covered c WHERE c.program_id = o.id), '-infinity'), 'infinity'
        FROM programs o WHERE o.id IN (SELECT k.program_id FROM mine k) AND o.org_id = @org_id
), counts AS MATERIALIZED (
    SELECT x.owner_id, sum(x.total) FILTER (WHERE x.list <> 'customers') AS referrals,
        sum(x.total) FILTER (WHERE x.list = 'customers') AS customers FROM tally_sums x
    WHERE x.program_id = ANY (ARRAY(SELECT k.program_id FROM mine k)) AND x.org_id = @org_id AND x.list IN ('referrals',
        'forgotten_referrals', 'customers') AND x.owner_id = ANY (@ids::text[]) GROUP BY 1
), parts AS (
    SELECT k.id, s.clicks FROM mine k JOIN covered c ON c.program_id = k.program_id CROSS JOIN LATERAL (
        SELECT x.clicks FROM report_sums x WHERE x.program_id = k.program_id AND x.org_id = @org_id
            AND x.dimension = 'link' AND x.span = c.span AND x.start = c.start
          AND x.partner_id = k.partner_id AND x.key = k.id OFFSET 0) s
    UNION ALL
    SELECT k.id, (SELECT sum(x.clicks) FROM clicks_counted x WHERE x.org_id = @org_id AND x.program_id = k.program_id
        AND x.link_id = k.id
        AND x.created_at >= g.after AND x.created_at < g.before)
    FROM mine k JOIN gaps g ON g.program_id = k.program_id WHERE g.after < g.before
)
SELECT l.id,
    (SELECT coalesce(sum(a.clicks), 0) FROM parts a WHERE a.id = l.id)::bigint AS clicks,
    coalesce(n.referrals, 0)::bigint AS referrals, coalesce(n.customers, 0)::bigint AS customers
FROM links l LEFT JOIN counts n ON n.owner_id = l.id WHERE l.id = ANY (@ids::text[]) AND l.org_id = @org_id;

-- name: LinkProgram :one
SELECT t.program_id FROM links t WHERE t.id = @id AND t.org_id = @org_id;

-- name: LinksOfPartner :one
-- LinksOfPartner counts the links that are not deleted.
SELECT count(*) FROM links t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id
    AND t.deleted_at IS NULL;

-- name: LinksCountWithDeleted :one
-- LinksCountWithDeleted counts a partner's links, including deleted ones.
SELECT count(*) FROM links t WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.partner_id = @partner_id;
