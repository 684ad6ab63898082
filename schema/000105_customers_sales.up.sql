-- Customers, sales and refunds.
SET LOCAL lock_timeout = '2s';

-- other_routes are the routes to partners that the customer named and that did not get it (tracking.OtherRoutes).
CREATE TABLE customers (
    id                       text COLLATE "C" NOT NULL,
    org_id                   text COLLATE "C" NOT NULL,
    program_id               text COLLATE "C" NOT NULL,
    partner_id               text COLLATE "C",
    referral_id              text COLLATE "C",
    link_id                  text COLLATE "C",
    coupon_id                text COLLATE "C",
    click_id                 text COLLATE "C",
    processor                text COLLATE "C",
    external_customer_id     text,
    external_subscription_id text,
    email                    text,
    name                     text,
    identifier               text,
    status                   text COLLATE "C" NOT NULL,
    tracked_by               text COLLATE "C" NOT NULL,
    lead_at                  timestamptz NOT NULL,
    converted_at             timestamptz,
    metadata                 json,
    created_at               timestamptz NOT NULL,
    updated_at               timestamptz NOT NULL,
    attribution              json,
    self_referral            boolean NOT NULL DEFAULT false,
    other_routes             json,
    -- the origin: a copy of the click that brought the customer
    source                   text,
    medium                   text,
    campaign                 text,
    referrer                 text COLLATE "C",
    country                  text COLLATE "C",
    device                   text,
    CONSTRAINT customers_pkey PRIMARY KEY (id),
    CONSTRAINT customers_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customers_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT customers_coupon_fkey FOREIGN KEY (coupon_id) REFERENCES coupons (id) ON DELETE SET NULL,
    CONSTRAINT customers_status_check CHECK (status IN ('lead', 'trial', 'active', 'cancelled', 'refunded',
        'suspended')),
    CONSTRAINT customers_tracked_by_check CHECK (tracked_by IN ('link', 'coupon', 'manual', 'api', 'agent')),
    CONSTRAINT customers_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api',
        'lemon_squeezy', 'polar', 'generic'))
);
CREATE INDEX customers_list_idx ON customers (program_id, created_at, id);
CREATE INDEX customers_status_idx ON customers (program_id, status, created_at, id);
CREATE INDEX customers_email_idx ON customers (program_id, lower(email), created_at, id) WHERE email IS NOT NULL;
CREATE INDEX customers_referral_idx ON customers (referral_id) WHERE referral_id IS NOT NULL;
CREATE INDEX customers_coupon_idx ON customers (coupon_id) WHERE coupon_id IS NOT NULL;
CREATE INDEX customers_lead_idx ON customers (program_id, lead_at, id);
CREATE INDEX customers_converted_idx ON customers (program_id, converted_at) WHERE converted_at IS NOT NULL;
CREATE INDEX customers_partner_idx ON customers (program_id, partner_id, created_at, id, status);
CREATE INDEX customers_identifier_idx ON customers (program_id, identifier) WHERE identifier IS NOT NULL;

CREATE TABLE customer_external_ids (
    program_id           text COLLATE "C" NOT NULL,
    org_id               text COLLATE "C" NOT NULL,
    external_customer_id text COLLATE "C" NOT NULL,
    customer_id          text COLLATE "C" NOT NULL,
    processor            text COLLATE "C",
    created_at           timestamptz NOT NULL,
    CONSTRAINT customer_external_ids_pkey PRIMARY KEY (program_id, external_customer_id),
    CONSTRAINT customer_external_ids_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customer_external_ids_customer_fkey FOREIGN KEY (customer_id)
        REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_external_ids_length_check CHECK (char_length(external_customer_id) BETWEEN 1 AND 255),
    CONSTRAINT customer_external_ids_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual',
        'api', 'lemon_squeezy', 'polar', 'generic'))
);
CREATE INDEX customer_external_ids_customer_idx ON customer_external_ids (customer_id, created_at,
    external_customer_id);

CREATE TABLE customer_merges (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    customer_id text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT customer_merges_pkey PRIMARY KEY (id),
    CONSTRAINT customer_merges_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customer_merges_customer_fkey FOREIGN KEY (customer_id)
        REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_merges_self_check CHECK (id <> customer_id)
);
CREATE INDEX customer_merges_customer_idx ON customer_merges (customer_id);

CREATE TABLE customer_duplicates (
    customer_id text COLLATE "C" NOT NULL,
    other_id    text COLLATE "C" NOT NULL,
    match       text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    CONSTRAINT customer_duplicates_pkey PRIMARY KEY (program_id, customer_id, other_id, match),
    CONSTRAINT customer_duplicates_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customer_duplicates_customer_fkey FOREIGN KEY (customer_id)
        REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_duplicates_other_fkey FOREIGN KEY (other_id) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT customer_duplicates_self_check CHECK (customer_id <> other_id),
    CONSTRAINT customer_duplicates_match_check CHECK (match IN ('identifier', 'email'))
);
CREATE INDEX customer_duplicates_other_idx ON customer_duplicates (other_id);
CREATE INDEX customer_duplicates_customer_idx ON customer_duplicates (customer_id, other_id, match);

-- Statements of AI assistants about the partner who referred a customer. Tokens are not stored: nonce names the token.
CREATE TABLE attribution_claims (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    customer_id  text COLLATE "C" NOT NULL,
    sale_id      text COLLATE "C",
    protocol     text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL,
    reason       text COLLATE "C",
    nonce        text COLLATE "C",
    touchpoint   text COLLATE "C",
    publisher_id text,
    campaign_id  text,
    creative_id  text,
    sub_id       text,
    source_url   text,
    created_at   timestamptz NOT NULL,
    CONSTRAINT attribution_claims_pkey PRIMARY KEY (id),
    CONSTRAINT attribution_claims_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT attribution_claims_customer_fkey FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE,
    CONSTRAINT attribution_claims_protocol_check CHECK (protocol IN ('acp', 'ucp')),
    CONSTRAINT attribution_claims_status_check CHECK (status IN ('credited', 'ignored')),
    CONSTRAINT attribution_claims_reason_check CHECK ((status = 'credited') = (reason IS NULL)),
    CONSTRAINT attribution_claims_touchpoint_check CHECK (touchpoint IN ('first', 'last'))
);
CREATE INDEX attribution_claims_customer_idx ON attribution_claims (customer_id, created_at, id);

-- customer_id has no foreign key: a sale outlives its customer, so that a charge is never counted twice (decision
-- 56).
CREATE TABLE sales (
    id                         text COLLATE "C" NOT NULL,
    org_id                     text COLLATE "C" NOT NULL,
    program_id                 text COLLATE "C" NOT NULL,
    customer_id                text COLLATE "C" NOT NULL,
    partner_id                 text COLLATE "C",
    external_charge_id         text NOT NULL,
    external_payment_intent_id text,
    processor                  text COLLATE "C" NOT NULL,
    amount_minor               bigint NOT NULL,
    tax_minor                  bigint,
    currency                   text COLLATE "C" NOT NULL,
    billing_type               text COLLATE "C" NOT NULL,
    interval                   text COLLATE "C",
    product_id                 text,
    product_name               text,
    is_first_sale              boolean NOT NULL,
    activity_outcome           text COLLATE "C" NOT NULL,
    warnings                   json NOT NULL,
    occurred_at                timestamptz NOT NULL,
    refunded_at                timestamptz,
    metadata                   json,
    created_at                 timestamptz NOT NULL,
    updated_at                 timestamptz NOT NULL,
    created_xid                xid8 NOT NULL DEFAULT pg_current_xact_id(),
    refunded_minor             bigint NOT NULL DEFAULT 0,
    fee_minor                  bigint,
    CONSTRAINT sales_pkey PRIMARY KEY (id),
    CONSTRAINT sales_charge_key UNIQUE (program_id, external_charge_id),
    CONSTRAINT sales_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT sales_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT sales_amount_check CHECK (amount_minor BETWEEN 1 AND 999999999999),
    CONSTRAINT sales_tax_check CHECK (tax_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT sales_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT sales_billing_type_check CHECK (billing_type IN ('one_time', 'subscription')),
    CONSTRAINT sales_interval_check CHECK (interval IS NULL OR interval IN ('day', 'week', 'month', 'year')
        AND billing_type = 'subscription'),
    CONSTRAINT sales_outcome_check CHECK (activity_outcome IN ('commission_created', 'sale_recorded')),
    CONSTRAINT sales_refunded_minor_check CHECK (refunded_minor >= 0),
    CONSTRAINT sales_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api',
        'lemon_squeezy', 'polar', 'generic')),
    CONSTRAINT sales_fee_check CHECK (fee_minor BETWEEN 0 AND amount_minor + refunded_minor)
);
CREATE UNIQUE INDEX sales_first_sale_key ON sales (customer_id) WHERE is_first_sale;
-- The list indexes include the columns that a list filters by, so that rows are skipped and counted within the
-- index.
CREATE INDEX sales_list_idx ON sales (program_id, created_at, id, occurred_at) INCLUDE (refunded_at);
CREATE INDEX sales_partner_idx ON sales (program_id, partner_id, created_at, id, occurred_at);
CREATE INDEX sales_customer_idx ON sales (customer_id, created_at, id);
CREATE INDEX sales_occurred_idx ON sales (program_id, occurred_at);
CREATE INDEX sales_refunded_idx ON sales (program_id, created_at, id) WHERE refunded_at IS NOT NULL;

-- Other processor ids of a sale's payment.
CREATE TABLE charge_aliases (
    org_id             text COLLATE "C" NOT NULL,
    program_id         text COLLATE "C" NOT NULL,
    alias              text COLLATE "C" NOT NULL,
    external_charge_id text COLLATE "C" NOT NULL,
    created_at         timestamptz NOT NULL,
    CONSTRAINT charge_aliases_pkey PRIMARY KEY (program_id, alias),
    CONSTRAINT charge_aliases_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);
CREATE INDEX charge_aliases_age_idx ON charge_aliases (created_at);

-- external_refund_id is the processor's id, unique in a program. A refund that waits, or that no sale matched, names
-- a charge and has neither a sale nor a currency; its amount is null if it is the whole sale. effects are the
-- changed commissions, before and after.
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
    level_minor        bigint,
    restored_minor     bigint NOT NULL DEFAULT 0,
    restorations       json NOT NULL DEFAULT '[]',
    CONSTRAINT refunds_pkey PRIMARY KEY (id),
    CONSTRAINT refunds_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT refunds_sale_fkey FOREIGN KEY (sale_id) REFERENCES sales (id),
    CONSTRAINT refunds_status_check CHECK (status IN ('applied', 'waiting', 'unmatched')),
    CONSTRAINT refunds_applied_check CHECK ((status = 'applied') = (sale_id IS NOT NULL
        AND amount_minor IS NOT NULL AND currency IS NOT NULL)),
    CONSTRAINT refunds_waiting_check CHECK (status = 'applied' OR sale_id IS NULL
        AND external_charge_id IS NOT NULL AND external_refund_id IS NOT NULL),
    CONSTRAINT refunds_amount_check CHECK (amount_minor BETWEEN 0 AND 999999999999),
    CONSTRAINT refunds_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT refunds_counts_check CHECK (voided_commissions >= 0 AND clawback_minor >= 0),
    CONSTRAINT refunds_level_check CHECK (level_minor >= 0),
    CONSTRAINT refunds_restored_check CHECK (restored_minor BETWEEN 0 AND coalesce(amount_minor, 0))
);
CREATE UNIQUE INDEX refunds_external_key ON refunds (program_id, external_refund_id);
CREATE INDEX refunds_list_idx ON refunds (program_id, created_at, id, status);
CREATE INDEX refunds_sale_idx ON refunds (sale_id, created_at, id) WHERE sale_id IS NOT NULL;
CREATE INDEX refunds_charge_idx ON refunds (program_id, external_charge_id, created_at, id)
    WHERE external_charge_id IS NOT NULL;
CREATE INDEX refunds_waiting_idx ON refunds (created_at, id) WHERE status = 'waiting';

CREATE TABLE risk_flags (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    program_id      text COLLATE "C" NOT NULL,
    partner_id      text COLLATE "C",
    customer_id     text COLLATE "C",
    kind            text COLLATE "C" NOT NULL,
    severity        text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL,
    evidence        json NOT NULL,
    resolved_at     timestamptz,
    resolved_by     text,
    resolution_note text,
    created_at      timestamptz NOT NULL,
    CONSTRAINT risk_flags_pkey PRIMARY KEY (id),
    CONSTRAINT risk_flags_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT risk_flags_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT risk_flags_severity_check CHECK (severity IN ('high', 'medium', 'low')),
    CONSTRAINT risk_flags_status_check CHECK (status IN ('open', 'reviewing', 'resolved', 'dismissed')),
    CONSTRAINT risk_flags_resolved_check CHECK ((status IN ('resolved', 'dismissed')) = (resolved_at IS NOT NULL))
);
CREATE INDEX risk_flags_partner_idx ON risk_flags (program_id, partner_id);
CREATE INDEX risk_flags_list_idx ON risk_flags (program_id, (CASE severity WHEN 'high' THEN 0
    WHEN 'medium' THEN 1 ELSE 2 END), created_at DESC, id DESC);
CREATE UNIQUE INDEX risk_flags_open_key ON risk_flags (program_id, kind, coalesce(partner_id, ''),
    coalesce(customer_id, ''), coalesce(evidence->>'dispute_id', '')) WHERE status IN ('open', 'reviewing');
