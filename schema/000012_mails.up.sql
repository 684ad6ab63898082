-- The outbox: a mail is written with the change that it tells of, and sent by a
-- worker. One purpose and key make one mail, whoever writes it again; one that
-- is being sent when its worker dies is not sent twice.
SET LOCAL lock_timeout = '2s';

CREATE TABLE mails (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    purpose         text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    recipient       text NOT NULL,
    subject         text NOT NULL,
    body            text NOT NULL,
    status          text COLLATE "C" NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    error           text,
    next_attempt_at timestamptz,
    taken_at        timestamptz,
    sent_at         timestamptz,
    created_at      timestamptz NOT NULL,
    CONSTRAINT mails_pkey PRIMARY KEY (id),
    CONSTRAINT mails_purpose_key UNIQUE (org_id, purpose, key, recipient),
    CONSTRAINT mails_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT mails_status_check CHECK (status IN ('queued', 'sending', 'sent', 'failed')),
    CONSTRAINT mails_next_check CHECK ((status = 'queued') = (next_attempt_at IS NOT NULL))
);
CREATE INDEX mails_queued_idx ON mails (next_attempt_at, id) WHERE status = 'queued';
CREATE INDEX mails_sending_idx ON mails (taken_at) WHERE status = 'sending';
CREATE INDEX mails_created_idx ON mails (created_at);
