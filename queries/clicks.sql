-- name: ClickTotal :one
-- ClickTotal adds the sums of reports to a count of the rest, so that its time does not grow with
-- the clicks: the sums of unmarked months and days, and the rows of the gaps between them, less
-- deleted ones. It uses one snapshot, and is as exact as reports.
WITH covered AS MATERIALIZED (
    SELECT c.span, c.start, c.from_at, c.to_at FROM report_covered c WHERE c.program_id = @program_id
        AND c.org_id = @org_id
), gaps AS MATERIALIZED (
    SELECT coalesce(lag(c.to_at) OVER (ORDER BY c.from_at), '-infinity') AS after, c.from_at AS before FROM covered c
    UNION ALL
    SELECT coalesce(max(c.to_at), '-infinity'), 'infinity' FROM covered c
), parts AS (
    SELECT (SELECT sum(x.clicks) FROM report_sums x
        WHERE x.program_id = @program_id AND x.org_id = @org_id AND x.span = c.span AND x.start = c.start
          AND x.dimension = CASE WHEN sqlc.narg('link_id')::text IS NOT NULL THEN 'link'
              WHEN sqlc.narg('partner_id')::text IS NOT NULL THEN 'partner' ELSE 'total' END
          AND (sqlc.narg('partner_id')::text IS NULL OR x.partner_id = sqlc.narg('partner_id')::text)
          AND (sqlc.narg('link_id')::text IS NULL OR (x.key = sqlc.narg('link_id')::text
            AND x.partner_id = (SELECT l.partner_id FROM links l
                WHERE l.id = sqlc.narg('link_id')::text AND l.org_id = @org_id)))) AS n
    FROM covered c
    UNION ALL
    SELECT (SELECT sum(t.clicks) FROM clicks_counted t
        WHERE t.program_id = @program_id AND t.created_at >= g.after AND t.created_at < g.before
          AND (sqlc.narg('partner_id')::text IS NULL OR t.partner_id = sqlc.narg('partner_id')::text)
          AND (sqlc.narg('link_id')::text IS NULL OR t.link_id = sqlc.narg('link_id')::text))
    FROM gaps g WHERE g.after < g.before
)
SELECT (coalesce(sum(p.n), 0) - coalesce((SELECT sum(t.total) FROM tally_sums t
    WHERE t.program_id = @program_id AND t.org_id = @org_id AND t.list = 'forgotten_clicks'
      AND t.owner_id = coalesce(sqlc.narg('link_id')::text, sqlc.narg('partner_id')::text, '')
      AND (sqlc.narg('link_id')::text IS NULL OR sqlc.narg('partner_id')::text IS NULL
          OR sqlc.narg('partner_id')::text = (
        SELECT l.partner_id FROM links l WHERE l.id = sqlc.narg('link_id')::text
            AND l.org_id = @org_id))), 0))::bigint AS total
FROM parts p
WHERE EXISTS (SELECT 1 FROM programs o WHERE o.id = @program_id AND o.org_id = @org_id);

-- name: ClickGet :one
SELECT t.* FROM clicks t WHERE t.id = @id AND t.org_id = @org_id;

-- name: ClickLast :one
-- ClickLast returns the last click of a referral until a moment.
SELECT t.* FROM clicks t WHERE t.referral_id = @referral_id AND t.org_id = @org_id AND t.created_at <= @at
ORDER BY t.created_at DESC, t.id DESC LIMIT 1;

-- name: ClickInsert :exec
-- ClickInsert stores no address, only its hash under the program's key.
INSERT INTO clicks (id, org_id, program_id, partner_id, link_id, referral_id, param, ip_hash, user_agent, referer,
    country, device, landing_url, created_at, source, medium, campaign, referrer)
VALUES (@id, @org_id, @program_id, @partner_id, @link_id, @referral_id, @param, @ip_hash, @user_agent, @referer,
    @country, @device, @landing_url, @created_at, @source, @medium, @campaign, @referrer);
