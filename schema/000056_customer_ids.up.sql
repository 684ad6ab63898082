-- customer_external_ids has every id of a customer at a payment processor. The customer's
-- own external_customer_id and processor are the first of them. customer_merges keeps the
-- ids of merged customers, which answer for the customer that stays. customer_duplicates
-- has pairs that share an identifier or an e-mail, in both directions. self_referral marks
-- a customer with the e-mail of its partner.
-- A program of the release before adds customers without rows here, so it must not go on.
SET LOCAL lock_timeout = '2s';

-- The strongest locks first, in the servers' order.
LOCK TABLE programs IN SHARE ROW EXCLUSIVE MODE;
LOCK TABLE customers IN ACCESS EXCLUSIVE MODE;

CREATE TABLE customer_external_ids (
    program_id           text COLLATE "C" NOT NULL,
    org_id               text COLLATE "C" NOT NULL,
    external_customer_id text COLLATE "C" NOT NULL,
    customer_id          text COLLATE "C" NOT NULL,
    processor            text COLLATE "C",
    created_at           timestamptz NOT NULL,
    CONSTRAINT customer_external_ids_pkey PRIMARY KEY (program_id, external_customer_id),
    CONSTRAINT customer_external_ids_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customer_external_ids_customer_fkey FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_external_ids_length_check CHECK (char_length(external_customer_id) BETWEEN 1 AND 255),
    CONSTRAINT customer_external_ids_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api', 'lemon_squeezy', 'polar', 'generic'))
);
CREATE INDEX customer_external_ids_customer_idx ON customer_external_ids (customer_id, created_at, external_customer_id);
INSERT INTO customer_external_ids (program_id, org_id, external_customer_id, customer_id, processor, created_at)
SELECT program_id, org_id, external_customer_id, id, processor, created_at FROM customers WHERE external_customer_id IS NOT NULL;
DROP INDEX customers_external_key;

CREATE TABLE customer_merges (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    customer_id text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT customer_merges_pkey PRIMARY KEY (id),
    CONSTRAINT customer_merges_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customer_merges_customer_fkey FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_merges_self_check CHECK (id <> customer_id)
);
CREATE INDEX customer_merges_customer_idx ON customer_merges (customer_id);

CREATE TABLE customer_duplicates (
    customer_id text COLLATE "C" NOT NULL,
    other_id    text COLLATE "C" NOT NULL,
    match       text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    CONSTRAINT customer_duplicates_pkey PRIMARY KEY (program_id, customer_id, other_id, match),
    CONSTRAINT customer_duplicates_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customer_duplicates_customer_fkey FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_duplicates_other_fkey FOREIGN KEY (other_id) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_duplicates_self_check CHECK (customer_id <> other_id),
    CONSTRAINT customer_duplicates_match_check CHECK (match IN ('identifier', 'email'))
);
CREATE INDEX customer_duplicates_other_idx ON customer_duplicates (other_id);
CREATE INDEX customer_duplicates_customer_idx ON customer_duplicates (customer_id, other_id, match);

ALTER TABLE customers ADD COLUMN self_referral boolean NOT NULL DEFAULT false;
-- Guests are known by their e-mail, whatever its case.
UPDATE customers SET identifier = lower(identifier) WHERE identifier = email AND identifier <> lower(identifier);
-- Each customer with the one before it that has the same value.
INSERT INTO customer_duplicates (customer_id, other_id, match, org_id, program_id)
WITH pairs AS (
    SELECT c.id, lag(c.id) OVER (PARTITION BY c.program_id, lower(c.email) ORDER BY c.created_at, c.id) AS other,
        'email' AS match, c.org_id, c.program_id FROM customers c WHERE c.email IS NOT NULL
    UNION ALL
    SELECT c.id, lag(c.id) OVER (PARTITION BY c.program_id, c.identifier ORDER BY c.created_at, c.id), 'identifier',
        c.org_id, c.program_id FROM customers c WHERE c.identifier IS NOT NULL
)
SELECT p.id, p.other, p.match, p.org_id, p.program_id FROM pairs p WHERE p.other IS NOT NULL
UNION ALL
SELECT p.other, p.id, p.match, p.org_id, p.program_id FROM pairs p WHERE p.other IS NOT NULL;
UPDATE schema_floor SET version = 56;
