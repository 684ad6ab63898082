DROP TABLE report_marks, report_spans, report_sums;
DROP VIEW report_facts;
DROP INDEX commissions_undated_idx, customers_converted_idx, customers_lead_idx;
