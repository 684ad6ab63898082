-- Reports are read from sums of spans of 1, 2, 4, ... 256 days instead of days and
-- months: any window is a few of them. A span begins at a day whose number is a
-- multiple of its length, and is the sum of its two halves. The sums of days stay as
-- they are, and are read alone until the job has made wider ones of them.
-- The release before survives this: it finds no months and reads days, the trigger
-- takes back what holds a day that it sums again, and its job fails at months when all
-- days are summed.
SET LOCAL lock_timeout = '2s';

-- Readers go on while the months go.
LOCK TABLE report_sums, report_spans IN SHARE ROW EXCLUSIVE MODE;
DELETE FROM report_spans WHERE span = 'month';
DELETE FROM report_sums s USING programs g, unnest('{total,partner,link,product,partner_product}'::text[]) d (dimension)
WHERE s.program_id = g.id AND s.dimension = d.dimension AND s.span = 'month';

CREATE FUNCTION report_days(span text) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE span WHEN 'day' THEN 1 ELSE span::integer END
$$;

-- again_on is when a day was summed once more: what holds it waits for the next day,
-- so that a day which is touched all the time costs no more than itself.
ALTER TABLE report_sums DROP CONSTRAINT report_sums_span_check, ADD CONSTRAINT report_sums_span_check
    CHECK (span IN ('day', '2', '4', '8', '16', '32', '64', '128', '256')) NOT VALID;
ALTER TABLE report_spans DROP CONSTRAINT report_spans_span_check, ADD CONSTRAINT report_spans_span_check
    CHECK (span IN ('day', '2', '4', '8', '16', '32', '64', '128', '256')),
    ADD COLUMN upto date NOT NULL GENERATED ALWAYS AS (start + report_days(span)) STORED,
    ADD COLUMN again_on date;

-- A day that is summed again takes back the spans that hold it.
CREATE FUNCTION report_take_back() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM report_spans s
    WHERE s.program_id = OLD.program_id AND s.span <> 'day' AND s.start <= OLD.start AND s.upto > OLD.start;
    RETURN NULL;
END $$;
CREATE TRIGGER report_spans_take_back AFTER DELETE ON report_spans
    FOR EACH ROW WHEN (OLD.span = 'day') EXECUTE FUNCTION report_take_back();

-- The spans whose sums are right: nothing has touched a day of them since. The marks
-- are gathered once: they are few, until a large change makes many, and nothing knows
-- of them then.
CREATE VIEW report_untouched AS
WITH touched AS MATERIALIZED (
    SELECT DISTINCT m.program_id, m.day FROM report_marks m
)
SELECT s.org_id, s.program_id, s.span, s.start, s.upto FROM report_spans s
WHERE NOT EXISTS (
    SELECT 1 FROM touched t WHERE t.program_id = s.program_id AND t.day >= s.start AND t.day < s.upto);

-- The widest of them: those that no other holds. Two spans overlap only where one
-- holds the other, and that one comes first here.
CREATE OR REPLACE VIEW report_covered AS
SELECT w.org_id, w.program_id, w.span, w.start, w.upto FROM (
    SELECT r.org_id, r.program_id, r.span, r.start, r.upto, max(r.upto) OVER (PARTITION BY r.org_id, r.program_id
        ORDER BY r.start, r.upto DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM report_untouched r) w
WHERE coalesce(w.reached, '-infinity') <= w.start;
