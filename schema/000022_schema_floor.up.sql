-- The oldest schema version whose program goes on working with these tables, so
-- that replicas of the release before serve on while a migration runs and until
-- they are replaced. A migration that takes away or changes what such a program
-- uses raises it to its own number.
SET LOCAL lock_timeout = '2s';

CREATE TABLE schema_floor (
    id      boolean NOT NULL DEFAULT true,
    version bigint NOT NULL,
    CONSTRAINT schema_floor_pkey PRIMARY KEY (id),
    CONSTRAINT schema_floor_id_check CHECK (id)
);
INSERT INTO schema_floor (version) VALUES (22);
