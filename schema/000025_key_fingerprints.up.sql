-- Which secret keys of the server this database depends on: what they sealed, and
-- the API keys that they hashed. A program with another key is refused by it. The
-- keys themselves are nowhere in the database.
SET LOCAL lock_timeout = '2s';

CREATE TABLE key_fingerprints (
    fingerprint text COLLATE "C" NOT NULL,
    used_since  timestamptz NOT NULL,
    replaced_at timestamptz,
    CONSTRAINT key_fingerprints_pkey PRIMARY KEY (fingerprint),
    CONSTRAINT key_fingerprints_fingerprint_check CHECK (fingerprint ~ '^[0-9a-f]{8}$')
);
