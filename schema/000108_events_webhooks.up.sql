-- Events, the endpoints that receive them, and deliveries.
SET LOCAL lock_timeout = '2s';

-- Events are numbered by one sequence for all partitions.
CREATE SEQUENCE events_seq_seq;

-- body holds the exact bytes that are signed and sent. seq orders the events of one transaction; across transactions
-- the order is (created_xid, seq).
CREATE TABLE events (
    seq          bigint NOT NULL DEFAULT nextval('events_seq_seq'::regclass),
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    type         text COLLATE "C" NOT NULL,
    partner_id   text COLLATE "C",
    subject_id   text COLLATE "C" NOT NULL,
    request_id   text COLLATE "C",
    body         text NOT NULL,
    created_at   timestamptz NOT NULL,
    created_xid  xid8 NOT NULL DEFAULT pg_current_xact_id(),
    partner_body text,
    CONSTRAINT events_pkey PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX events_order_idx ON events (org_id, seq);
CREATE TRIGGER events_unchanging BEFORE UPDATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER SEQUENCE events_seq_seq OWNED BY events.seq;
-- secret and previous_secret are encrypted; the previous one signs too until previous_expires_at. Failures count
-- from counted_since. number is part of delivery ids.
CREATE TABLE webhook_endpoints (
    id                  text COLLATE "C" NOT NULL,
    org_id              text COLLATE "C" NOT NULL,
    program_id          text COLLATE "C" NOT NULL,
    partner_id          text COLLATE "C",
    number              bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    url                 text NOT NULL,
    event_types         text[] NOT NULL,
    enabled             boolean NOT NULL,
    secret              bytea NOT NULL,
    previous_secret     bytea,
    previous_expires_at timestamptz,
    counted_since       timestamptz NOT NULL,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    CONSTRAINT webhook_endpoints_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_endpoints_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT webhook_endpoints_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT webhook_endpoints_previous_check CHECK ((previous_secret IS NULL) = (previous_expires_at IS NULL))
);
CREATE INDEX webhook_endpoints_list_idx ON webhook_endpoints (program_id, created_at, id);
CREATE INDEX webhook_endpoints_live_idx ON webhook_endpoints (program_id) WHERE enabled;
CREATE INDEX webhook_endpoints_partner_idx ON webhook_endpoints (program_id, partner_id) WHERE partner_id IS NOT NULL;

-- One event for one endpoint. (event_xid, event_seq) is its place in the queue. next_attempt_at is null once the
-- delivery has ended. body is set for tests only; every other delivery sends the event's body.
CREATE TABLE webhook_deliveries (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    program_id      text COLLATE "C" NOT NULL,
    endpoint_id     text COLLATE "C" NOT NULL,
    event_id        text COLLATE "C" NOT NULL,
    event_type      text COLLATE "C" NOT NULL,
    event_xid       xid8 NOT NULL DEFAULT pg_current_xact_id(),
    event_seq       bigint NOT NULL,
    body            text,
    status          text COLLATE "C" NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    response_code   integer,
    error           text,
    duration_ms     bigint,
    is_test         boolean NOT NULL DEFAULT false,
    replay_of       text COLLATE "C",
    last_attempt_at timestamptz,
    next_attempt_at timestamptz,
    finished_at     timestamptz,
    created_at      timestamptz NOT NULL,
    CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
    CONSTRAINT webhook_deliveries_endpoint_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints (id)
        ON DELETE CASCADE,
    CONSTRAINT webhook_deliveries_attempts_check CHECK (attempts BETWEEN 0 AND 8),
    CONSTRAINT webhook_deliveries_next_check CHECK
        ((status IN ('pending', 'retrying')) = (next_attempt_at IS NOT NULL)),
    CONSTRAINT webhook_deliveries_status_check CHECK (status IN ('pending', 'retrying', 'delivered', 'failed')),
    CONSTRAINT webhook_deliveries_test_check CHECK (is_test = (body IS NOT NULL))
) PARTITION BY RANGE (id);
CREATE INDEX webhook_deliveries_due_idx ON webhook_deliveries (endpoint_id, next_attempt_at)
    WHERE next_attempt_at IS NOT NULL;
CREATE INDEX webhook_deliveries_log_idx ON webhook_deliveries (endpoint_id, created_at, id);
CREATE INDEX webhook_deliveries_ended_idx ON webhook_deliveries (endpoint_id, finished_at)
    WHERE finished_at IS NOT NULL AND NOT is_test;
CREATE INDEX webhook_deliveries_event_idx ON webhook_deliveries (event_id);
CREATE INDEX webhook_deliveries_created_idx ON webhook_deliveries (created_at);
CREATE INDEX webhook_deliveries_line_idx ON webhook_deliveries (endpoint_id, event_seq, id)
    WHERE next_attempt_at IS NOT NULL;
-- The first partition holds every month up to the next one. Ids outside of the range of times, such as those of
-- sample programs, are in the outer partitions.
DO $do$
DECLARE
    upper timestamptz := (date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC';
BEGIN
    EXECUTE format('CREATE TABLE events_first PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%L)',
        id_at('evt_', upper));
    CREATE TABLE events_other PARTITION OF events FOR VALUES FROM ('evt_1') TO (MAXVALUE);
    PERFORM make_partitions('events', 'evt_');
    CREATE TABLE webhook_deliveries_low PARTITION OF webhook_deliveries FOR VALUES FROM (MINVALUE) TO ('whd_0');
    EXECUTE format('CREATE TABLE webhook_deliveries_first PARTITION OF webhook_deliveries FOR VALUES FROM (%L) TO (%L)',
        'whd_0', id_at('whd_', upper));
    CREATE TABLE webhook_deliveries_other PARTITION OF webhook_deliveries FOR VALUES FROM ('whd_1') TO (MAXVALUE);
    PERFORM make_partitions('webhook_deliveries', 'whd_');
END $do$;

-- The worker that sends to an endpoint. token rises with every lease, and a result with an older token is dropped.
-- Times are the database's.
CREATE TABLE webhook_leases (
    endpoint_id text COLLATE "C" NOT NULL,
    owner       bigint NOT NULL,
    token       bigint NOT NULL,
    until       timestamptz NOT NULL,
    quick       boolean NOT NULL DEFAULT false,
    served_at   timestamptz,
    CONSTRAINT webhook_leases_pkey PRIMARY KEY (endpoint_id),
    CONSTRAINT webhook_leases_endpoint_fkey FOREIGN KEY (endpoint_id) REFERENCES webhook_endpoints (id)
        ON DELETE CASCADE
);
