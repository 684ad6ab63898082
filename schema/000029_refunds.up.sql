-- Refunds have rows: each is applied once, whoever tells of it again, and one
-- that comes before its sale waits for it.
-- The release before survives this: it makes nothing that the new checks refuse.
-- What it refunds meanwhile gets no row, which the audit names, until it is
-- refunded again.
SET LOCAL lock_timeout = '2s';

LOCK TABLE programs, sales, commissions IN SHARE ROW EXCLUSIVE MODE;

-- external_refund_id is the processor's, once a program for ever. A refund that
-- waits, or was matched with no sale, names a charge and knows neither a sale nor
-- a currency; its amount is null where it is all of the sale. effects are the
-- commissions that it changed, before and after.
CREATE TABLE refunds (
    id                 text COLLATE "C" NOT NULL,
    org_id             text COLLATE "C" NOT NULL,
    program_id         text COLLATE "C" NOT NULL,
    sale_id            text COLLATE "C",
    external_charge_id text,
    external_refund_id text,
    status             text COLLATE "C" NOT NULL,
    amount_minor       bigint,
    currency           text COLLATE "C",
    voided_commissions bigint NOT NULL DEFAULT 0,
    clawback_minor     bigint NOT NULL DEFAULT 0,
    effects            json NOT NULL DEFAULT '[]',
    reason             text,
    refunded_at        timestamptz NOT NULL,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT refunds_pkey PRIMARY KEY (id),
    CONSTRAINT refunds_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT refunds_sale_fkey FOREIGN KEY (sale_id) REFERENCES sales (id),
    CONSTRAINT refunds_status_check CHECK (status IN ('applied', 'waiting', 'unmatched')),
    CONSTRAINT refunds_applied_check CHECK ((status = 'applied') = (sale_id IS NOT NULL AND amount_minor IS NOT NULL AND currency IS NOT NULL)),
    CONSTRAINT refunds_waiting_check CHECK (status = 'applied' OR sale_id IS NULL AND external_charge_id IS NOT NULL AND external_refund_id IS NOT NULL),
    CONSTRAINT refunds_amount_check CHECK (amount_minor BETWEEN 0 AND 999999999999),
    CONSTRAINT refunds_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT refunds_counts_check CHECK (voided_commissions >= 0 AND clawback_minor >= 0)
);
CREATE UNIQUE INDEX refunds_external_key ON refunds (program_id, external_refund_id);
CREATE INDEX refunds_list_idx ON refunds (program_id, created_at, id, status);
CREATE INDEX refunds_sale_idx ON refunds (sale_id, created_at, id) WHERE sale_id IS NOT NULL;
CREATE INDEX refunds_charge_idx ON refunds (program_id, external_charge_id, created_at, id) WHERE external_charge_id IS NOT NULL;
CREATE INDEX refunds_waiting_idx ON refunds (created_at, id) WHERE status = 'waiting';

-- What was refunded before is one refund a sale; its commissions were not noted.
INSERT INTO refunds (id, org_id, program_id, sale_id, external_charge_id, status, amount_minor, currency, refunded_at, created_at, updated_at)
SELECT replace(s.id, 'sale_', 'rfd_'), s.org_id, s.program_id, s.id, s.external_charge_id, 'applied',
    s.refunded_minor + CASE WHEN s.refunded_at IS NOT NULL THEN s.amount_minor ELSE 0 END, s.currency,
    coalesce(s.refunded_at, s.updated_at), s.updated_at, s.updated_at
FROM sales s WHERE s.refunded_at IS NOT NULL OR s.refunded_minor > 0;

-- A commission made by hand for a sale is refunded with it, in proportion to what
-- was left of the sale when it was made: refunded_before_minor had gone by then.
-- What refunds took has the sign of the amount, since a deduction is undone too.
ALTER TABLE commissions ADD COLUMN refunded_before_minor bigint NOT NULL DEFAULT 0,
    ADD CONSTRAINT commissions_refunded_before_check CHECK (refunded_before_minor >= 0),
    DROP CONSTRAINT commissions_taken_check,
    ADD CONSTRAINT commissions_taken_check CHECK (
        amount_minor > 0 AND shrunk_minor >= 0 AND clawed_minor BETWEEN 0 AND amount_minor
        OR amount_minor < 0 AND shrunk_minor <= 0 AND clawed_minor BETWEEN amount_minor AND 0);

-- Refunds of before left these alone, and it stays so.
UPDATE commissions k SET refunded_before_minor = s.refunded_minor + CASE WHEN s.refunded_at IS NOT NULL THEN s.amount_minor ELSE 0 END
FROM sales s WHERE s.id = k.sale_id AND k.kind <> 'referral' AND k.metadata IS NULL AND (s.refunded_at IS NOT NULL OR s.refunded_minor > 0);
