-- How far the ledger is folded into the balances, for a process that starts.
SET LOCAL lock_timeout = '2s';

CREATE TABLE ledger_mark (
    id       boolean NOT NULL DEFAULT true,
    after_id bigint NOT NULL,
    CONSTRAINT ledger_mark_pkey PRIMARY KEY (id),
    CONSTRAINT ledger_mark_id_check CHECK (id)
);
INSERT INTO ledger_mark (after_id) VALUES (0);
