SET LOCAL lock_timeout = '2s';

ALTER TABLE refunds DROP COLUMN restored_minor, DROP COLUMN restorations;
ALTER TABLE commissions DROP CONSTRAINT commissions_taken_check,
    ADD CONSTRAINT commissions_taken_check CHECK (
        amount_minor > 0 AND shrunk_minor >= 0 AND clawed_minor BETWEEN 0 AND amount_minor
        OR amount_minor < 0 AND shrunk_minor <= 0 AND clawed_minor BETWEEN amount_minor AND 0) NOT VALID;
