-- Sums that reports and list totals are read from.
SET LOCAL lock_timeout = '2s';

CREATE FUNCTION report_days(span text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE span WHEN 'day' THEN 1 ELSE span::integer END
$$;

-- The moment from which no day is summed yet; a row written after it needs no mark. settled is an hour ago. A day in
-- an earlier zone may have ended before, so everything up to settled is marked while that is possible.
CREATE FUNCTION report_open_since(settled timestamptz, zone text, changed timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN changed > settled - interval '72 hours' THEN settled
        ELSE zone_midnight(zone_day(settled, zone), zone) END
$$;

-- Summing a day again deletes the spans that include it.
CREATE FUNCTION report_take_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM report_spans s
    WHERE s.program_id = OLD.program_id AND s.span <> 'day' AND s.start <= OLD.start AND s.upto > OLD.start;
    RETURN NULL;
END $$;

-- The subjects of sums: everything, a partner, a link; a product, a part of the origin, a month of first sales
-- (cohort), each of the whole program and of a partner. Of the parts of the origin, partners have only the source;
-- figures without a partner have all.
CREATE FUNCTION report_dimensions() RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT ARRAY['total', 'partner', 'link', 'product', 'source', 'medium', 'campaign', 'referrer', 'country',
        'device', 'tracked_by', 'cohort', 'partner_product', 'partner_source', 'partner_medium', 'partner_campaign',
        'partner_referrer', 'partner_country', 'partner_device', 'partner_tracked_by', 'partner_cohort']
$$;

-- partner_id is empty for money without a partner, key for no key. Rows without a currency use the program's.
-- The customers of a cohort are those with their first sale of the month, in the currency.
CREATE TABLE report_sums (
    org_id            text COLLATE "C" NOT NULL,
    program_id        text COLLATE "C" NOT NULL,
    dimension         text COLLATE "C" NOT NULL,
    span              text COLLATE "C" NOT NULL,
    start             date NOT NULL,
    partner_id        text COLLATE "C" NOT NULL,
    key               text COLLATE "C" NOT NULL,
    currency          text COLLATE "C" NOT NULL,
    label             text,
    clicks            bigint NOT NULL,
    leads             bigint NOT NULL,
    customers         bigint NOT NULL,
    sales             bigint NOT NULL,
    refunded          bigint NOT NULL,
    revenue_minor     bigint NOT NULL,
    commissions_minor bigint NOT NULL,
    paid_minor        bigint NOT NULL DEFAULT 0,
    CONSTRAINT report_sums_pkey PRIMARY KEY (program_id, dimension, span, start, partner_id, key, currency),
    CONSTRAINT report_sums_dimension_check CHECK (dimension = ANY (report_dimensions())),
    CONSTRAINT report_sums_span_check CHECK (span IN ('day', '2', '4', '8', '16', '32', '64', '128', '256'))
);
-- The sums of one partner.
CREATE INDEX report_sums_partner_idx ON report_sums (program_id, partner_id, dimension, span, start)
    WHERE dimension IN ('partner', 'link', 'partner_product', 'partner_source', 'partner_cohort');

-- The spans that are summed.
CREATE TABLE report_spans (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    span       text COLLATE "C" NOT NULL,
    start      date NOT NULL,
    upto       date NOT NULL GENERATED ALWAYS AS (start + report_days(span)) STORED,
    again_on   date,
    zone       text COLLATE "C" NOT NULL DEFAULT 'UTC',
    from_at    timestamptz NOT NULL GENERATED ALWAYS AS (zone_midnight(start, zone)) STORED,
    to_at      timestamptz NOT NULL GENERATED ALWAYS AS (zone_midnight((start + report_days(span)), zone)) STORED,
    CONSTRAINT report_spans_pkey PRIMARY KEY (program_id, span, start),
    CONSTRAINT report_spans_span_check CHECK (span IN ('day', '2', '4', '8', '16', '32', '64', '128', '256'))
);
CREATE TRIGGER report_spans_take_back AFTER DELETE ON report_spans FOR EACH ROW WHEN (OLD.span = 'day')
    EXECUTE FUNCTION report_take_back();

-- Days that changed after they were summed.
CREATE TABLE report_marks (
    id         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    day        date NOT NULL,
    first_at   timestamptz NOT NULL,
    last_at    timestamptz NOT NULL,
    CONSTRAINT report_marks_pkey PRIMARY KEY (id),
    CONSTRAINT report_marks_moments_check CHECK (first_at <= last_at)
);
CREATE INDEX report_marks_day_idx ON report_marks (program_id, day);

-- Rows of one list. owner_id is empty for the whole program, or the id of a group, partner, link, coupon, payout or
-- payout batch. status is the action for the audit log. kind is set for commissions only.
CREATE TABLE tallies (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL,
    owner_id   text COLLATE "C" NOT NULL,
    status     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    total      bigint NOT NULL,
    CONSTRAINT tallies_pkey PRIMARY KEY (program_id, list, owner_id, status, kind),
    CONSTRAINT tallies_list_check CHECK (list IN ('audit_log_entries', 'commissions', 'customers', 'partners',
        'payouts', 'referrals', 'forgotten_clicks', 'forgotten_referrals'))
) WITH (fillfactor = 80);

-- Differences that are not in tallies yet. Most rows exist for a second.
CREATE TABLE tally_entries (
    id         bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL,
    owner_ids  text[] COLLATE "C" NOT NULL,
    status     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    difference bigint NOT NULL,
    CONSTRAINT tally_entries_pkey PRIMARY KEY (program_id, list, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 1);

-- Clicks as reports count them: single rows, and deleted ones by day.
CREATE VIEW clicks_counted AS
SELECT k.org_id, k.program_id, k.partner_id, k.link_id, k.created_at, 1 AS clicks, k.source, k.medium, k.campaign,
    k.referrer, k.country, k.device FROM clicks k
UNION ALL
SELECT f.org_id, f.program_id, f.partner_id, nullif(f.link_id, '') COLLATE "C",
    coalesce(f.at, f.day::timestamp AT TIME ZONE 'UTC'), f.total::integer, f.source, f.medium, f.campaign, f.referrer,
    f.country, f.device
FROM forgotten f WHERE f.list = 'clicks';

-- The spans whose sums are current: no day in them changed since. The marks are read once: they are few until a
-- large change makes many, which the planner does not know yet.
CREATE VIEW report_untouched AS
WITH touched AS MATERIALIZED (
    SELECT m.program_id, min(m.first_at) AS first_at, max(m.last_at) AS last_at FROM report_marks m
    GROUP BY m.program_id, m.day
)
SELECT s.org_id, s.program_id, s.span, s.start, s.upto, s.zone, s.from_at, s.to_at FROM report_spans s
WHERE NOT EXISTS (
    SELECT 1 FROM touched t WHERE t.program_id = s.program_id AND t.last_at >= s.from_at AND t.first_at < s.to_at);

-- The widest current spans. Two spans overlap only if one contains the other; the containing one comes first.
CREATE VIEW report_covered AS
SELECT w.org_id, w.program_id, w.span, w.start, w.upto, w.zone, w.from_at, w.to_at FROM (
    SELECT r.org_id, r.program_id, r.span, r.start, r.upto, r.zone, r.from_at, r.to_at,
        max(r.to_at) OVER (PARTITION BY r.org_id, r.program_id
            ORDER BY r.from_at, r.to_at DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM report_untouched r) w
WHERE coalesce(w.reached, '-infinity') <= w.from_at;

-- The facts that reports count, one row each, at the moment that dates them (decisions 141 and 199). A partner's
-- money has the link of its customer, and all money the customer's origin (decisions 316). Paid commissions count a
-- second time, when their payout was paid (decisions 457).
CREATE VIEW report_facts AS
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

-- The rows of the lists, with the columns they are counted by.
CREATE VIEW tally_rows AS
SELECT org_id, program_id, 'audit_log_entries' AS list, ARRAY[]::text[] AS owner_ids, action AS status,
    '' AS kind, 1::bigint AS n FROM audit_log_entries
UNION ALL
SELECT org_id, program_id, 'commissions', array_remove(ARRAY[partner_id, payout_id], NULL), status, kind, 1
    FROM commissions
UNION ALL
SELECT org_id, program_id, 'customers', array_remove(ARRAY[partner_id, link_id, coupon_id], NULL), status, '', 1
    FROM customers
UNION ALL
SELECT org_id, program_id, 'partners', array_remove(ARRAY[group_id], NULL), status, '', 1 FROM partners
UNION ALL
SELECT org_id, program_id, 'payouts', array_remove(ARRAY[partner_id, batch_id], NULL), status, '', 1 FROM payouts
UNION ALL
SELECT org_id, program_id, 'referrals', array_remove(ARRAY[partner_id, link_id], NULL), status, '', 1 FROM referrals
UNION ALL
SELECT org_id, program_id, ('forgotten_' || list) COLLATE "default",
    array_remove(ARRAY[partner_id, nullif(link_id, '')], NULL), '', '', total FROM forgotten;

-- The sum for readers: totals plus differences, each under every owner.
CREATE VIEW tally_sums AS
SELECT t.org_id, t.program_id, t.list, t.owner_id, t.status, t.kind, t.total FROM tallies t
UNION ALL
SELECT e.org_id, e.program_id, e.list, o.owner_id COLLATE "C", e.status, e.kind, e.difference
    FROM tally_entries e CROSS JOIN LATERAL unnest(array_append(e.owner_ids, '')) o(owner_id);

-- Counts all lists again, for rows that were changed past the triggers. It locks the lists for writes.
CREATE FUNCTION recount_tallies() RETURNS void LANGUAGE sql AS $$
    LOCK TABLE referrals, customers, partners, commissions, payouts, audit_log_entries,
        forgotten IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM tally_entries;
    DELETE FROM tallies;
    INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total)
    SELECT a.org_id, a.program_id, a.list, o.owner_id, a.status, a.kind, sum(a.n)
    FROM (SELECT r.org_id, r.program_id, r.list, r.owner_ids, r.status, r.kind, sum(r.n) AS n FROM tally_rows r
        GROUP BY 1, 2, 3, 4, 5, 6) a
    CROSS JOIN LATERAL unnest(array_append(a.owner_ids, '')) o(owner_id) GROUP BY 1, 2, 3, 4, 5, 6
$$;

-- Takes the lowest month of clicks that is older than before and was not taken yet. Clicks that brought a customer,
-- or still may, move to a new partition without personal data; the others are counted by day, in the program's zone.
-- Returns the number of months taken. Others read and write while sums and copies are made; a delete from that month
-- waits. If the program's zone changed, the days are summed again, because two days of the same date may add up.
CREATE FUNCTION forget_clicks(before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    p record;
    kept text;
BEGIN
    IF NOT (has_table_privilege(session_user, 'clicks', 'DELETE')
        OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not delete from clicks', session_user);
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('partitions/clicks', 0)) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    SELECT o.name, pg_get_expr(c.relpartbound, c.oid) AS bound INTO p FROM partitions_of('clicks') o
        JOIN pg_class c ON c.oid = o.name::regclass
    WHERE o.upper_id COLLATE "C" <= id_at('clk_', least(before, now())) AND o.upper_id COLLATE "C" > 'clk_0'
        AND o.name NOT LIKE '%\_kept' ORDER BY o.upper_id COLLATE "C" LIMIT 1;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    kept := p.name || '_kept';
    EXECUTE format('LOCK TABLE %I IN SHARE ROW EXCLUSIVE MODE', p.name);
    EXECUTE format('CREATE TABLE %I (LIKE clicks INCLUDING CONSTRAINTS INCLUDING INDEXES)', kept);
    EXECUTE format('INSERT INTO %I (id, org_id, program_id, partner_id, link_id, referral_id, param, referer, country,
        device, landing_url, created_at, source, medium, campaign, referrer)
        SELECT k.id, k.org_id, k.program_id, k.partner_id, k.link_id, k.referral_id, k.param, k.referer, k.country,
            k.device, k.landing_url, k.created_at, k.source, k.medium, k.campaign, k.referrer
        FROM %I k WHERE k.id IN (SELECT c.click_id FROM customers c UNION ALL SELECT o.id FROM %I o
            JOIN referrals r ON r.id = o.referral_id AND r.current)',
        kept, p.name, p.name);
    EXECUTE format('ANALYZE %I', kept);
    EXECUTE format('INSERT INTO report_marks (org_id, program_id, day, first_at, last_at)
        SELECT k.org_id, k.program_id, d.day, d.day::timestamp AT TIME ZONE ''UTC'',
            (d.day + 1)::timestamp AT TIME ZONE ''UTC'' - interval ''1 microsecond''
        FROM (SELECT o.org_id, o.program_id, min(o.created_at) AS low, max(o.created_at) AS high FROM %I o
            JOIN programs g ON g.id = o.program_id AND g.zone_changed_at IS NOT NULL GROUP BY 1, 2) k
        CROSS JOIN LATERAL (SELECT generate_series((k.low - interval ''1 day'') AT TIME ZONE ''UTC'',
            (k.high + interval ''2 days'') AT TIME ZONE ''UTC'', ''1 day'')::date AS day) d',
        p.name);
    EXECUTE format('INSERT INTO forgotten AS f (org_id, program_id, list, partner_id, link_id, day, total, at, source,
        medium, campaign, referrer, country, device)
        SELECT k.org_id, k.program_id, ''clicks'', k.partner_id, k.link_id, k.day, k.total,
            (k.day + time ''12:00'') AT TIME ZONE k.time_zone, k.source, k.medium, k.campaign, k.referrer, k.country,
            k.device
        FROM (SELECT o.org_id, o.program_id, o.partner_id, coalesce(o.link_id, '''') AS link_id,
            zone_day(o.created_at, g.time_zone) AS day, g.time_zone, coalesce(o.source, '''') AS source,
            coalesce(o.medium, '''') AS medium, coalesce(o.campaign, '''') AS campaign,
            coalesce(o.referrer, '''') AS referrer, coalesce(o.country, '''') AS country,
            coalesce(o.device, '''') AS device, count(*) AS total
            FROM %I o JOIN programs g ON g.id = o.program_id WHERE NOT EXISTS (SELECT FROM %I s WHERE s.id = o.id)
                GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) k
        ON CONFLICT (program_id, list, partner_id, link_id, day, source, medium, campaign, referrer, country, device)
            DO UPDATE SET total = f.total + excluded.total',
            p.name, kept);
    -- Others wait from here on. DETACH would lock partners, too.
    LOCK TABLE partners IN SHARE ROW EXCLUSIVE MODE;
    EXECUTE format('DROP TABLE %I', p.name);
    EXECUTE format('ALTER TABLE clicks ATTACH PARTITION %I %s', kept, p.bound);
    RETURN 1;
-- A partner may be deleted meanwhile; the next call counts without it.
EXCEPTION WHEN lock_not_available OR foreign_key_violation THEN
    RETURN 0;
END $$;

-- Each list has triggers that write a difference for every statement that changes its rows. The functions name their
-- table with its schema and run as the role that writes: setting a search path in each function would make
-- inserts a fifth slower.
DO $do$
DECLARE
    list record;
    work record;
    rows text;
BEGIN
    FOR list IN SELECT * FROM (VALUES
        ('audit_log_entries', '', 'action', ''''''),
        ('commissions', 'partner_id, payout_id', 'status', 'kind'),
        ('customers', 'partner_id, link_id, coupon_id', 'status', ''''''),
        ('partners', 'group_id', 'status', ''''''),
        ('payouts', 'partner_id, batch_id', 'status', ''''''),
        ('referrals', 'partner_id, link_id', 'status', '''''')) v (name, owners, status, kind)
    LOOP
        rows := format('SELECT %%s AS n, org_id, program_id, array_remove(ARRAY[%s]::text[], NULL) AS owner_ids, '
            '%s AS status, %s AS kind FROM %%s',
            list.owners, list.status, list.kind);
        FOR work IN SELECT * FROM (VALUES
            ('insert', 'NEW TABLE AS came', format(rows, 1, 'came')),
            ('delete', 'OLD TABLE AS gone', format(rows, -1, 'gone')),
            ('update', 'NEW TABLE AS came OLD TABLE AS gone',
                format(rows, 1, 'came') || ' UNION ALL ' || format(rows, -1, 'gone'))) v (name, tables, rows)
        LOOP
            EXECUTE format($sql$
                CREATE FUNCTION tally_%1$s_%2$s() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    INSERT INTO %5$I.tally_entries (org_id, program_id, list, owner_ids, status, kind, difference)
                    SELECT org_id, program_id, '%1$s', owner_ids, status, kind, sum(n) FROM (%4$s) changed
                    GROUP BY org_id, program_id, owner_ids, status, kind HAVING sum(n) <> 0;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER %1$s_tally_%2$s AFTER %2$s ON %1$s REFERENCING %3$s FOR EACH STATEMENT
                    EXECUTE FUNCTION tally_%1$s_%2$s()
                $sql$, list.name, work.name, work.tables, work.rows, current_schema());
        END LOOP;
    END LOOP;
    -- Rows of forgotten name their list and count for more than one.
    rows := 'SELECT %s total AS n, org_id, program_id, list, '
        'array_remove(ARRAY[partner_id, nullif(link_id, '''')]::text[], NULL) AS owner_ids FROM %s';
    FOR work IN SELECT * FROM (VALUES
        ('insert', 'NEW TABLE AS came', format(rows, '', 'came')),
        ('delete', 'OLD TABLE AS gone', format(rows, '-', 'gone')),
        ('update', 'NEW TABLE AS came OLD TABLE AS gone',
            format(rows, '', 'came') || ' UNION ALL ' || format(rows, '-', 'gone'))) v (name, tables, rows)
    LOOP
        EXECUTE format($sql$
            CREATE FUNCTION tally_forgotten_%1$s() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO %4$I.tally_entries (org_id, program_id, list, owner_ids, status, kind, difference)
                SELECT org_id, program_id, 'forgotten_' || list, owner_ids, '', '', sum(n) FROM (%3$s) changed
                GROUP BY org_id, program_id, list, owner_ids HAVING sum(n) <> 0;
                RETURN NULL;
            END $$;
            CREATE TRIGGER forgotten_tally_%1$s AFTER %1$s ON forgotten REFERENCING %2$s FOR EACH STATEMENT
                EXECUTE FUNCTION tally_forgotten_%1$s()
            $sql$, work.name, work.tables, work.rows, current_schema());
    END LOOP;
    EXECUTE format('ALTER FUNCTION forget_clicks(timestamptz) SET search_path = %I, pg_temp', current_schema());
END $do$;
