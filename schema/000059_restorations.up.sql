-- Refunded money can come back to the merchant: a dispute is won, or the refund does not
-- reach the customer. restored_minor is how much of the refund came back, and restorations lists each
-- time with its source and the commissions that it made. clawed_minor of a commission goes
-- below zero where a reward gave back a part that a refund took off the amount.
-- The release before survives this: it writes no restorations, and the new check of
-- commissions allows all that the old one allowed. A refund that it takes of a sale with
-- a restoration counts the restored part as still taken, and so takes back less.
SET LOCAL lock_timeout = '2s';

-- The strongest locks first, in the servers' order.
LOCK TABLE refunds, commissions IN ACCESS EXCLUSIVE MODE;

ALTER TABLE commissions DROP CONSTRAINT commissions_taken_check,
    ADD CONSTRAINT commissions_taken_check CHECK (
        amount_minor > 0 AND shrunk_minor >= 0 AND clawed_minor BETWEEN -shrunk_minor AND amount_minor
        OR amount_minor < 0 AND shrunk_minor <= 0 AND clawed_minor BETWEEN amount_minor AND -shrunk_minor) NOT VALID;

ALTER TABLE refunds ADD COLUMN restored_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN restorations json NOT NULL DEFAULT '[]',
    ADD CONSTRAINT refunds_restored_check CHECK (restored_minor BETWEEN 0 AND coalesce(amount_minor, 0)) NOT VALID;
