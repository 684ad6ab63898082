-- What servers that get their own certificates share: those, the account by which they get them, and what proves to the
-- authority that an order is theirs, whichever server it asks. All of it is sealed.
SET LOCAL lock_timeout = '2s';

CREATE TABLE certificates (
    name       text COLLATE "C" NOT NULL,
    content    bytea NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT certificates_pkey PRIMARY KEY (name),
    CONSTRAINT certificates_name_check CHECK (length(name) BETWEEN 1 AND 300),
    CONSTRAINT certificates_content_check CHECK (length(content) <= 65536)
);
