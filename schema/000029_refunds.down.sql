ALTER TABLE commissions DROP CONSTRAINT commissions_taken_check, DROP COLUMN refunded_before_minor,
    ADD CONSTRAINT commissions_taken_check CHECK (shrunk_minor >= 0 AND clawed_minor >= 0 AND (kind = 'clawback' OR clawed_minor <= amount_minor)) NOT VALID;
DROP TABLE refunds;
