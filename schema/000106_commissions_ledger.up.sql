-- Commissions, and the ledger that every amount goes through.
SET LOCAL lock_timeout = '2s';

CREATE FUNCTION refuse_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'payouts' THEN
        IF OLD.marked_at IS NOT NULL AND NEW.marked_at IS NULL AND NEW.status IN ('pending', 'processing', 'failed')
            AND (NEW.amount_minor, NEW.partner_id, NEW.currency) = (OLD.amount_minor, OLD.partner_id, OLD.currency) THEN
            RETURN NEW;
        END IF;
    ELSIF NEW.status = 'due' AND (NEW.amount_minor, NEW.partner_id, NEW.currency, NEW.payout_id)
        IS NOT DISTINCT FROM (OLD.amount_minor, OLD.partner_id, OLD.currency, OLD.payout_id)
        AND NOT EXISTS (SELECT 1 FROM payouts p WHERE p.id = OLD.payout_id AND p.status = 'paid') THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION '% is paid', OLD.id USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_paid_final';
END $$;

-- A commission's owner and currency never change; its status does. flow_id and flow_branch_id have no foreign key,
-- because a commission outlives its flow.
CREATE TABLE commissions (
    id                    text COLLATE "C" NOT NULL,
    org_id                text COLLATE "C" NOT NULL,
    program_id            text COLLATE "C" NOT NULL,
    partner_id            text COLLATE "C" NOT NULL,
    sale_id               text COLLATE "C",
    customer_id           text COLLATE "C",
    flow_id               text COLLATE "C",
    flow_branch_id        text COLLATE "C",
    kind                  text COLLATE "C" NOT NULL,
    amount_minor          bigint NOT NULL,
    revenue_minor         bigint,
    rate_type             text COLLATE "C",
    rate_value            bigint,
    currency              text COLLATE "C" NOT NULL,
    status                text COLLATE "C" NOT NULL,
    mature_at             timestamptz,
    approve_at            timestamptz,
    approved_at           timestamptz,
    voided_at             timestamptz,
    void_reason           text,
    payout_id             text COLLATE "C",
    metadata              json,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL,
    created_xid           xid8 NOT NULL DEFAULT pg_current_xact_id(),
    shrunk_minor          bigint NOT NULL DEFAULT 0,
    clawed_minor          bigint NOT NULL DEFAULT 0,
    refunded_before_minor bigint NOT NULL DEFAULT 0,
    CONSTRAINT commissions_pkey PRIMARY KEY (id),
    CONSTRAINT commissions_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT commissions_sale_fkey FOREIGN KEY (sale_id) REFERENCES sales (id),
    CONSTRAINT commissions_kind_check CHECK (kind IN ('referral', 'reward', 'clawback')),
    CONSTRAINT commissions_sign_check CHECK ((kind = 'clawback') = (amount_minor < 0) AND amount_minor <> 0
        AND abs(amount_minor) < 100000000000000),
    CONSTRAINT commissions_status_check CHECK (status IN ('pending', 'approved', 'due', 'paid', 'rejected', 'voided')),
    CONSTRAINT commissions_void_check CHECK ((status IN ('voided', 'rejected')) = (voided_at IS NOT NULL)
        AND (voided_at IS NULL) = (void_reason IS NULL)),
    CONSTRAINT commissions_payout_check CHECK ((payout_id IS NULL OR status IN ('due', 'paid'))
        AND (status <> 'paid' OR payout_id IS NOT NULL)),
    CONSTRAINT commissions_rate_check CHECK ((rate_type IS NULL) = (rate_value IS NULL) AND (rate_type IS NULL
        OR rate_type IN ('percent', 'fixed'))),
    CONSTRAINT commissions_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT commissions_refunded_before_check CHECK (refunded_before_minor >= 0),
    CONSTRAINT commissions_taken_check CHECK ( amount_minor > 0 AND shrunk_minor >= 0
        AND clawed_minor BETWEEN -shrunk_minor AND amount_minor OR amount_minor < 0 AND shrunk_minor <= 0
        AND clawed_minor BETWEEN amount_minor AND -shrunk_minor)
);
CREATE UNIQUE INDEX commissions_sale_key ON commissions (sale_id) WHERE kind = 'referral' AND sale_id IS NOT NULL;
CREATE UNIQUE INDEX commissions_signup_key ON commissions (customer_id) WHERE kind = 'referral' AND sale_id IS NULL;
CREATE INDEX commissions_list_idx ON commissions (program_id, created_at, id) INCLUDE (kind);
CREATE INDEX commissions_kind_idx ON commissions (program_id, kind, created_at, id) WHERE kind <> 'referral';
CREATE INDEX commissions_of_sale_idx ON commissions (sale_id, created_at, id) WHERE sale_id IS NOT NULL;
CREATE INDEX commissions_payout_idx ON commissions (payout_id, created_at, id) WHERE payout_id IS NOT NULL;
CREATE INDEX commissions_mature_idx ON commissions (program_id, mature_at, id, status);
CREATE INDEX commissions_to_mature_idx ON commissions (mature_at, id) WHERE status = 'approved';
CREATE INDEX commissions_to_approve_idx ON commissions (approve_at, id) WHERE status = 'pending'
    AND approve_at IS NOT NULL;
CREATE INDEX commissions_undated_idx ON commissions (program_id, created_at) WHERE sale_id IS NULL OR kind = 'clawback';
CREATE INDEX commissions_partner_idx ON commissions (program_id, partner_id, created_at, id, status) INCLUDE (kind);
CREATE INDEX commissions_status_idx ON commissions (program_id, status, created_at, id) INCLUDE (kind);
-- A batch reads the partner's commissions that are in no payout.
CREATE INDEX commissions_to_collect_idx ON commissions (program_id, partner_id, status) WHERE payout_id IS NULL
    AND status IN ('pending', 'approved', 'due');
CREATE TRIGGER commissions_paid_final BEFORE UPDATE ON commissions FOR EACH ROW WHEN (OLD.status = 'paid'
    AND (NEW.status, NEW.amount_minor, NEW.partner_id, NEW.currency, NEW.payout_id) IS DISTINCT FROM (OLD.status,
    OLD.amount_minor, OLD.partner_id, OLD.currency, OLD.payout_id)) EXECUTE FUNCTION refuse_paid();

-- The ledger: one immutable row for each move of a commission's money from one bucket to another, so that every move
-- sums to zero. Money is earned from source and goes to sink if it is rejected or voided, to removed if its partner
-- is deleted. The ledger has no foreign keys, because entries outlive their objects.
CREATE TABLE ledger_entries (
    id            bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    org_id        text COLLATE "C" NOT NULL,
    program_id    text COLLATE "C" NOT NULL,
    partner_id    text COLLATE "C" NOT NULL,
    commission_id text COLLATE "C" NOT NULL,
    currency      text COLLATE "C" NOT NULL,
    from_bucket   text COLLATE "C" NOT NULL,
    to_bucket     text COLLATE "C" NOT NULL,
    amount_minor  bigint NOT NULL,
    created_at    timestamptz NOT NULL,
    created_xid   xid8 NOT NULL DEFAULT pg_current_xact_id(),
    CONSTRAINT ledger_entries_pkey PRIMARY KEY (id),
    CONSTRAINT ledger_entries_bucket_check CHECK ( from_bucket IN ('source', 'pending', 'due', 'paid', 'sink')
        AND to_bucket IN ('source', 'pending', 'due', 'paid', 'sink', 'removed') AND from_bucket <> to_bucket),
    CONSTRAINT ledger_entries_amount_check CHECK (amount_minor <> 0)
);
CREATE INDEX ledger_entries_open_idx ON ledger_entries (partner_id, currency, created_xid);
CREATE INDEX ledger_entries_commission_idx ON ledger_entries (commission_id);
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE ledger_mark (
    id       boolean NOT NULL DEFAULT true,
    after_id bigint NOT NULL,
    CONSTRAINT ledger_mark_pkey PRIMARY KEY (id),
    CONSTRAINT ledger_mark_id_check CHECK (id)
);
INSERT INTO ledger_mark (after_id) VALUES (0);

-- A balance is the sum of the ledger up to folded_xid: the row includes every entry of an older transaction. A
-- reader adds the newer entries, so no sale waits for the commit of another.
CREATE TABLE balances (
    id            text COLLATE "C" NOT NULL,
    org_id        text COLLATE "C" NOT NULL,
    program_id    text COLLATE "C" NOT NULL,
    partner_id    text COLLATE "C" NOT NULL,
    currency      text COLLATE "C" NOT NULL,
    pending_minor bigint NOT NULL DEFAULT 0,
    due_minor     bigint NOT NULL DEFAULT 0,
    paid_minor    bigint NOT NULL DEFAULT 0,
    folded_xid    xid8 NOT NULL DEFAULT '0',
    updated_at    timestamptz NOT NULL,
    CONSTRAINT balances_pkey PRIMARY KEY (id),
    CONSTRAINT balances_partner_key UNIQUE (program_id, partner_id, currency),
    CONSTRAINT balances_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX balances_currency_idx ON balances (program_id, currency, partner_id);

CREATE TABLE audit_mark (
    id         boolean NOT NULL DEFAULT true,
    audited_at timestamptz NOT NULL,
    -- the time of the last full audit
    whole_at   timestamptz NOT NULL,
    -- the position up to which the ledger was folded
    after_id   bigint NOT NULL,
    -- the oldest transaction running at that time
    horizon    xid8 NOT NULL DEFAULT '0',
    CONSTRAINT audit_mark_pkey PRIMARY KEY (id),
    CONSTRAINT audit_mark_id_check CHECK (id)
);

CREATE VIEW balance_sums AS
SELECT t.id, t.org_id, t.program_id, t.partner_id, t.currency,
    (t.pending_minor + coalesce(o.pending, 0))::bigint AS pending_minor,
    (t.due_minor + coalesce(o.due, 0))::bigint AS due_minor,
    (t.paid_minor + coalesce(o.paid, 0))::bigint AS paid_minor,
    greatest(t.updated_at, o.at)::timestamptz AS updated_at
FROM balances t LEFT JOIN LATERAL (
    SELECT
        sum(CASE WHEN l.to_bucket = 'pending' THEN l.amount_minor
            WHEN l.from_bucket = 'pending' THEN -l.amount_minor END) AS pending,
        sum(CASE WHEN l.to_bucket = 'due' THEN l.amount_minor
            WHEN l.from_bucket = 'due' THEN -l.amount_minor END) AS due,
        sum(CASE WHEN l.to_bucket = 'paid' THEN l.amount_minor
            WHEN l.from_bucket = 'paid' THEN -l.amount_minor END) AS paid,
        max(l.created_at) AS at
    FROM ledger_entries l WHERE l.partner_id = t.partner_id AND l.currency = t.currency
        AND l.created_xid >= t.folded_xid
) o ON true;
