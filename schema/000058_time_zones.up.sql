-- Days and months of a program are those of its time_zone. A span of report_sums is
-- bounded by two moments, which say what it sums whatever the zone is now: totals go
-- on using the spans of an earlier zone until the job has summed the days of the new
-- one, and reports use those of the zone alone. For the same reason a mark notes
-- moments, not a day.
-- The release before survives this: it reads and writes spans of UTC, which are the
-- days of every program whose zone nobody has set. A mark without moments is of the
-- whole UTC day.
SET LOCAL lock_timeout = '2s';

-- The strongest locks first, in the servers' order.
LOCK TABLE programs IN ACCESS EXCLUSIVE MODE;
LOCK TABLE report_sums IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE report_spans, report_marks, forgotten IN ACCESS EXCLUSIVE MODE;

-- The first moment of a day in a zone. Where clocks are set back across midnight it
-- comes twice, and PostgreSQL takes the later one: the offset of the day before
-- gives the earlier one.
CREATE FUNCTION zone_midnight(day date, zone text) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    late timestamptz := day::timestamp AT TIME ZONE zone;
    before timestamp;
    early timestamptz;
BEGIN
    IF zone = 'UTC' THEN
        RETURN late;
    END IF;
    before := late AT TIME ZONE 'UTC' - interval '24 hours';
    early := (day::timestamp - (before AT TIME ZONE 'UTC' AT TIME ZONE zone - before)) AT TIME ZONE 'UTC';
    RETURN CASE WHEN early < late AND early AT TIME ZONE zone >= day THEN early ELSE late END;
END $$;

-- The day of a moment: the last one that has begun. Where clocks are set back across
-- midnight, the calendar shows the day before again; that still counts for the day.
CREATE FUNCTION zone_day(at timestamptz, zone text) RETURNS date LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    day date := (at AT TIME ZONE zone)::date;
BEGIN
    IF zone <> 'UTC' AND zone_midnight(day + 1, zone) <= at THEN
        RETURN day + 1;
    END IF;
    RETURN day;
END $$;

-- Where the days begin of which none is summed: what is written there needs no mark.
-- settled is an hour ago. A day in an earlier zone may have ended before, so that
-- everything up to settled is marked while there can be one.
CREATE FUNCTION report_open_since(settled timestamptz, zone text, changed timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN changed > settled - interval '72 hours' THEN settled ELSE zone_midnight(zone_day(settled, zone), zone) END
$$;

-- Reports whether PostgreSQL knows a zone: a query with one that it does not fails.
CREATE FUNCTION zone_known(zone text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM now() AT TIME ZONE zone;
    RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;

-- When the zone was changed last. For some time after that the job does not sum the
-- program's days: a write that began before has ended by then.
ALTER TABLE programs ADD COLUMN zone_changed_at timestamptz;

-- No two spans of a program overlap, unless one is part of the other.
ALTER TABLE report_spans ADD COLUMN zone text COLLATE "C" NOT NULL DEFAULT 'UTC';
ALTER TABLE report_spans
    ADD COLUMN from_at timestamptz NOT NULL GENERATED ALWAYS AS (zone_midnight(start, zone)) STORED,
    ADD COLUMN to_at timestamptz NOT NULL GENERATED ALWAYS AS (zone_midnight(start + report_days(span), zone)) STORED;

-- The first and the last moment that something has touched, both of the UTC day.
ALTER TABLE report_marks ADD COLUMN first_at timestamptz, ADD COLUMN last_at timestamptz;
UPDATE report_marks SET first_at = day::timestamp AT TIME ZONE 'UTC',
    last_at = (day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond';
ALTER TABLE report_marks ALTER first_at SET NOT NULL, ALTER last_at SET NOT NULL,
    ADD CONSTRAINT report_marks_moments_check CHECK (first_at <= last_at);

-- Only the release before writes a mark without moments.
CREATE FUNCTION report_mark_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.first_at := NEW.day::timestamp AT TIME ZONE 'UTC';
    NEW.last_at := (NEW.day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 microsecond';
    RETURN NEW;
END $$;
CREATE TRIGGER report_marks_day BEFORE INSERT ON report_marks
    FOR EACH ROW WHEN (NEW.first_at IS NULL) EXECUTE FUNCTION report_mark_day();

CREATE OR REPLACE VIEW report_untouched AS
WITH touched AS MATERIALIZED (
    SELECT m.program_id, min(m.first_at) AS first_at, max(m.last_at) AS last_at FROM report_marks m
    GROUP BY m.program_id, m.day
)
SELECT s.org_id, s.program_id, s.span, s.start, s.upto, s.zone, s.from_at, s.to_at FROM report_spans s
WHERE NOT EXISTS (
    SELECT 1 FROM touched t WHERE t.program_id = s.program_id AND t.last_at >= s.from_at AND t.first_at < s.to_at);

CREATE OR REPLACE VIEW report_covered AS
SELECT w.org_id, w.program_id, w.span, w.start, w.upto, w.zone, w.from_at, w.to_at FROM (
    SELECT r.org_id, r.program_id, r.span, r.start, r.upto, r.zone, r.from_at, r.to_at,
        max(r.to_at) OVER (PARTITION BY r.org_id, r.program_id
            ORDER BY r.from_at, r.to_at DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM report_untouched r) w
WHERE coalesce(w.reached, '-infinity') <= w.from_at;

-- Clicks that are gone count at one moment of their day, which no later zone moves:
-- noon, which is in the day of the same date in most zones.
ALTER TABLE forgotten ADD COLUMN at timestamptz;

CREATE OR REPLACE VIEW clicks_counted AS
SELECT k.org_id, k.program_id, k.partner_id, k.link_id, k.created_at, 1 AS clicks FROM clicks k
UNION ALL
SELECT f.org_id, f.program_id, f.partner_id, nullif(f.link_id, '') COLLATE "C",
    coalesce(f.at, f.day::timestamp AT TIME ZONE 'UTC'), f.total::integer
FROM forgotten f WHERE f.list = 'clicks';

-- As before, but the days are the program's. Where the zone was changed once, two days
-- of the same date may be added up, so that the days are summed again.
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
    EXECUTE format('INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
        SELECT k.org_id, k.program_id, d.day, d.day::timestamp AT TIME ZONE ''UTC'', (d.day + 1)::timestamp AT TIME ZONE ''UTC'' - interval ''1 microsecond''
        FROM (SELECT o.org_id, o.program_id, min(o.created_at) AS low, max(o.created_at) AS high FROM %I o
            JOIN programs g ON g.id = o.program_id AND g.zone_changed_at IS NOT NULL GROUP BY 1, 2) k
        CROSS JOIN LATERAL (SELECT generate_series((k.low - interval ''1 day'') AT TIME ZONE ''UTC'', (k.high + interval ''2 days'') AT TIME ZONE ''UTC'', ''1 day'')::date AS day) d',
        p.name);
    EXECUTE format('INSERT INTO forgotten AS f (org_id, program_id, list, partner_id, link_id, day, total, at)
        SELECT k.org_id, k.program_id, ''clicks'', k.partner_id, k.link_id, k.day, k.total, (k.day + time ''12:00'') AT TIME ZONE k.time_zone
        FROM (SELECT o.org_id, o.program_id, o.partner_id, coalesce(o.link_id, '''') AS link_id, zone_day(o.created_at, g.time_zone) AS day, g.time_zone, count(*) AS total
            FROM %I o JOIN programs g ON g.id = o.program_id WHERE NOT EXISTS (SELECT FROM %I s WHERE s.id = o.id) GROUP BY 1, 2, 3, 4, 5, 6) k
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
