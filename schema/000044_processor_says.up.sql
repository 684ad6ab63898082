-- Programs that make partners of customers, and what the payment processor says of a coupon.
-- The release before survives this: it enrols nobody, and takes a coupon's state from whichever event comes last.
SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, coupons IN ACCESS EXCLUSIVE MODE;

ALTER TABLE programs ADD COLUMN auto_enrol_customers boolean NOT NULL DEFAULT false;

-- What the code takes its discount from, and the time as of which active is known; NULL until an event says so.
ALTER TABLE coupons ADD COLUMN external_parent_id text COLLATE "C",
    ADD COLUMN active_as_of timestamptz;
CREATE INDEX coupons_parent_idx ON coupons (program_id, external_parent_id) WHERE external_parent_id IS NOT NULL;
