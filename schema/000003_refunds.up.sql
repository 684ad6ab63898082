-- What refunds took. A sale's first amount is amount_minor + refunded_minor.
-- Of a commission, shrunk_minor was taken off amount_minor while it was unpaid,
-- and clawed_minor by clawbacks after it was paid.
SET LOCAL lock_timeout = '2s';

ALTER TABLE sales ADD COLUMN refunded_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT sales_refunded_minor_check CHECK (refunded_minor >= 0);
ALTER TABLE commissions ADD COLUMN shrunk_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN clawed_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT commissions_taken_check CHECK (shrunk_minor >= 0 AND clawed_minor >= 0 AND (kind = 'clawback' OR clawed_minor <= amount_minor));
