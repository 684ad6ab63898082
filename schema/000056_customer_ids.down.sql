SET LOCAL lock_timeout = '2s';

DROP TABLE customer_duplicates;
DROP TABLE customer_merges;
DROP TABLE customer_external_ids;
ALTER TABLE customers DROP COLUMN self_referral;
CREATE UNIQUE INDEX customers_external_key ON customers (program_id, external_customer_id) WHERE external_customer_id IS NOT NULL;
UPDATE schema_floor SET version = 22;
