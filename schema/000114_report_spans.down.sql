SET LOCAL lock_timeout = '2s';

DROP VIEW report_quarters;
ALTER TABLE report_spans DROP CONSTRAINT report_spans_span_check;
ALTER TABLE report_spans ADD CONSTRAINT report_spans_span_check
    CHECK (span IN ('day', '2', '4', '8', '16', '32', '64', '128', '256'));
CREATE INDEX report_sums_partner_idx ON report_sums (program_id, partner_id, dimension, span, start)
    WHERE dimension IN ('partner', 'link', 'partner_product', 'partner_source', 'partner_cohort');
