-- The token buckets of API keys, which all replicas share. Not logged: after a
-- crash of the database every bucket is full again, which harms nobody. A bucket
-- holds size tokens and fills within a second; tokens is what was there at the
-- time at, granted what whoever asked last got of it.
SET LOCAL lock_timeout = '2s';

CREATE UNLOGGED TABLE rate_buckets (
    id      text COLLATE "C" NOT NULL,
    size    double precision NOT NULL,
    tokens  double precision NOT NULL,
    granted bigint NOT NULL,
    at      timestamptz NOT NULL,
    CONSTRAINT rate_buckets_pkey PRIMARY KEY (id)
) WITH (fillfactor = 50);
