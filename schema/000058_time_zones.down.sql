-- Sums of other zones go: the release before takes every span for one of UTC.
SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, report_sums, report_spans, report_marks IN SHARE ROW EXCLUSIVE MODE;
DELETE FROM report_spans WHERE zone <> 'UTC';

DROP VIEW report_covered;
DROP VIEW report_untouched;
CREATE VIEW report_untouched AS
WITH touched AS MATERIALIZED (
    SELECT DISTINCT m.program_id, m.day FROM report_marks m
)
SELECT s.org_id, s.program_id, s.span, s.start, s.upto FROM report_spans s
WHERE NOT EXISTS (
    SELECT 1 FROM touched t WHERE t.program_id = s.program_id AND t.day >= s.start AND t.day < s.upto);
CREATE VIEW report_covered AS
SELECT w.org_id, w.program_id, w.span, w.start, w.upto FROM (
    SELECT r.org_id, r.program_id, r.span, r.start, r.upto, max(r.upto) OVER (PARTITION BY r.org_id, r.program_id
        ORDER BY r.start, r.upto DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM report_untouched r) w
WHERE coalesce(w.reached, '-infinity') <= w.start;

DROP TRIGGER report_marks_day ON report_marks;
DROP FUNCTION report_mark_day();
ALTER TABLE report_marks DROP COLUMN first_at, DROP COLUMN last_at;
ALTER TABLE report_spans DROP COLUMN from_at, DROP COLUMN to_at, DROP COLUMN zone;
ALTER TABLE programs DROP COLUMN zone_changed_at;

CREATE OR REPLACE VIEW clicks_counted AS
SELECT k.org_id, k.program_id, k.partner_id, k.link_id, k.created_at, 1 AS clicks FROM clicks k
UNION ALL
SELECT f.org_id, f.program_id, f.partner_id, nullif(f.link_id, '') COLLATE "C", f.day::timestamp AT TIME ZONE 'UTC', f.total::integer
FROM forgotten f WHERE f.list = 'clicks';
ALTER TABLE forgotten DROP COLUMN at;

CREATE OR REPLACE FUNCTION forget_clicks(before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    p record;
    kept text;
BEGIN
    IF NOT (has_table_privilege(session_user, 'clicks', 'DELETE') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not delete from clicks', session_user);
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('partitions/clicks', 0)) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    SELECT o.name, pg_get_expr(c.relpartbound, c.oid) AS bound INTO p FROM partitions_of('clicks') o JOIN pg_class c ON c.oid = o.name::regclass
    WHERE o.upper_id COLLATE "C" <= id_at('clk_', least(before, now())) AND o.upper_id COLLATE "C" > 'clk_0' AND o.name NOT LIKE '%\_kept' ORDER BY o.upper_id COLLATE "C" LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    kept := p.name || '_kept';
    EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', p.name);
    EXECUTE format('CREATE TABLE %I (LIKE clicks INCLUDING CONSTRAINTS INCLUDING INDEXES)', kept);
    EXECUTE format('INSERT INTO %I (id, org_id, program_id, partner_id, link_id, referral_id, param, referer, country, device, landing_url, created_at)
        SELECT k.id, k.org_id, k.program_id, k.partner_id, k.link_id, k.referral_id, k.param, k.referer, k.country, k.device, k.landing_url, k.created_at
        FROM %I k WHERE k.id IN (SELECT c.click_id FROM customers c UNION ALL SELECT o.id FROM %I o JOIN referrals r ON r.id = o.referral_id AND r.current)',
        kept, p.name, p.name);
    EXECUTE format('ANALYZE %I', kept);
    EXECUTE format('INSERT INTO forgotten AS f (org_id, program_id, list, partner_id, link_id, day, total)
        SELECT k.org_id, k.program_id, ''clicks'', k.partner_id, coalesce(k.link_id, ''''), (k.created_at AT TIME ZONE ''UTC'')::date, count(*)
        FROM %I k WHERE NOT EXISTS (SELECT FROM %I s WHERE s.id = k.id) GROUP BY 1, 2, 4, 5, 6
        ON CONFLICT (program_id, list, partner_id, link_id, day) DO UPDATE SET total = f.total + excluded.total', p.name, kept);
    -- From here on others wait. To detach it first would keep them from partners, too.
    LOCK TABLE partners IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format('DROP TABLE %I', p.name);
    EXECUTE format('ALTER TABLE clicks ATTACH PARTITION %I %s', kept, p.bound);
    RETURN 1;
-- A partner may have gone meanwhile: the next time counts without it.
EXCEPTION WHEN lock_not_available OR foreign_key_violation THEN
    RETURN 0;
END $$;
DO $do$
BEGIN
    EXECUTE format('ALTER FUNCTION forget_clicks(timestamptz) SET search_path = %I, pg_temp', current_schema());
END $do$;
DROP FUNCTION report_open_since(timestamptz, text, timestamptz), zone_known(text), zone_day(timestamptz, text), zone_midnight(date, text);
