-- When the last backup was made, so that one that stays away is noticed.
SET LOCAL lock_timeout = '2s';

CREATE TABLE backup_mark (
    id      boolean NOT NULL DEFAULT true,
    made_at timestamptz NOT NULL,
    CONSTRAINT backup_mark_pkey PRIMARY KEY (id),
    CONSTRAINT backup_mark_id_check CHECK (id)
);

-- Whether a mail has gone since others began to fail.
CREATE INDEX mails_sent_idx ON mails (sent_at) WHERE sent_at IS NOT NULL;
