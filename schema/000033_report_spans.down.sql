-- The release before sums the months again from the days.
SET LOCAL lock_timeout = '2s';

LOCK TABLE report_sums, report_spans IN SHARE ROW EXCLUSIVE MODE;
DROP VIEW report_covered;
DROP VIEW report_untouched;
DROP TRIGGER report_spans_take_back ON report_spans;
DROP FUNCTION report_take_back();
DELETE FROM report_spans WHERE span <> 'day';
DELETE FROM report_sums WHERE span <> 'day';
ALTER TABLE report_sums DROP CONSTRAINT report_sums_span_check,
    ADD CONSTRAINT report_sums_span_check CHECK (span IN ('day', 'month'));
ALTER TABLE report_spans DROP COLUMN upto, DROP COLUMN again_on, DROP CONSTRAINT report_spans_span_check,
    ADD CONSTRAINT report_spans_span_check CHECK (span IN ('day', 'month'));
DROP FUNCTION report_days(text);
CREATE VIEW report_covered AS
WITH touched AS MATERIALIZED (
    SELECT DISTINCT m.program_id, m.day, date_trunc('month', m.day::timestamp)::date AS month FROM report_marks m
)
SELECT s.org_id, s.program_id, s.span, s.start, (s.start + interval '1 month')::date AS upto FROM report_spans s
WHERE s.span = 'month' AND (s.program_id, s.start) NOT IN (SELECT t.program_id, t.month FROM touched t)
UNION ALL
SELECT s.org_id, s.program_id, s.span, s.start, s.start + 1 FROM report_spans s
WHERE s.span = 'day' AND (s.program_id, s.start) NOT IN (SELECT t.program_id, t.day FROM touched t)
    AND NOT EXISTS (
        SELECT 1 FROM report_spans w WHERE w.program_id = s.program_id AND w.span = 'month' AND w.start = date_trunc('month', s.start::timestamp)::date
            AND (w.program_id, w.start) NOT IN (SELECT t.program_id, t.month FROM touched t));
