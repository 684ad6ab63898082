-- What the last audit that found nothing had looked at, so that the next can look at
-- what came since. Nobody has audited yet: the first is of all.
SET LOCAL lock_timeout = '2s';

CREATE TABLE audit_mark (
    id         boolean NOT NULL DEFAULT true,
    audited_at timestamptz NOT NULL,
    whole_at   timestamptz NOT NULL, -- when the last one was that looked at all
    after_id   bigint NOT NULL,      -- of the ledger, as far as it was folded
    horizon    xid8 NOT NULL DEFAULT '0', -- the oldest transaction that ran then
    CONSTRAINT audit_mark_pkey PRIMARY KEY (id),
    CONSTRAINT audit_mark_id_check CHECK (id)
);
