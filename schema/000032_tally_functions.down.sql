SET LOCAL lock_timeout = '2s';

DO $do$
DECLARE
    f record;
BEGIN
    FOR f IN SELECT p.proname, p.prosrc FROM pg_proc p
        WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'tally\_%' AND p.prorettype = 'trigger'::regtype LOOP
        EXECUTE format('CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS %L', f.proname,
            replace(f.prosrc, format('INSERT INTO %I.tally_entries', current_schema()), 'INSERT INTO tally_entries'));
    END LOOP;
END $do$;

CREATE INDEX referrals_link_idx ON referrals (link_id) WHERE link_id IS NOT NULL;
CREATE INDEX customers_link_idx ON customers (link_id) WHERE link_id IS NOT NULL;
CREATE INDEX events_subject_idx ON events (subject_id);
