SET LOCAL lock_timeout = '2s';

DO $do$
DECLARE
    list text;
    work text;
BEGIN
    FOREACH list IN ARRAY ARRAY['audit_log_entries', 'commissions', 'customers', 'partners', 'payouts', 'referrals'] LOOP
        FOREACH work IN ARRAY ARRAY['insert', 'delete', 'update'] LOOP
            EXECUTE format('DROP TRIGGER %1$s_tally_%2$s ON %1$s; DROP FUNCTION tally_%1$s_%2$s()', list, work);
        END LOOP;
    END LOOP;
END $do$;

DROP FUNCTION recount_tallies;
DROP VIEW tally_sums, tally_rows;
DROP TABLE tally_entries;
DROP TABLE tallies;
