-- How many rows the long lists have, by what they are filtered by, so that
-- total_count costs the same for any number. A change of a row leaves a
-- difference in tally_entries, in its own transaction; the job fold-tallies moves
-- the differences into tallies. A reader adds both, in one snapshot: exact to the
-- last commit, and no write waits for another one's.
SET LOCAL lock_timeout = '2s';

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
    CONSTRAINT tallies_list_check CHECK (list IN ('audit_log_entries', 'commissions', 'customers', 'partners', 'payouts', 'referrals')),
    CONSTRAINT tallies_total_check CHECK (total >= 0)
);
CREATE INDEX tallies_empty_idx ON tallies (program_id) WHERE total = 0;

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

-- Each list gets a function, which every statement that changes rows ends with,
-- and its first totals. came and gone are the rows after and before the statement.
-- The locks that triggers take are held until the totals are committed.
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
                CREATE FUNCTION tally_%1$s_%2$s() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    INSERT INTO tally_entries (org_id, program_id, list, owner_ids, status, kind, difference)
                    SELECT org_id, program_id, '%1$s', owner_ids, status, kind, sum(n) FROM (%4$s) changed
                    GROUP BY org_id, program_id, owner_ids, status, kind HAVING sum(n) <> 0;
                    RETURN NULL;
                END $$;
                CREATE TRIGGER %1$s_tally_%2$s AFTER %2$s ON %1$s REFERENCING %3$s FOR EACH STATEMENT EXECUTE FUNCTION tally_%1$s_%2$s()
                $sql$, list.name, work.name, work.tables, work.rows);
        END LOOP;
        EXECUTE format($sql$
            INSERT INTO tallies (org_id, program_id, list, owner_id, status, kind, total)
            SELECT org_id, program_id, '%1$s', owner_id, status, kind, sum(n) FROM (
                SELECT org_id, program_id, owner_ids, status, kind, count(*) AS n FROM (%2$s) stored GROUP BY org_id, program_id, owner_ids, status, kind) alike
            CROSS JOIN LATERAL unnest(array_append(owner_ids, '')) owner_id
            GROUP BY org_id, program_id, owner_id, status, kind
            $sql$, list.name, format(rows, 1, list.name));
    END LOOP;
END $do$;
