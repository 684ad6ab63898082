-- Connections to payment processors and their events.
SET LOCAL lock_timeout = '2s';

-- secret and api_key are encrypted with the server's key; a processor without an API has no api_key. A pending
-- connection may lack its secret.
CREATE TABLE processor_connections (
    id               text COLLATE "C" NOT NULL,
    org_id           text COLLATE "C" NOT NULL,
    program_id       text COLLATE "C" NOT NULL,
    processor        text COLLATE "C" NOT NULL,
    livemode         boolean NOT NULL,
    status           text COLLATE "C" NOT NULL,
    record_direct    boolean NOT NULL,
    outside_checkout boolean NOT NULL,
    secret           bytea,
    api_key          bytea,
    last_event_at    timestamptz,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    reconcile_at     timestamptz,
    CONSTRAINT processor_connections_pkey PRIMARY KEY (id),
    CONSTRAINT processor_connections_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT processor_connections_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee',
        'lemon_squeezy', 'polar', 'generic')),
    CONSTRAINT processor_connections_status_check CHECK (status IN ('active', 'disconnected', 'pending')),
    CONSTRAINT processor_connections_secret_check CHECK (status = 'pending' OR secret IS NOT NULL)
);
-- One active connection per program, processor and mode.
CREATE UNIQUE INDEX processor_connections_active_key ON processor_connections (program_id, processor, livemode)
    WHERE status = 'active';
-- One pending connection, too.
CREATE UNIQUE INDEX processor_connections_pending_key ON processor_connections (program_id, processor, livemode)
    WHERE status = 'pending';
CREATE INDEX processor_connections_list_idx ON processor_connections (program_id, created_at, id);

-- due_at is the time of the next attempt, null for none; during an attempt, the time from which another server may
-- take over. attempts counts all attempts, failures the consecutive failed ones. payload is the encrypted body.
CREATE TABLE inbox_events (
    id                text COLLATE "C" NOT NULL,
    org_id            text COLLATE "C" NOT NULL,
    program_id        text COLLATE "C" NOT NULL,
    connection_id     text COLLATE "C" NOT NULL,
    processor         text COLLATE "C" NOT NULL,
    external_event_id text COLLATE "C" NOT NULL,
    type              text COLLATE "C" NOT NULL,
    livemode          boolean NOT NULL,
    status            text COLLATE "C" NOT NULL,
    reason_code       text COLLATE "C",
    reason            text,
    customer_id       text COLLATE "C",
    sale_id           text COLLATE "C",
    refund_id         text COLLATE "C",
    attempts          bigint NOT NULL,
    failures          bigint NOT NULL,
    payload           bytea NOT NULL,
    headers           json NOT NULL,
    due_at            timestamptz,
    processed_at      timestamptz,
    created_at        timestamptz NOT NULL,
    CONSTRAINT inbox_events_pkey PRIMARY KEY (id),
    CONSTRAINT inbox_events_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT inbox_events_connection_fkey FOREIGN KEY (connection_id) REFERENCES processor_connections (id),
    CONSTRAINT inbox_events_status_check CHECK (status IN ('pending', 'recorded', 'ignored', 'waiting', 'failed')),
    CONSTRAINT inbox_events_pending_check CHECK (status NOT IN ('pending', 'waiting') OR due_at IS NOT NULL)
);
CREATE UNIQUE INDEX inbox_events_event_key ON inbox_events (program_id, connection_id, external_event_id);
CREATE INDEX inbox_events_list_idx ON inbox_events (program_id, created_at, id);
CREATE INDEX inbox_events_status_idx ON inbox_events (program_id, status, created_at, id);
CREATE INDEX inbox_events_connection_idx ON inbox_events (connection_id, created_at, id);
CREATE INDEX inbox_events_type_idx ON inbox_events (program_id, type, created_at, id);
CREATE INDEX inbox_events_external_idx ON inbox_events (program_id, external_event_id, created_at, id);
CREATE INDEX inbox_events_due_idx ON inbox_events (org_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX inbox_events_done_idx ON inbox_events (processed_at, id) WHERE due_at IS NULL;
CREATE INDEX inbox_events_reason_idx ON inbox_events (program_id, reason_code, created_at, id)
    WHERE reason_code IS NOT NULL;

-- The objects that an event waits for: a charge, a coupon, or a customer by one of its names. Creating such an
-- object makes the event due.
CREATE TABLE inbox_waits (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    event_id   text COLLATE "C" NOT NULL,
    CONSTRAINT inbox_waits_pkey PRIMARY KEY (program_id, key, event_id),
    CONSTRAINT inbox_waits_event_fkey FOREIGN KEY (event_id) REFERENCES inbox_events (id) ON DELETE CASCADE
);
CREATE INDEX inbox_waits_event_idx ON inbox_waits (event_id);
