-- State of the servers: rate limits, keys, certificates, backups.
SET LOCAL lock_timeout = '2s';

CREATE UNLOGGED TABLE rate_buckets (
    id      text COLLATE "C" NOT NULL,
    size    double precision NOT NULL,
    tokens  double precision NOT NULL,
    granted bigint NOT NULL,
    at      timestamptz NOT NULL,
    CONSTRAINT rate_buckets_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);

CREATE TABLE certificates (
    name       text COLLATE "C" NOT NULL,
    content    bytea NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT certificates_pkey PRIMARY KEY (name),
    CONSTRAINT certificates_name_check CHECK (length(name) BETWEEN 1 AND 300),
    CONSTRAINT certificates_content_check CHECK (length(content) <= 65536)
);

CREATE TABLE backup_mark (
    id      boolean NOT NULL DEFAULT true,
    made_at timestamptz NOT NULL,
    CONSTRAINT backup_mark_pkey PRIMARY KEY (id),
    CONSTRAINT backup_mark_id_check CHECK (id)
);

-- The test clock of a database whose organizations are all of test use: how far it is ahead of the machine's clock.
-- The row marks the database for good, since its rows have times to come.
CREATE TABLE test_clock (
    id         boolean NOT NULL DEFAULT true,
    ahead_us   bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT test_clock_pkey PRIMARY KEY (id),
    CONSTRAINT test_clock_id_check CHECK (id),
    CONSTRAINT test_clock_ahead_us_check CHECK (ahead_us >= 0)
);

-- Refuses live keys, payout rails and processor connections beside a test clock: the payouts that it makes due must
-- move no money. Objects of sample programs are never sent.
CREATE FUNCTION refuse_live() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM test_clock) AND NOT starts_with(NEW.id, 'sample_') THEN
        RAISE EXCEPTION 'this database has a test clock, and % must not be live', TG_TABLE_NAME
            USING ERRCODE = '23514', CONSTRAINT = 'test_clock_live';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER api_keys_live BEFORE INSERT OR UPDATE OF livemode ON api_keys
    FOR EACH ROW WHEN (NEW.livemode) EXECUTE FUNCTION refuse_live();
CREATE TRIGGER payout_rails_live BEFORE INSERT OR UPDATE OF livemode ON payout_rails
    FOR EACH ROW WHEN (NEW.livemode) EXECUTE FUNCTION refuse_live();
CREATE TRIGGER processor_connections_live BEFORE INSERT OR UPDATE OF livemode ON processor_connections
    FOR EACH ROW WHEN (NEW.livemode) EXECUTE FUNCTION refuse_live();
