-- What payment processors sent, each event once, with what became of it; and where
-- a customer's partner comes from.
-- The release before survives this: it reads and writes none of it.
SET LOCAL lock_timeout = '2s';

-- By itself, so that nobody who reads customers waits for it.
CREATE INDEX IF NOT EXISTS customers_identifier_idx ON customers (program_id, identifier) WHERE identifier IS NOT NULL;

-- Then, in a transaction of its own:
SET LOCAL lock_timeout = '2s';

LOCK TABLE customers IN ACCESS EXCLUSIVE MODE;

-- due_at is when the event is worked next, NULL for never; while it is worked, when
-- another server may take it. attempts counts how often it was worked, failures how
-- often in a row that did not come to an end. payload is the body, sealed.
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

-- What an event waits for, or what would explain it: a charge, a coupon, a customer
-- by what names one. Whoever makes such a thing has the event worked at once.
CREATE TABLE inbox_waits (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    event_id   text COLLATE "C" NOT NULL,
    CONSTRAINT inbox_waits_pkey PRIMARY KEY (program_id, key, event_id),
    CONSTRAINT inbox_waits_event_fkey FOREIGN KEY (event_id) REFERENCES inbox_events (id) ON DELETE CASCADE
);
CREATE INDEX inbox_waits_event_idx ON inbox_waits (event_id);

-- Other ids under which a processor names the payment of a sale.
CREATE TABLE charge_aliases (
    org_id             text COLLATE "C" NOT NULL,
    program_id         text COLLATE "C" NOT NULL,
    alias              text COLLATE "C" NOT NULL,
    external_charge_id text COLLATE "C" NOT NULL,
    created_at         timestamptz NOT NULL,
    CONSTRAINT charge_aliases_pkey PRIMARY KEY (program_id, alias),
    CONSTRAINT charge_aliases_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);

-- By what a customer got its partner; NULL where nobody noted it.
ALTER TABLE customers ADD COLUMN attribution json;
