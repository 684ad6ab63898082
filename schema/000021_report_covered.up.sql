-- The months, and the days of other months, whose sums are right: nothing has
-- touched them since. Whoever reads them reads the rest from the rows, in the same
-- statement. The marks are gathered once: they are few, until a large change makes
-- many, and nothing knows of them then.
SET LOCAL lock_timeout = '2s';

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
