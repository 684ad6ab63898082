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
