-- Events lie in partitions by the month that their ids begin with, so that what is
-- past its retention goes by dropping a table instead of deleting rows. The key
-- stays the id, and every look-up by id reads one partition.
--
-- Nothing is copied: the table as it is becomes the first partition, of all ids
-- below the first of the month after next. A constraint says so beforehand, which
-- is validated while others write, so that nothing has to be read under the lock
-- that keeps them out.
-- The release before survives this: it reads and writes events by the same
-- statements. Its EventsPurge has lost its index, and finds nothing to delete
-- that is not in the first partition.
SET LOCAL lock_timeout = '2s';

-- The lowest id of a time: ids are a prefix and a UUID of version 7 in base 32, of
-- which the first ten characters are the milliseconds and two bits of the version.
CREATE OR REPLACE FUNCTION id_at(prefix text, at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT prefix || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', (floor(extract(epoch FROM at) * 1000)::bigint << 2 >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 9) n
$$;

DO $do$
BEGIN
    EXECUTE format('ALTER TABLE events DROP CONSTRAINT IF EXISTS events_first_check, ADD CONSTRAINT events_first_check CHECK (id < %L) NOT VALID',
        id_at('evt_', (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC'));
END $do$;

-- Then, in a transaction of its own:
SET LOCAL lock_timeout = '2s';

-- Numbers of events come from a sequence of its own, which outlives the identity of
-- the first partition. It has its name some time before the other is dropped: a
-- statement finds the sequence before it waits for the table. Until then locks are
-- on numbers of this one (EventsInsert), which stays behind those that events get:
-- readers wait for the last events until the tables change, but pass none.
DO $do$
DECLARE
    last bigint;
    rights aclitem[];
    r record;
BEGIN
    IF to_regclass('events_seq_old') IS NULL THEN
        ALTER SEQUENCE events_seq_seq RENAME TO events_seq_old;
        SELECT s.last_value, c.relacl INTO last, rights FROM events_seq_old s, pg_class c WHERE c.oid = 'events_seq_old'::regclass;
        CREATE SEQUENCE events_seq_seq MINVALUE -10000;
        PERFORM setval('events_seq_seq', last - 10000);
        FOR r IN SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
            FROM pg_class c, aclexplode(rights) a WHERE c.oid = 'events_seq_seq'::regclass AND a.grantee <> c.relowner LOOP
            EXECUTE format('GRANT %s ON SEQUENCE events_seq_seq TO %s', r.privilege_type, r.role);
        END LOOP;
    END IF;
END $do$;

-- Then, in a transaction of its own:
DO $do$
BEGIN
    ALTER TABLE events VALIDATE CONSTRAINT events_first_check;
END $do$;

-- Then, in a transaction of its own:
SET LOCAL lock_timeout = '2s';

-- The partitions of a table, lowest first, with the id that each ends before; that
-- is null for the last one.
CREATE FUNCTION partitions_of(list text) RETURNS TABLE (name text, upper_id text) LANGUAGE sql STABLE AS $$
    SELECT c.relname::text, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']*)''\)$')
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = list::regclass
    ORDER BY substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']*)''\)$') COLLATE "C" NULLS LAST
$$;

-- Makes the partitions that are missing up to the end of the month after next, and
-- counts them. It and drop_partitions run as the owner of the tables, for servers
-- that may write rows but make no tables.
CREATE FUNCTION make_partitions(list text, prefix text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    covered text COLLATE "C";
    upper_id text COLLATE "C";
    month timestamp;
    name text;
    made bigint := 0;
BEGIN
    IF NOT (has_table_privilege(session_user, list, 'INSERT') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not insert into %s', session_user, list);
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('partitions/' || list, 0)) THEN
        RETURN 0;
    END IF;
    -- Below the table for ids of no time there is always one for those of a time.
    SELECT max(p.upper_id COLLATE "C") INTO covered FROM partitions_of(list) p WHERE p.upper_id IS NOT NULL;
    FOR ahead IN 0..2 LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month';
        upper_id := id_at(prefix, (month + interval '1 month') AT TIME ZONE 'UTC');
        CONTINUE WHEN upper_id <= covered;
        name := list || to_char(month, '_YYYY_MM');
        -- Attaching lets others write meanwhile; making a partition as such does not.
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING CONSTRAINTS)', name, list);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', list, name, covered, upper_id);
        covered := upper_id;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- Drops partitions that hold nothing as young as before, and counts them; one that
-- is not over by the clock of the database stays, whatever a server's says. Where
-- somebody reads the table for long, it gives up until the next time: whoever
-- comes after waits for it.
CREATE FUNCTION drop_partitions(list text, prefix text, before timestamptz) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    p record;
    dropped bigint := 0;
BEGIN
    IF NOT (has_table_privilege(session_user, list, 'DELETE') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not delete from %s', session_user, list);
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR p IN SELECT o.name, o.upper_id FROM partitions_of(list) o WHERE o.upper_id COLLATE "C" <= id_at(prefix, least(before, now())) LOOP
        -- An event stays as long as a delivery of it does. Asked again under the lock,
        -- since a replay may have come.
        EXIT WHEN list = 'events' AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id < p.upper_id);
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', list);
        EXIT WHEN list = 'events' AND EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id < p.upper_id);
        EXECUTE format('DROP TABLE %I', p.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

DO $do$
DECLARE
    bound text;
    r record;
BEGIN
    LOCK TABLE events IN ACCESS EXCLUSIVE MODE;
    EXECUTE format('ALTER FUNCTION make_partitions(text, text) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION drop_partitions(text, text, timestamptz) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION partitions_of(text) SET search_path = %I, pg_temp', current_schema());

    SELECT substring(pg_get_constraintdef(k.oid) FROM '''(evt_[^'']*)''') INTO bound FROM pg_constraint k
    WHERE k.conrelid = 'events'::regclass AND k.conname = 'events_first_check';
    PERFORM setval('events_seq_seq', greatest(o.last_value, n.last_value)) FROM events_seq_old o, events_seq_seq n;
    ALTER SEQUENCE events_seq_seq MINVALUE 1 START 1;
    ALTER TABLE events ALTER COLUMN seq DROP IDENTITY;
    ALTER TABLE events RENAME TO events_first;
    ALTER TABLE events_first RENAME CONSTRAINT events_pkey TO events_first_pkey;
    ALTER INDEX events_order_idx RENAME TO events_first_org_id_seq_idx;
    DROP INDEX events_created_idx;
    DROP TRIGGER events_unchanging ON events_first;

    CREATE TABLE events (LIKE events_first INCLUDING DEFAULTS) PARTITION BY RANGE (id);
    ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (id);
    CREATE INDEX events_order_idx ON events (org_id, seq);
    CREATE TRIGGER events_unchanging BEFORE UPDATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
    ALTER TABLE events ALTER COLUMN seq SET DEFAULT nextval('events_seq_seq');
    ALTER SEQUENCE events_seq_seq OWNED BY events.seq;
    FOR r IN SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS role
        FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = 'events_first'::regclass AND a.grantee <> c.relowner LOOP
        EXECUTE format('GRANT %s ON events TO %s', r.privilege_type, r.role);
    END LOOP;

    EXECUTE format('ALTER TABLE events ATTACH PARTITION events_first FOR VALUES FROM (MINVALUE) TO (%L)', bound);
    ALTER TABLE events_first DROP CONSTRAINT events_first_check;
    -- No time until the year 2248 is in there: ids that were made by hand.
    CREATE TABLE events_other PARTITION OF events FOR VALUES FROM ('evt_1') TO (MAXVALUE);
    PERFORM make_partitions('events', 'evt_');
END $do$;
