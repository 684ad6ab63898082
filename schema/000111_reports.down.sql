SET LOCAL lock_timeout = '2s';
DO $do$
DECLARE
    f record;
BEGIN
    FOR f IN SELECT p.proname FROM pg_proc p
        WHERE p.pronamespace = current_schema()::regnamespace AND p.proname LIKE 'tally\_%'
            AND p.prorettype = 'trigger'::regtype LOOP
        EXECUTE format('DROP FUNCTION %I CASCADE', f.proname);
    END LOOP;
END $do$;
DROP FUNCTION recount_tallies;
DROP FUNCTION forget_clicks;
DROP VIEW tally_sums;
DROP VIEW tally_rows;
DROP VIEW report_facts;
DROP VIEW report_covered;
DROP VIEW report_untouched;
DROP VIEW clicks_counted;
DROP TABLE tally_entries;
DROP TABLE tallies;
DROP TABLE report_marks;
DROP TABLE report_spans;
DROP TABLE report_sums;
DROP FUNCTION report_dimensions;
DROP FUNCTION report_take_back;
DROP FUNCTION report_open_since;
DROP FUNCTION report_days;
