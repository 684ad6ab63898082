SET LOCAL lock_timeout = '2s';

DROP VIEW report_covered;
