-- Payouts and their batches.
SET LOCAL lock_timeout = '2s';

CREATE TABLE payout_batches (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    period_month date NOT NULL,
    period_end   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    auto_run_at  timestamptz,
    -- the import that brought it; its payouts were paid by another product
    import_id    text COLLATE "C",
    CONSTRAINT payout_batches_pkey PRIMARY KEY (id),
    CONSTRAINT payout_batches_program_id_key UNIQUE (program_id, id),
    CONSTRAINT payout_batches_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);
CREATE UNIQUE INDEX payout_batches_month_key ON payout_batches (program_id, period_month) WHERE import_id IS NULL;
CREATE UNIQUE INDEX payout_batches_import_key ON payout_batches (program_id, import_id, period_month)
    WHERE import_id IS NOT NULL;

-- The remaining work of a payout run, from the partner after after_id on. One run serves all requests with the same
-- parameters. again is set by a request that arrives during the run; the run then starts over with the first
-- partner.
CREATE TABLE payout_runs (
    id             text COLLATE "C" NOT NULL,
    org_id         text COLLATE "C" NOT NULL,
    program_id     text COLLATE "C" NOT NULL,
    batch_id       text COLLATE "C" NOT NULL,
    -- empty for the whole program
    group_id       text COLLATE "C" NOT NULL,
    ignore_minimum boolean NOT NULL,
    automatic      boolean NOT NULL,
    again          boolean NOT NULL DEFAULT false,
    period_end     timestamptz NOT NULL,
    after_id       text COLLATE "C" NOT NULL,
    created_at     timestamptz NOT NULL,
    CONSTRAINT payout_runs_pkey PRIMARY KEY (id),
    CONSTRAINT payout_runs_asked_key UNIQUE (program_id, batch_id, group_id, ignore_minimum),
    CONSTRAINT payout_runs_batch_fkey FOREIGN KEY (program_id, batch_id) REFERENCES payout_batches (program_id, id)
);

-- Connections to services that move money. credentials are encrypted with the server's key. No call is made before
-- busy_until, and no submission before submit_after. without_funds_at is since when the account has lacked funds.
CREATE TABLE payout_rails (
    id               text COLLATE "C" NOT NULL,
    org_id           text COLLATE "C" NOT NULL,
    program_id       text COLLATE "C" NOT NULL,
    kind             text COLLATE "C" NOT NULL,
    livemode         boolean NOT NULL,
    status           text COLLATE "C" NOT NULL,
    methods          text[] NOT NULL,
    credentials      bytea NOT NULL,
    busy_until       timestamptz,
    submit_after     timestamptz,
    without_funds_at timestamptz,
    last_success_at  timestamptz,
    last_error       text,
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    url              text,
    -- what may be sent without a person's confirmation, of one batch and in one day
    automatic_batch_minor bigint,
    automatic_day_minor   bigint,
    CONSTRAINT payout_rails_pkey PRIMARY KEY (id),
    CONSTRAINT payout_rails_program_id_key UNIQUE (program_id, id),
    CONSTRAINT payout_rails_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT payout_rails_kind_check CHECK (kind IN ('paypal', 'webhook')),
    CONSTRAINT payout_rails_status_check CHECK (status IN ('active', 'disconnected')),
    CONSTRAINT payout_rails_url_check CHECK ((kind = 'webhook') = (url IS NOT NULL)),
    CONSTRAINT payout_rails_automatic_check CHECK ((automatic_batch_minor IS NULL) = (automatic_day_minor IS NULL)
        AND automatic_batch_minor > 0 AND automatic_day_minor > 0)
);
-- One active connection per program, kind and mode.
CREATE UNIQUE INDEX payout_rails_active_key ON payout_rails (program_id, kind, livemode) WHERE status = 'active';
CREATE INDEX payout_rails_list_idx ON payout_rails (program_id, created_at, id);

-- The confirmed hand-overs of payouts to a rail; currency is empty for a batch with one.
CREATE TABLE payout_sends (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    batch_id     text COLLATE "C" NOT NULL,
    rail_id      text COLLATE "C" NOT NULL,
    currency     text COLLATE "C" NOT NULL,
    amount_minor bigint NOT NULL,
    payout_count bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    automatic    boolean NOT NULL DEFAULT false,
    CONSTRAINT payout_sends_pkey PRIMARY KEY (id),
    CONSTRAINT payout_sends_batch_fkey FOREIGN KEY (program_id, batch_id) REFERENCES payout_batches (program_id, id),
    CONSTRAINT payout_sends_rail_fkey FOREIGN KEY (program_id, rail_id) REFERENCES payout_rails (program_id, id)
);
CREATE INDEX payout_sends_batch_idx ON payout_sends (batch_id, rail_id, created_at);
CREATE INDEX payout_sends_automatic_idx ON payout_sends (program_id, created_at) WHERE automatic;

CREATE TABLE payouts (
    id            text COLLATE "C" NOT NULL,
    org_id        text COLLATE "C" NOT NULL,
    program_id    text COLLATE "C" NOT NULL,
    partner_id    text COLLATE "C" NOT NULL,
    batch_id      text COLLATE "C" NOT NULL,
    amount_minor  bigint NOT NULL,
    currency      text COLLATE "C" NOT NULL,
    status        text COLLATE "C" NOT NULL,
    method        text COLLATE "C",
    external_id   text,
    reason        text COLLATE "C",
    reason_text   text,
    error_code    text,
    error_message text,
    period_month  date NOT NULL,
    period_end    timestamptz NOT NULL,
    due_at        timestamptz NOT NULL,
    paid_at       timestamptz,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    created_xid   xid8 NOT NULL DEFAULT pg_current_xact_id(),
    due_told      boolean NOT NULL DEFAULT false,
    rail          text COLLATE "C",
    checked_at    timestamptz,
    submissions   integer NOT NULL DEFAULT 0,
    marked_at     timestamptz,
    before_paid   json,
    -- the request that marked it as paid
    mark_id       text COLLATE "C",
    failure_mailed_at timestamptz,
    -- the connected rail that has the payout, and when it was first submitted to it
    rail_id       text COLLATE "C",
    submitted_at  timestamptz,
    fee_minor     bigint,
    fee_currency  text COLLATE "C",
    attention     text COLLATE "C",
    attention_text text,
    attention_at  timestamptz,
    attention_dismissed_at timestamptz,
    -- as in its batch
    import_id     text COLLATE "C",
    CONSTRAINT payouts_pkey PRIMARY KEY (id),
    CONSTRAINT payouts_member_key UNIQUE (program_id, partner_id, currency, id),
    CONSTRAINT payouts_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT payouts_batch_fkey FOREIGN KEY (program_id, batch_id) REFERENCES payout_batches (program_id, id),
    CONSTRAINT payouts_status_check CHECK (status IN ('pending', 'processing', 'paid', 'failed', 'not_eligible')),
    CONSTRAINT payouts_paid_at_check CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
    CONSTRAINT payouts_reason_check CHECK ((status = 'not_eligible') = (reason IS NOT NULL)),
    CONSTRAINT payouts_amount_check CHECK (amount_minor > 0),
    CONSTRAINT payouts_method_check CHECK (method IN ('paypal', 'wise', 'bank_transfer', 'wire', 'crypto')),
    CONSTRAINT payouts_rail_check CHECK (status <> 'processing' OR rail IS NOT NULL),
    CONSTRAINT payouts_marked_check CHECK ((marked_at IS NULL) = (before_paid IS NULL) AND (marked_at IS NULL
        OR status = 'paid')),
    CONSTRAINT payouts_mark_id_check CHECK ((marked_at IS NULL) = (mark_id IS NULL)),
    CONSTRAINT payouts_failure_mailed_check CHECK (failure_mailed_at IS NULL OR status = 'failed'),
    CONSTRAINT payouts_fee_check CHECK ((fee_minor IS NULL) = (fee_currency IS NULL)),
    CONSTRAINT payouts_attention_check CHECK (attention IN ('unclaimed', 'on_hold', 'reversed', 'returned',
        'needs_funds', 'unconfirmed')),
    CONSTRAINT payouts_attention_dismissed_check CHECK (attention_dismissed_at IS NULL OR status = 'paid'),
    CONSTRAINT payouts_attention_text_check CHECK ((attention IS NULL) = (attention_text IS NULL)
        AND (attention IS NULL) = (attention_at IS NULL)),
    CONSTRAINT payouts_import_check CHECK (import_id IS NULL OR status = 'paid')
);
CREATE UNIQUE INDEX payouts_month_key ON payouts (program_id, partner_id, currency, period_month)
    WHERE import_id IS NULL;
CREATE INDEX payouts_list_idx ON payouts (program_id, created_at, id);
CREATE INDEX payouts_batch_idx ON payouts (batch_id, created_at, id);
CREATE INDEX payouts_status_idx ON payouts (program_id, status, created_at, id);
CREATE INDEX payouts_to_tell_idx ON payouts (due_at, id) WHERE status = 'pending' AND NOT due_told;
CREATE INDEX payouts_to_send_idx ON payouts (due_at, id) WHERE status = 'pending' AND method IS NOT NULL;
-- the payouts of a rail; an operator's rail has no id
CREATE INDEX payouts_in_flight_idx ON payouts (rail, coalesce(rail_id, ''), checked_at, id) WHERE status = 'processing';
CREATE INDEX payouts_watched_idx ON payouts (rail, coalesce(rail_id, ''), checked_at, id) WHERE status = 'paid'
    AND rail <> 'file';
CREATE INDEX payouts_attention_idx ON payouts (program_id, created_at, id) WHERE attention IS NOT NULL;
CREATE INDEX payouts_partner_idx ON payouts (program_id, partner_id, created_at, id, status);
CREATE INDEX payouts_paid_idx ON payouts (program_id, paid_at) WHERE status = 'paid';
CREATE INDEX payouts_mark_idx ON payouts (program_id, mark_id) WHERE mark_id IS NOT NULL;
CREATE TRIGGER payouts_paid_final BEFORE UPDATE ON payouts FOR EACH ROW WHEN (OLD.status = 'paid'
    AND (NEW.status, NEW.amount_minor, NEW.partner_id, NEW.currency, NEW.paid_at) IS DISTINCT FROM (OLD.status,
    OLD.amount_minor, OLD.partner_id, OLD.currency, OLD.paid_at)) EXECUTE FUNCTION refuse_paid();
ALTER TABLE commissions ADD CONSTRAINT commissions_payout_fkey FOREIGN KEY (program_id, partner_id, currency,
    payout_id) REFERENCES payouts (program_id, partner_id, currency, id);

-- The last number of statements, by organization and year. A sample program has a series under its id, so that its
-- removal leaves no gap; series is empty for all other programs.
CREATE TABLE statement_counters (
    org_id text COLLATE "C" NOT NULL,
    series text COLLATE "C" NOT NULL,
    year   bigint NOT NULL,
    last   bigint NOT NULL,
    CONSTRAINT statement_counters_pkey PRIMARY KEY (org_id, series, year),
    CONSTRAINT statement_counters_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT statement_counters_last_check CHECK (last > 0)
);

-- Statements of paid payouts. document is the signed canonical JSON. position counts the statements of a partner, each
-- of which contains the hash of the one before. corrects is the number of a statement whose payment was undone. There
-- is no foreign key to partners and payouts, because a statement outlives them.
CREATE TABLE statements (
    id            text COLLATE "C" NOT NULL,
    org_id        text COLLATE "C" NOT NULL,
    program_id    text COLLATE "C" NOT NULL,
    partner_id    text COLLATE "C" NOT NULL,
    payout_id     text COLLATE "C" NOT NULL,
    series        text COLLATE "C" NOT NULL,
    year          bigint NOT NULL,
    -- in the program's time zone when it was issued, such as 2026-10
    month         text COLLATE "C" NOT NULL,
    sequence      bigint NOT NULL,
    number        text COLLATE "C" NOT NULL,
    position      bigint NOT NULL,
    issued_at     timestamptz NOT NULL,
    document      bytea NOT NULL,
    signature     text COLLATE "C" NOT NULL,
    key_id        text COLLATE "C" NOT NULL,
    hash          text COLLATE "C" NOT NULL,
    previous_hash text COLLATE "C",
    corrects      text COLLATE "C",
    CONSTRAINT statements_pkey PRIMARY KEY (id),
    CONSTRAINT statements_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT statements_sequence_key UNIQUE (org_id, series, year, sequence),
    CONSTRAINT statements_position_key UNIQUE (program_id, partner_id, position),
    CONSTRAINT statements_month_check CHECK (month ~ '^\d{4}-\d{2}$' AND starts_with(month, year::text)),
    CONSTRAINT statements_sequence_check CHECK (sequence > 0 AND position > 0),
    CONSTRAINT statements_previous_check CHECK ((position = 1) = (previous_hash IS NULL)),
    CONSTRAINT statements_series_check CHECK (series = CASE WHEN starts_with(program_id, 'sample_') THEN program_id
        ELSE '' END)
);
CREATE INDEX statements_month_idx ON statements (program_id, month, sequence);
CREATE INDEX statements_payout_idx ON statements (payout_id, position);
CREATE INDEX statements_issued_idx ON statements (program_id, issued_at);
CREATE TRIGGER statements_unchanged BEFORE UPDATE OR TRUNCATE ON statements
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statements_undeleted BEFORE DELETE ON statements FOR EACH ROW
    WHEN (NOT starts_with(OLD.program_id, 'sample_')) EXECUTE FUNCTION refuse_change();
