-- The months, and the days of other months, whose sums are right: nothing has
-- touched them since. Whoever reads them reads the rest from the rows, in the same
-- statement.
SET LOCAL lock_timeout = '2s';

CREATE VIEW report_covered AS
SELECT s.org_id, s.program_id, s.span, s.start, (s.start + interval '1 month')::date AS upto FROM report_spans s
WHERE s.span = 'month' AND NOT EXISTS (SELECT 1 FROM report_marks m WHERE m.program_id = s.program_id AND date_trunc('month', m.day::timestamp)::date = s.start)
UNION ALL
SELECT s.org_id, s.program_id, s.span, s.start, s.start + 1 FROM report_spans s
WHERE s.span = 'day' AND NOT EXISTS (SELECT 1 FROM report_marks m WHERE m.program_id = s.program_id AND m.day = s.start)
    AND NOT EXISTS (
        SELECT 1 FROM report_spans w WHERE w.program_id = s.program_id AND w.span = 'month' AND w.start = date_trunc('month', s.start::timestamp)::date
            AND NOT EXISTS (SELECT 1 FROM report_marks m WHERE m.program_id = w.program_id AND date_trunc('month', m.day::timestamp)::date = w.start));
