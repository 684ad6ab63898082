-- Connections to payment processors, whose webhooks record payments by themselves.
-- The release before survives this: the checks only let more in.
SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, customers, sales IN ACCESS EXCLUSIVE MODE;

-- secret and api_key are sealed with the server's key; a processor without an API
-- has no key.
CREATE TABLE processor_connections (
    id               text COLLATE "C" NOT NULL,
    org_id           text COLLATE "C" NOT NULL,
    program_id       text COLLATE "C" NOT NULL,
    processor        text COLLATE "C" NOT NULL,
    livemode         boolean NOT NULL,
    status           text COLLATE "C" NOT NULL,
    record_direct    boolean NOT NULL,
    outside_checkout boolean NOT NULL,
    secret           bytea NOT NULL,
    api_key          bytea,
    last_event_at    timestamptz,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CONSTRAINT processor_connections_pkey PRIMARY KEY (id),
    CONSTRAINT processor_connections_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT processor_connections_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'lemon_squeezy', 'polar', 'generic')),
    CONSTRAINT processor_connections_status_check CHECK (status IN ('active', 'disconnected'))
);
-- One that works for a program, processor and mode.
CREATE UNIQUE INDEX processor_connections_active_key ON processor_connections (program_id, processor, livemode) WHERE status = 'active';
CREATE INDEX processor_connections_list_idx ON processor_connections (program_id, created_at, id);

-- What is there satisfied the narrower checks, so that no row need be read.
ALTER TABLE programs DROP CONSTRAINT programs_processor_check,
    ADD CONSTRAINT programs_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api', 'lemon_squeezy', 'polar', 'generic')) NOT VALID;
ALTER TABLE customers DROP CONSTRAINT customers_processor_check,
    ADD CONSTRAINT customers_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api', 'lemon_squeezy', 'polar', 'generic')) NOT VALID;
ALTER TABLE sales DROP CONSTRAINT sales_processor_check,
    ADD CONSTRAINT sales_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api', 'lemon_squeezy', 'polar', 'generic')) NOT VALID;
