-- Who and what a merchant has marked as not Rail's, for the events that do not say it
-- themselves; how much of a payment a refund brought back, which its id told so far;
-- and a flag for each dispute, where a customer has several.
-- The release before survives this: it tells levels by the ids still, and opens one
-- flag where there are two disputes.
SET LOCAL lock_timeout = '2s';

-- key is a charge's or a customer's, as in inbox_waits. A row that says no more than
-- that nobody opted out keeps an older event from saying otherwise.
CREATE TABLE opt_outs (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    opted_out  boolean NOT NULL,
    at         timestamptz NOT NULL,
    CONSTRAINT opt_outs_pkey PRIMARY KEY (program_id, key),
    CONSTRAINT opt_outs_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);
CREATE INDEX opt_outs_purge_idx ON opt_outs (at) WHERE NOT opted_out OR key LIKE 'charge %';

ALTER TABLE refunds ADD COLUMN level_minor bigint,
    ADD CONSTRAINT refunds_level_check CHECK (level_minor >= 0) NOT VALID;

DROP INDEX risk_flags_open_key;
CREATE UNIQUE INDEX risk_flags_open_key ON risk_flags (program_id, kind, coalesce(partner_id, ''), coalesce(customer_id, ''), coalesce(evidence->>'dispute_id', '')) WHERE status IN ('open', 'reviewing');
