-- Clicks and deliveries lie in partitions by month, as events do. A month of
-- deliveries is dropped; of a month of clicks, past a retention that an operator may
-- set, what brought a customer stays, and the sums of the others by day. Referrals
-- that led to nothing go with them, counted in the same table.
--
-- Little is copied: the tables as they are become the first partitions. Ids of no
-- time, as those of sample programs are, move into tables beside them.
-- The release before survives this: it reads and writes both tables by the same
-- statements, and its purge of deliveries goes on.
SET LOCAL lock_timeout = '2s';

DO $do$
DECLARE
    l record;
BEGIN
    FOR l IN SELECT * FROM (VALUES ('clicks', 'clk_'), ('webhook_deliveries', 'whd_')) v (name, prefix) LOOP
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I, ADD CONSTRAINT %I CHECK (id >= %L AND id < %L) NOT VALID', l.name,
            l.name || '_first_check', l.name || '_first_check', l.prefix || '0',
            id_at(l.prefix, (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC'));
    END LOOP;
END $do$;

-- Then, in a transaction of its own:
DO $do$
DECLARE
    l record;
BEGIN
    -- Nobody sees what moves until all is done.
    FOR l IN SELECT v.name, v.name || w.suffix AS part, format(w.which, v.prefix) AS which
        FROM (VALUES ('clicks', 'clk_'), ('webhook_deliveries', 'whd_')) v (name, prefix)
        CROSS JOIN (VALUES ('_low', 'id < ''%s0'''), ('_other', 'id >= ''%s1''')) w (suffix, which) LOOP
        EXECUTE format('CREATE TABLE IF NOT EXISTS %I (LIKE %I INCLUDING CONSTRAINTS)', l.part, l.name);
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', l.part, l.name || '_first_check');
        EXECUTE format('WITH gone AS (DELETE FROM %I WHERE %s RETURNING *) INSERT INTO %I SELECT * FROM gone', l.name, l.which, l.part);
    END LOOP;
    ALTER TABLE clicks VALIDATE CONSTRAINT clicks_first_check;
    ALTER TABLE webhook_deliveries VALIDATE CONSTRAINT webhook_deliveries_first_check;
END $do$;

-- Then, in a transaction of its own:
SET LOCAL lock_timeout = '2s';

-- How many clicks and referrals there were that are gone, by day.
CREATE TABLE forgotten (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    link_id    text COLLATE "C" NOT NULL, -- '' for none
    day        date NOT NULL,
    total      bigint NOT NULL,
    CONSTRAINT forgotten_pkey PRIMARY KEY (program_id, list, partner_id, link_id, day),
    CONSTRAINT forgotten_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT forgotten_list_check CHECK (list IN ('clicks', 'referrals')),
    CONSTRAINT forgotten_total_check CHECK (total > 0)
);
CREATE INDEX forgotten_day_idx ON forgotten (program_id, list, day);

ALTER FUNCTION make_partitions(text, text) SET lock_timeout = '500ms';

-- Drops partitions that hold nothing as young as before, and counts them; one that
-- is not over by the clock of the database stays, whatever a server's says, and one
-- that something needs. Where somebody reads the table for long, it gives up until
-- the next time: whoever comes after waits for it.
CREATE OR REPLACE FUNCTION drop_partitions(list text, prefix text, before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    p record;
    need text;
    needed boolean;
    dropped bigint := 0;
BEGIN
    IF NOT (has_table_privilege(session_user, list, 'DELETE') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not delete from %s', session_user, list);
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR p IN SELECT o.name, o.upper_id FROM partitions_of(list) o
        WHERE o.upper_id COLLATE "C" <= id_at(prefix, least(before, now())) AND o.upper_id COLLATE "C" > prefix || '0' LOOP
        -- A delivery stays until it has ended, and an event as long as a delivery of it
        -- does; one of a sample program does not end, and has no event. Asked again under the lock, since a replay may have come.
        need := CASE list WHEN 'events' THEN
                format('SELECT EXISTS (SELECT FROM webhook_deliveries WHERE event_id < %L AND NOT starts_with(id, ''sample_''))', p.upper_id)
            ELSE format('SELECT EXISTS (SELECT FROM %I WHERE next_attempt_at IS NOT NULL)', p.name) END;
        EXECUTE need INTO needed;
        EXIT WHEN needed;
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', list);
        EXECUTE need INTO needed;
        EXIT WHEN needed;
        EXECUTE format('DROP TABLE %I', p.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

-- Takes the lowest month of clicks that holds nothing as young as before and has not
-- been taken yet: what brought a customer, or still may, goes into a partition in its
-- place, without what tells of a person; the rest is counted by day. Returns how many
-- months it took. Sums and copies are made while others read and write; who deletes
-- from that month waits.
CREATE FUNCTION forget_clicks(before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
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
DECLARE
    l record;
    r record;
    first text;
    bound text;
BEGIN
    -- First what the others refer to, as their writers do.
    LOCK TABLE partners, webhook_endpoints IN SHARE ROW EXCLUSIVE MODE;
    LOCK TABLE clicks, webhook_deliveries IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('ALTER FUNCTION drop_partitions(text, text, timestamptz) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION forget_clicks(timestamptz) SET search_path = %I, pg_temp', current_schema());
    -- What has moved was nobody's to delete.
    FOREACH first IN ARRAY '{_low,_other}'::text[] LOOP
        EXECUTE format('DELETE FROM %I k WHERE NOT EXISTS (SELECT FROM partners p WHERE p.program_id = k.program_id AND p.id = k.partner_id)', 'clicks' || first);
        EXECUTE format('DELETE FROM %I d WHERE NOT EXISTS (SELECT FROM webhook_endpoints w WHERE w.id = d.endpoint_id)', 'webhook_deliveries' || first);
    END LOOP;
    FOR l IN SELECT * FROM (VALUES ('clicks', 'clk_'), ('webhook_deliveries', 'whd_')) v (name, prefix) LOOP
        first := l.name || '_first';
        SELECT substring(pg_get_constraintdef(k.oid) FROM format('< ''(%s[^'']*)''', l.prefix)) INTO bound FROM pg_constraint k
        WHERE k.conrelid = l.name::regclass AND k.conname = first || '_check';
        EXECUTE format('ALTER TABLE %I RENAME TO %I', l.name, first);
        EXECUTE format('ALTER TABLE %I RENAME CONSTRAINT %I TO %I', first, l.name || '_pkey', first || '_pkey');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) PARTITION BY RANGE (id)', l.name, first);
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I, ADD CONSTRAINT %I PRIMARY KEY (id)', l.name, first || '_check', l.name || '_pkey');
        -- Named as PostgreSQL names those of other partitions.
        FOR r IN SELECT i.indexrelid::regclass AS name, pg_get_indexdef(i.indexrelid) AS def, string_agg(a.attname, '_' ORDER BY k.n) AS columns
            FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k (number, n) JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
            WHERE i.indrelid = first::regclass AND NOT i.indisprimary GROUP BY i.indexrelid LOOP
            EXECUTE format('ALTER INDEX %s RENAME TO %I', r.name, format('%s_%s_idx', first, r.columns));
            EXECUTE replace(r.def, first, l.name);
        END LOOP;
        FOR r IN SELECT k.conname, pg_get_constraintdef(k.oid) AS def FROM pg_constraint k WHERE k.conrelid = first::regclass AND k.contype = 'f' LOOP
            EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', l.name, r.conname, r.def);
        END LOOP;
        FOR r IN SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
            FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = first::regclass AND a.grantee <> c.relowner LOOP
            EXECUTE format('GRANT %s ON %I TO %s', r.privilege_type, l.name, r.role);
        END LOOP;
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', l.name, first, l.prefix || '0', bound);
        EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', first, first || '_check');
        -- No time until the year 2248 is in there: ids of samples, and any that were made by hand.
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', l.name, l.name || '_low', l.prefix || '0');
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (MAXVALUE)', l.name, l.name || '_other', l.prefix || '1');
        PERFORM make_partitions(l.name, l.prefix);
    END LOOP;
END $do$;

-- Clicks as figures count them: one by one, and those that are gone by the day.
CREATE VIEW clicks_counted AS
SELECT k.org_id, k.program_id, k.partner_id, k.link_id, k.created_at, 1 AS clicks FROM clicks k
UNION ALL
SELECT f.org_id, f.program_id, f.partner_id, nullif(f.link_id, '') COLLATE "C", f.day::timestamp AT TIME ZONE 'UTC', f.total::integer
FROM forgotten f WHERE f.list = 'clicks';

CREATE OR REPLACE VIEW report_facts AS
SELECT k.program_id, k.created_at AS at, k.partner_id, k.link_id, NULL::text AS product, NULL::text AS product_name, NULL::text AS currency,
    k.clicks, 0 AS leads, 0 AS customers, 0 AS sales, 0 AS refunded, 0::bigint AS revenue_minor, 0::bigint AS commissions_minor
FROM clicks_counted k
UNION ALL
SELECT c.program_id, c.lead_at, c.partner_id, c.link_id, NULL, NULL, NULL, 0, 1, 0, 0, 0, 0, 0 FROM customers c
UNION ALL
SELECT c.program_id, c.converted_at, c.partner_id, c.link_id, coalesce(f.product_id, f.product_name), f.product_name, NULL, 0, 0, 1, 0, 0, 0, 0
FROM customers c LEFT JOIN sales f ON f.customer_id = c.id AND f.is_first_sale WHERE c.converted_at IS NOT NULL
UNION ALL
SELECT s.program_id, s.occurred_at, s.partner_id, CASE WHEN s.partner_id IS NOT NULL THEN c.link_id END, coalesce(s.product_id, s.product_name), s.product_name,
    s.currency, 0, 0, 0, 1, (s.refunded_at IS NOT NULL)::int, CASE WHEN s.refunded_at IS NULL THEN s.amount_minor ELSE 0 END, 0
FROM sales s LEFT JOIN customers c ON c.id = s.customer_id
UNION ALL
SELECT s.program_id, s.occurred_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name, k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor
FROM sales s JOIN commissions k ON k.sale_id = s.id AND k.kind <> 'clawback' LEFT JOIN customers c ON c.id = k.customer_id
WHERE k.status NOT IN ('rejected', 'voided')
UNION ALL
SELECT k.program_id, k.created_at, k.partner_id, c.link_id, coalesce(s.product_id, s.product_name), s.product_name, k.currency, 0, 0, 0, 0, 0, 0, k.amount_minor
FROM commissions k LEFT JOIN sales s ON s.id = k.sale_id LEFT JOIN customers c ON c.id = k.customer_id
WHERE (k.sale_id IS NULL OR k.kind = 'clawback') AND k.status NOT IN ('rejected', 'voided');

-- The tallies count them too: forgotten_clicks and forgotten_referrals.
ALTER TABLE tallies DROP CONSTRAINT tallies_list_check, ADD CONSTRAINT tallies_list_check
    CHECK (list IN ('audit_log_entries', 'commissions', 'customers', 'partners', 'payouts', 'referrals', 'forgotten_clicks', 'forgotten_referrals'));

CREATE OR REPLACE VIEW tally_rows AS
SELECT org_id, program_id, 'audit_log_entries' AS list, ARRAY[]::text[] AS owner_ids, action AS status, '' AS kind, 1::bigint AS n FROM audit_log_entries
UNION ALL
SELECT org_id, program_id, 'commissions', array_remove(ARRAY[partner_id, payout_id], NULL), status, kind, 1 FROM commissions
UNION ALL
SELECT org_id, program_id, 'customers', array_remove(ARRAY[partner_id, link_id, coupon_id], NULL), status, '', 1 FROM customers
UNION ALL
SELECT org_id, program_id, 'partners', array_remove(ARRAY[group_id], NULL), status, '', 1 FROM partners
UNION ALL
SELECT org_id, program_id, 'payouts', array_remove(ARRAY[partner_id, batch_id], NULL), status, '', 1 FROM payouts
UNION ALL
SELECT org_id, program_id, 'referrals', array_remove(ARRAY[partner_id, link_id], NULL), status, '', 1 FROM referrals
UNION ALL
SELECT org_id, program_id, ('forgotten_' || list) COLLATE "default", array_remove(ARRAY[partner_id, nullif(link_id, '')], NULL), '', '', total FROM forgotten;

CREATE OR REPLACE FUNCTION recount_tallies() RETURNS void LANGUAGE sql AS $$
    LOCK TABLE referrals, customers, partners, commissions, payouts, audit_log_entries, forgotten IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM tally_entries;
    DELETE FROM tallies;
    INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total)
    SELECT a.org_id, a.program_id, a.list, o.owner_id, a.status, a.kind, sum(a.n)
    FROM (SELECT r.org_id, r.program_id, r.list, r.owner_ids, r.status, r.kind, sum(r.n) AS n FROM tally_rows r GROUP BY 1, 2, 3, 4, 5, 6) a
    CROSS JOIN LATERAL unnest(array_append(a.owner_ids, '')) o(owner_id) GROUP BY 1, 2, 3, 4, 5, 6
$$;

DO $do$
DECLARE
    work record;
    rows text := 'SELECT %s total AS n, org_id, program_id, list, array_remove(ARRAY[partner_id, nullif(link_id, '''')]::text[], NULL) AS owner_ids FROM %s';
BEGIN
    FOR work IN SELECT * FROM (VALUES
        ('insert', 'NEW TABLE AS came', format(rows, '', 'came')),
        ('delete', 'OLD TABLE AS gone', format(rows, '-', 'gone')),
        ('update', 'NEW TABLE AS came OLD TABLE AS gone', format(rows, '', 'came') || ' UNION ALL ' || format(rows, '-', 'gone'))) v (name, tables, rows)
    LOOP
        EXECUTE format($sql$
            CREATE FUNCTION tally_forgotten_%1$s() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                INSERT INTO %4$I.tally_entries (org_id, program_id, list, owner_ids, status, kind, difference)
                SELECT org_id, program_id, 'forgotten_' || list, owner_ids, '', '', sum(n) FROM (%3$s) changed
                GROUP BY org_id, program_id, list, owner_ids HAVING sum(n) <> 0;
                RETURN NULL;
            END $$;
            CREATE TRIGGER forgotten_tally_%1$s AFTER %1$s ON forgotten REFERENCING %2$s FOR EACH STATEMENT EXECUTE FUNCTION tally_forgotten_%1$s()
            $sql$, work.name, work.tables, work.rows, current_schema());
    END LOOP;
END $do$;
