SET LOCAL lock_timeout = '2s';
DROP VIEW balance_sums;
DROP TABLE audit_mark;
DROP TABLE balances;
DROP TABLE ledger_mark;
DROP TABLE ledger_entries;
DROP TABLE commissions;
DROP FUNCTION refuse_paid;
