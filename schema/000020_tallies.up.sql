-- How many rows the long lists have, by what they are filtered by, so that
-- total_count costs the same for any number. A change of a row leaves a
-- difference in tally_entries, in its own transaction; the job fold-tallies moves
-- the differences into tallies. A reader adds both, in one snapshot: exact to the
-- last commit, and no write waits for another one's.
SET LOCAL lock_timeout = '2s';

-- In the order in which the service writes, all at once: what changes between the
-- first totals and the triggers would be lost.
LOCK TABLE referrals, customers, partners, commissions, payouts, audit_log_entries IN SHARE ROW EXCLUSIVE MODE;

-- Rows of one list. owner_id is empty for all of the program; else what the rows
-- belong to: a group, a partner, a link, a coupon, a payout or a payout batch.
-- status is an audit log entry's action; kind is a commission's, empty elsewhere.
CREATE TABLE tallies (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL,
    owner_id   text COLLATE "C" NOT NULL,
    status     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    total      bigint NOT NULL,
    CONSTRAINT tallies_pkey PRIMARY KEY (program_id, list, owner_id, status, kind),
    CONSTRAINT tallies_list_check CHECK (list IN ('audit_log_entries', 'commissions', 'customers', 'partners', 'payouts', 'referrals'))
) WITH (fillfactor = 80);

-- Differences that are not in tallies yet. Most rows live for a second.
CREATE TABLE tally_entries (
    id         bigint GENERATED ALWAYS AS IDENTITY,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL,
    owner_ids  text[] COLLATE "C" NOT NULL,
    status     text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    difference bigint NOT NULL,
    CONSTRAINT tally_entries_pkey PRIMARY KEY (program_id, list, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_analyze_scale_factor = 1);

-- What a reader sums: both, with a difference under each of its owners.
CREATE VIEW tally_sums AS
SELECT t.org_id, t.program_id, t.list, t.owner_id, t.status, t.kind, t.total FROM tallies t
UNION ALL
SELECT e.org_id, e.program_id, e.list, o.owner_id COLLATE "C", e.status, e.kind, e.difference FROM tally_entries e CROSS JOIN LATERAL unnest(array_append(e.owner_ids, '')) o(owner_id);

-- The rows of the lists, as they are counted.
CREATE VIEW tally_rows AS
SELECT org_id, program_id, 'audit_log_entries' AS list, ARRAY[]::text[] AS owner_ids, action AS status, '' AS kind FROM audit_log_entries
UNION ALL
SELECT org_id, program_id, 'commissions', array_remove(ARRAY[partner_id, payout_id], NULL), status, kind FROM commissions
UNION ALL
SELECT org_id, program_id, 'customers', array_remove(ARRAY[partner_id, link_id, coupon_id], NULL), status, '' FROM customers
UNION ALL
SELECT org_id, program_id, 'partners', array_remove(ARRAY[group_id], NULL), status, '' FROM partners
UNION ALL
SELECT org_id, program_id, 'payouts', array_remove(ARRAY[partner_id, batch_id], NULL), status, '' FROM payouts
UNION ALL
SELECT org_id, program_id, 'referrals', array_remove(ARRAY[partner_id, link_id], NULL), status, '' FROM referrals;

-- Counts everything anew: for the first time, and for whoever has changed rows
-- past the triggers. Nobody writes meanwhile.
CREATE FUNCTION recount_tallies() RETURNS void LANGUAGE sql AS $$
    LOCK TABLE referrals, customers, partners, commissions, payouts, audit_log_entries IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM tally_entries;
    DELETE FROM tallies;
    INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total)
    SELECT a.org_id, a.program_id, a.list, o.owner_id, a.status, a.kind, sum(a.n)
    FROM (SELECT r.org_id, r.program_id, r.list, r.owner_ids, r.status, r.kind, count(*) AS n FROM tally_rows r GROUP BY 1, 2, 3, 4, 5, 6) a
    CROSS JOIN LATERAL unnest(array_append(a.owner_ids, '')) o(owner_id) GROUP BY 1, 2, 3, 4, 5, 6
$$;
SELECT recount_tallies();

-- Each list gets functions that every statement which changes its rows ends with;
-- came and gone are the rows after and before it. They run as the tables' owner:
-- servers of the release before have no right to these tables yet.
DO $do$
DECLARE
    list record;
    work record;
    rows text;
BEGIN
    FOR list IN SELECT * FROM (VALUES
        ('audit_log_entries', '', 'action', ''''''), ('commissions', 'partner_id, payout_id', 'status', 'kind'), ('customers', 'partner_id, link_id, coupon_id', 'status', ''''''),
        ('partners', 'group_id', 'status', ''''''), ('payouts', 'partner_id, batch_id', 'status', ''''''), ('referrals', 'partner_id, link_id', 'status', '''''')) v (name, owners, status, kind)
    LOOP
        rows := format('SELECT %%s AS n, org_id, program_id, array_remove(ARRAY[%s]::text[], NULL) AS owner_ids, %s AS status, %s AS kind FROM %%s', list.owners, list.status, list.kind);
        FOR work IN SELECT * FROM (VALUES
            ('insert', 'NEW TABLE AS came', format(rows, 1, 'came')),
            ('delete', 'OLD TABLE AS gone', format(rows, -1, 'gone')),
            ('update', 'NEW TABLE AS came OLD TABLE AS gone', format(rows, 1, 'came') || ' UNION ALL ' || format(rows, -1, 'gone'))) v (name, tables, rows)
        LOOP
            EXECUTE format($sql$
                CREATE FUNCTION tally_%1$s_%2$s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
                BEGIN
                    INSERT INTO tally_entries (org_id, program_id, list, owner_ids, status, kind, difference)
                    SELECT org_id, program_id, '%1$s', owner_ids, status, kind, sum(n) FROM (%4$s) changed
                    GROUP BY org_id, program_id, owner_ids, status, kind HAVING sum(n) <> 0;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER %1$s_tally_%2$s AFTER %2$s ON %1$s REFERENCING %3$s FOR EACH STATEMENT EXECUTE FUNCTION tally_%1$s_%2$s()
                $sql$, list.name, work.name, work.tables, work.rows);
        END LOOP;
    END LOOP;
END $do$;
