-- Events, clicks and deliveries are partitioned by month (schema/000034, 000036).

-- name: MonthsMake :one
-- MonthsMake makes the missing partitions of a table up to the end of the month after next, and
-- counts them. prefix is that of its ids.
SELECT make_partitions(@list::text, @prefix::text)::bigint AS made;

-- name: MonthsDrop :one
-- MonthsDrop drops the months of a table that ended before a time and that no row needs, and counts
-- them.
SELECT drop_partitions(@list::text, @prefix::text, @before::timestamptz)::bigint AS dropped;

-- name: ClicksForget :one
-- ClicksForget removes the first month of clicks that ended before a time: it keeps clicks of
-- customers, and counts the others by day.
SELECT forget_clicks(@before::timestamptz)::bigint AS months;

-- name: ReferralsForget :one
-- ReferralsForget deletes referrals that ended before a time without a customer or a click, and
-- counts them by day. It reads lim of them behind after_id, and returns the last id, or '' at the
-- end.
WITH seen AS MATERIALIZED (
    SELECT r.id, r.status = 'visit' AND NOT r.current AND r.expires_at < @before::timestamptz
        AND NOT EXISTS (SELECT 1 FROM customers c WHERE c.referral_id = r.id)
        AND NOT EXISTS (SELECT 1 FROM clicks k WHERE k.referral_id = r.id) AS idle
    FROM referrals r WHERE r.id > @after_id::text AND r.id < id_at('ref_', @before::timestamptz)
    ORDER BY r.id LIMIT @lim
), gone AS (
    DELETE FROM referrals r USING seen s WHERE r.id = s.id AND s.idle AND r.status = 'visit' AND NOT r.current
    RETURNING r.org_id, r.program_id, r.partner_id, r.link_id, r.created_at
), counted AS (
    INSERT INTO forgotten AS f (org_id, program_id, list, partner_id, link_id, day, total)
    SELECT g.org_id, g.program_id, 'referrals', g.partner_id, coalesce(g.link_id, ''),
        (g.created_at AT TIME ZONE 'UTC')::date, count(*)
    FROM gone g GROUP BY 1, 2, 4, 5, 6
    ON CONFLICT (program_id, list, partner_id, link_id, day, source, medium, campaign, referrer, country, device)
        DO UPDATE SET total = f.total + excluded.total
)
SELECT coalesce(max(s.id), '')::text AS last_id FROM seen s;
