SET LOCAL lock_timeout = '2s';

DROP VIEW balance_sums;
