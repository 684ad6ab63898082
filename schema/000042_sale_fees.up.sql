-- What a processor keeps of a sale, and programs that take it off before a rate applies.
-- The release before survives this: its sales have no known fee, and take none off.
SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, sales IN ACCESS EXCLUSIVE MODE;

-- Counts beside commission_on_net_revenue only.
ALTER TABLE programs ADD COLUMN commission_net_of_fee boolean NOT NULL DEFAULT false;

-- A refund lowers the amount and never the fee. No row has one yet, so that none need be read.
ALTER TABLE sales ADD COLUMN fee_minor bigint,
    ADD CONSTRAINT sales_fee_check CHECK (fee_minor BETWEEN 0 AND amount_minor + refunded_minor) NOT VALID;
