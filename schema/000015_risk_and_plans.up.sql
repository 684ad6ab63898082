-- What the hourly risk sweep compares, and the limits of an organization's plan.
SET LOCAL lock_timeout = '2s';

-- Sealed payout details cannot be compared: payout_details_hash is a keyed hash
-- of them, the same for the same details of one program.
ALTER TABLE partners ADD COLUMN payout_details_hash bytea,
    ADD CONSTRAINT partners_payout_details_hash_check CHECK (payout_details_hash IS NULL OR payout_details IS NOT NULL);
CREATE INDEX partners_payout_details_hash_idx ON partners (program_id, payout_details_hash) WHERE payout_details_hash IS NOT NULL;
CREATE INDEX partners_unhashed_idx ON partners (id) WHERE payout_details IS NOT NULL AND payout_details_hash IS NULL;

-- Where partners were seen themselves. ip_hash and device are keyed hashes, as
-- in clicks; device is empty where it is not known.
CREATE TABLE partner_addresses (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    ip_hash    bytea NOT NULL,
    device     bytea NOT NULL,
    seen_at    timestamptz NOT NULL,
    CONSTRAINT partner_addresses_pkey PRIMARY KEY (program_id, partner_id, ip_hash, device),
    CONSTRAINT partner_addresses_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX partner_addresses_seen_idx ON partner_addresses (seen_at);

-- An organization's own limits: null is the server's default, 0 is none.
ALTER TABLE organizations ADD COLUMN flow_quota bigint,
    ADD COLUMN revenue_meter_minor bigint,
    ADD COLUMN fraud_monitoring boolean,
    ADD CONSTRAINT organizations_flow_quota_check CHECK (flow_quota >= 0),
    ADD CONSTRAINT organizations_revenue_meter_minor_check CHECK (revenue_meter_minor >= 0);
