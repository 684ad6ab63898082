-- The tables of Rail. Every tenant row carries its organization; every unique
-- index over something that a client chooses begins with the organization or
-- the program. Ids are text in byte order; money is bigint minor units; states
-- are text with a CHECK; constraints are named because code maps them by name.
SET LOCAL lock_timeout = '2s';

CREATE TABLE organizations (
    id          text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    owner_email text,
    created_at  timestamptz NOT NULL,
    CONSTRAINT organizations_pkey PRIMARY KEY (id),
    CONSTRAINT organizations_name_check CHECK (char_length(name) BETWEEN 1 AND 255)
);

-- A key is stored as a keyed hash only; prefix and last4 are for display.
CREATE TABLE api_keys (
    id               text COLLATE "C" NOT NULL,
    org_id           text COLLATE "C" NOT NULL,
    user_id          text COLLATE "C" NOT NULL,
    hash             bytea NOT NULL,
    last4            text NOT NULL,
    livemode         boolean NOT NULL,
    scopes           text[] NOT NULL,
    rate_limit       integer NOT NULL,
    signing_required boolean NOT NULL DEFAULT false,
    version          text NOT NULL,
    created_at       timestamptz NOT NULL,
    signing_changed_at timestamptz,
    last_used_at     timestamptz,
    revoked_at       timestamptz,
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_hash_key UNIQUE (hash),
    CONSTRAINT api_keys_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT api_keys_rate_limit_check CHECK (rate_limit BETWEEN 1 AND 1000000),
    CONSTRAINT api_keys_scopes_check CHECK (scopes <@ ARRAY['read', 'write', 'partners:write', 'commissions:write', 'payouts:write', 'webhooks:write'])
);
CREATE INDEX api_keys_org_idx ON api_keys (org_id, created_at, id);

CREATE TABLE programs (
    id                        text COLLATE "C" NOT NULL,
    org_id                    text COLLATE "C" NOT NULL,
    name                      text NOT NULL,
    product_name              text NOT NULL,
    website_url               text NOT NULL,
    currency                  text COLLATE "C" NOT NULL,
    status                    text COLLATE "C" NOT NULL,
    subdomain                 text NOT NULL,
    custom_domain             text,
    terms_url                 text,
    terms_version             text,
    cookie_days               bigint NOT NULL,
    url_params                text[] NOT NULL,
    commission_on_net_revenue boolean NOT NULL,
    holding_period_days       bigint NOT NULL,
    min_payout_minor          bigint NOT NULL,
    payout_term               text COLLATE "C" NOT NULL,
    payout_methods            text[] NOT NULL,
    block_self_referrals      boolean NOT NULL,
    blocked_countries         text[] NOT NULL,
    require_tax_forms         boolean NOT NULL,
    auto_payouts_enabled      boolean NOT NULL,
    processor                 text COLLATE "C",
    created_at                timestamptz NOT NULL,
    updated_at                timestamptz NOT NULL,
    CONSTRAINT programs_pkey PRIMARY KEY (id),
    CONSTRAINT programs_org_id_key UNIQUE (org_id, id),
    CONSTRAINT programs_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT programs_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT programs_status_check CHECK (status IN ('active', 'paused')),
    CONSTRAINT programs_cookie_days_check CHECK (cookie_days BETWEEN 1 AND 365),
    CONSTRAINT programs_holding_period_days_check CHECK (holding_period_days BETWEEN 0 AND 180),
    CONSTRAINT programs_min_payout_minor_check CHECK (min_payout_minor >= 0),
    CONSTRAINT programs_payout_term_check CHECK (payout_term IN ('net_15', 'net_30', 'net_60')),
    CONSTRAINT programs_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api'))
);
CREATE INDEX programs_list_idx ON programs (org_id, created_at, id);

CREATE TABLE groups (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    name        text NOT NULL,
    slug        text NOT NULL,
    description text,
    landing_url text,
    is_private  boolean NOT NULL,
    is_default  boolean NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    CONSTRAINT groups_pkey PRIMARY KEY (id),
    CONSTRAINT groups_program_id_key UNIQUE (program_id, id),
    CONSTRAINT groups_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT groups_name_check CHECK (char_length(name) BETWEEN 1 AND 255)
);
CREATE UNIQUE INDEX groups_name_key ON groups (program_id, lower(name));
CREATE UNIQUE INDEX groups_slug_key ON groups (program_id, slug);
CREATE UNIQUE INDEX groups_default_key ON groups (program_id) WHERE is_default;
CREATE INDEX groups_list_idx ON groups (program_id, created_at, id);

CREATE TABLE tags (
    id         text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    name       text NOT NULL,
    color      text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT tags_pkey PRIMARY KEY (id),
    CONSTRAINT tags_program_id_key UNIQUE (program_id, id),
    CONSTRAINT tags_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT tags_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
    CONSTRAINT tags_color_check CHECK (color ~ '^#[0-9A-Fa-f]{6}$')
);
CREATE UNIQUE INDEX tags_name_key ON tags (program_id, lower(name));
CREATE INDEX tags_list_idx ON tags (program_id, created_at, id);

CREATE TABLE partners (
    id                   text COLLATE "C" NOT NULL,
    org_id               text COLLATE "C" NOT NULL,
    program_id           text COLLATE "C" NOT NULL,
    group_id             text COLLATE "C",
    email                text NOT NULL,
    first_name           text,
    last_name            text,
    display_name         text,
    company_name         text,
    website_url          text,
    country_code         text COLLATE "C",
    language_code        text,
    handle               text COLLATE "C" NOT NULL,
    status               text COLLATE "C" NOT NULL,
    decline_reason       text,
    suspension_reason    text,
    min_payout_minor     bigint,
    terms_accepted_at    timestamptz,
    terms_version        text,
    completed_onboarding boolean NOT NULL DEFAULT false,
    email_first_referral boolean NOT NULL DEFAULT true,
    email_new_referral   boolean NOT NULL DEFAULT true,
    email_payout_paid    boolean NOT NULL DEFAULT true,
    metadata             json,
    payout_method        text COLLATE "C",
    payout_details       bytea,
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    CONSTRAINT partners_pkey PRIMARY KEY (id),
    CONSTRAINT partners_program_id_key UNIQUE (program_id, id),
    CONSTRAINT partners_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT partners_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT partners_status_check CHECK (status IN ('pending', 'active', 'declined', 'suspended')),
    CONSTRAINT partners_handle_check CHECK (handle ~ '^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$'),
    CONSTRAINT partners_min_payout_minor_check CHECK (min_payout_minor >= 0),
    CONSTRAINT partners_suspension_reason_check CHECK (suspension_reason IS NULL OR status = 'suspended'),
    CONSTRAINT partners_payout_method_check CHECK (payout_method IN ('paypal', 'wise', 'bank_transfer', 'wire', 'crypto'))
);
CREATE UNIQUE INDEX partners_email_key ON partners (program_id, lower(email));
CREATE UNIQUE INDEX partners_handle_key ON partners (program_id, handle);
CREATE INDEX partners_list_idx ON partners (program_id, created_at, id);
CREATE INDEX partners_status_idx ON partners (program_id, status, created_at, id);
CREATE INDEX partners_group_idx ON partners (program_id, group_id, created_at, id);

CREATE TABLE partner_tags (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    tag_id     text COLLATE "C" NOT NULL,
    CONSTRAINT partner_tags_pkey PRIMARY KEY (partner_id, tag_id),
    CONSTRAINT partner_tags_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT partner_tags_tag_fkey FOREIGN KEY (program_id, tag_id) REFERENCES tags (program_id, id) ON DELETE CASCADE
);
CREATE INDEX partner_tags_tag_idx ON partner_tags (program_id, tag_id);

CREATE TABLE magic_links (
    token_hash bytea NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    CONSTRAINT magic_links_pkey PRIMARY KEY (token_hash),
    CONSTRAINT magic_links_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX magic_links_partner_idx ON magic_links (program_id, partner_id) WHERE used_at IS NULL;

CREATE TABLE applications (
    id                  text COLLATE "C" NOT NULL,
    org_id              text COLLATE "C" NOT NULL,
    program_id          text COLLATE "C" NOT NULL,
    group_id            text COLLATE "C",
    partner_id          text COLLATE "C",
    email               text NOT NULL,
    answers             json,
    source              text COLLATE "C",
    status              text COLLATE "C" NOT NULL,
    reviewed_by_user_id text COLLATE "C",
    reviewed_at         timestamptz,
    rejection_reason    text,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    CONSTRAINT applications_pkey PRIMARY KEY (id),
    CONSTRAINT applications_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT applications_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT applications_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT applications_status_check CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
    CONSTRAINT applications_source_check CHECK (source IN ('portal', 'api', 'import', 'customer_enrol')),
    CONSTRAINT applications_reviewed_check CHECK (reviewed_at IS NULL OR status IN ('approved', 'rejected'))
);
CREATE INDEX applications_list_idx ON applications (program_id, created_at, id);
CREATE INDEX applications_status_idx ON applications (program_id, status, created_at, id);
CREATE INDEX applications_partner_idx ON applications (program_id, partner_id, created_at, id);
CREATE INDEX applications_group_idx ON applications (program_id, group_id) WHERE group_id IS NOT NULL;

-- rate_override is null or {"rate_type", "rate_value"}; value_key and
-- destination_key are what clicks are matched on.
CREATE TABLE links (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    program_id      text COLLATE "C" NOT NULL,
    partner_id      text COLLATE "C" NOT NULL,
    param           text NOT NULL,
    value           text NOT NULL,
    value_key       text COLLATE "C" NOT NULL,
    destination_url text NOT NULL,
    destination_key text COLLATE "C" NOT NULL,
    short_slug      text COLLATE "C",
    label           text,
    rate_override   json,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    deleted_at      timestamptz,
    CONSTRAINT links_pkey PRIMARY KEY (id),
    CONSTRAINT links_short_slug_key UNIQUE (short_slug),
    CONSTRAINT links_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT links_value_key_check CHECK (value_key = lower(value) AND char_length(value) BETWEEN 2 AND 64)
);
CREATE INDEX links_list_idx ON links (program_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX links_partner_idx ON links (program_id, partner_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX links_value_idx ON links (partner_id, value_key, created_at, id);

-- One namespace a program for handles, former handles and custom link values,
-- so that no link can shadow another partner's handle (decisions, 43 and 44).
CREATE TABLE tracking_values (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    value      text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    link_id    text COLLATE "C",
    CONSTRAINT tracking_values_pkey PRIMARY KEY (program_id, value),
    CONSTRAINT tracking_values_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT tracking_values_kind_check CHECK (kind IN ('handle', 'link')),
    CONSTRAINT tracking_values_link_check CHECK ((kind = 'link') = (link_id IS NOT NULL)),
    CONSTRAINT tracking_values_value_check CHECK (value = lower(value))
);
CREATE INDEX tracking_values_partner_idx ON tracking_values (program_id, partner_id);

CREATE TABLE coupons (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    partner_id  text COLLATE "C",
    group_id    text COLLATE "C",
    code        text NOT NULL,
    external_id text,
    active      boolean NOT NULL DEFAULT true,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    CONSTRAINT coupons_pkey PRIMARY KEY (id),
    CONSTRAINT coupons_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT coupons_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT coupons_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT coupons_code_check CHECK (char_length(code) BETWEEN 1 AND 64)
);
CREATE UNIQUE INDEX coupons_code_key ON coupons (program_id, lower(code));
CREATE INDEX coupons_list_idx ON coupons (program_id, created_at, id);
CREATE INDEX coupons_partner_idx ON coupons (program_id, partner_id, created_at, id);
CREATE INDEX coupons_group_idx ON coupons (program_id, group_id) WHERE group_id IS NOT NULL;
CREATE INDEX coupons_external_idx ON coupons (program_id, external_id) WHERE external_id IS NOT NULL;

-- visitor is a hash of the visitor token. One referral a visitor and partner is
-- current; when it has expired, the next click replaces it.
CREATE TABLE referrals (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    partner_id  text COLLATE "C" NOT NULL,
    link_id     text COLLATE "C",
    visitor     bytea NOT NULL,
    current     boolean NOT NULL DEFAULT true,
    landing_url text,
    utm         json,
    tracked_by  text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL,
    expires_at  timestamptz NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    CONSTRAINT referrals_pkey PRIMARY KEY (id),
    CONSTRAINT referrals_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT referrals_tracked_by_check CHECK (tracked_by IN ('link', 'coupon', 'manual', 'api')),
    CONSTRAINT referrals_status_check CHECK (status IN ('visit', 'lead', 'converted'))
);
CREATE UNIQUE INDEX referrals_current_key ON referrals (program_id, partner_id, visitor) WHERE current;
CREATE INDEX referrals_list_idx ON referrals (program_id, created_at, id);
CREATE INDEX referrals_partner_idx ON referrals (program_id, partner_id, created_at, id);
CREATE INDEX referrals_status_idx ON referrals (program_id, status, created_at, id);
CREATE INDEX referrals_link_idx ON referrals (link_id) WHERE link_id IS NOT NULL;

-- ip_hash is a keyed hash cut to 16 bytes; the address itself is never stored.
CREATE TABLE clicks (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    partner_id  text COLLATE "C" NOT NULL,
    link_id     text COLLATE "C",
    referral_id text COLLATE "C",
    param       text NOT NULL,
    ip_hash     bytea,
    user_agent  text,
    referer     text,
    country     text COLLATE "C",
    device      text,
    landing_url text,
    created_at  timestamptz NOT NULL,
    CONSTRAINT clicks_pkey PRIMARY KEY (id),
    CONSTRAINT clicks_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX clicks_list_idx ON clicks (program_id, created_at, id);
CREATE INDEX clicks_partner_idx ON clicks (program_id, partner_id, created_at, id);
CREATE INDEX clicks_link_idx ON clicks (link_id, created_at, id) WHERE link_id IS NOT NULL;
CREATE INDEX clicks_referral_idx ON clicks (referral_id, created_at, id) WHERE referral_id IS NOT NULL;

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
    CONSTRAINT customers_pkey PRIMARY KEY (id),
    CONSTRAINT customers_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT customers_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT customers_coupon_fkey FOREIGN KEY (coupon_id) REFERENCES coupons (id) ON DELETE SET NULL,
    CONSTRAINT customers_status_check CHECK (status IN ('lead', 'trial', 'active', 'cancelled', 'refunded', 'suspended')),
    CONSTRAINT customers_tracked_by_check CHECK (tracked_by IN ('link', 'coupon', 'manual', 'api')),
    CONSTRAINT customers_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api'))
);
CREATE UNIQUE INDEX customers_external_key ON customers (program_id, external_customer_id) WHERE external_customer_id IS NOT NULL;
CREATE INDEX customers_list_idx ON customers (program_id, created_at, id);
CREATE INDEX customers_partner_idx ON customers (program_id, partner_id, created_at, id);
CREATE INDEX customers_status_idx ON customers (program_id, status, created_at, id);
CREATE INDEX customers_email_idx ON customers (program_id, lower(email), created_at, id) WHERE email IS NOT NULL;
CREATE INDEX customers_referral_idx ON customers (referral_id) WHERE referral_id IS NOT NULL;
CREATE INDEX customers_link_idx ON customers (link_id) WHERE link_id IS NOT NULL;
CREATE INDEX customers_coupon_idx ON customers (coupon_id) WHERE coupon_id IS NOT NULL;

-- branches is an ordered array of {id, label, conditions, rate_type,
-- rate_value}: a flow and its branches change as one, so they are one row.
CREATE TABLE flows (
    id                  text COLLATE "C" NOT NULL,
    org_id              text COLLATE "C" NOT NULL,
    program_id          text COLLATE "C" NOT NULL,
    name                text NOT NULL,
    description         text,
    group_id            text COLLATE "C",
    partner_id          text COLLATE "C",
    trigger             text COLLATE "C" NOT NULL,
    action              text COLLATE "C" NOT NULL,
    target_group_id     text COLLATE "C",
    rate_type           text COLLATE "C",
    rate_value          bigint,
    approval_mode       text COLLATE "C" NOT NULL,
    approval_delay_days bigint,
    priority            bigint NOT NULL,
    status              text COLLATE "C" NOT NULL,
    branches            json NOT NULL,
    specificity         smallint NOT NULL GENERATED ALWAYS AS (CASE WHEN partner_id IS NOT NULL THEN 0 WHEN group_id IS NOT NULL THEN 1 ELSE 2 END) STORED,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    CONSTRAINT flows_pkey PRIMARY KEY (id),
    CONSTRAINT flows_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT flows_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT flows_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT flows_target_group_fkey FOREIGN KEY (program_id, target_group_id) REFERENCES groups (program_id, id),
    CONSTRAINT flows_scope_check CHECK (group_id IS NULL OR partner_id IS NULL),
    CONSTRAINT flows_trigger_check CHECK (trigger IN ('new_payment', 'new_signup')),
    CONSTRAINT flows_action_check CHECK (action IN ('generate_commission', 'switch_group')),
    CONSTRAINT flows_rate_check CHECK (
        (action = 'switch_group' AND target_group_id IS NOT NULL AND rate_type IS NULL AND rate_value IS NULL)
        OR (action = 'generate_commission' AND target_group_id IS NULL AND rate_type IS NOT NULL AND rate_value IS NOT NULL
            AND (rate_type = 'percent' AND rate_value BETWEEN 0 AND 50000 OR rate_type = 'fixed' AND rate_value BETWEEN 0 AND 99999999))),
    CONSTRAINT flows_approval_check CHECK (
        approval_mode IN ('immediate', 'after_days', 'manual')
        AND (approval_mode = 'after_days') = (approval_delay_days IS NOT NULL)
        AND (approval_delay_days IS NULL OR approval_delay_days BETWEEN 1 AND 999)),
    CONSTRAINT flows_priority_check CHECK (priority BETWEEN 0 AND 1000),
    CONSTRAINT flows_status_check CHECK (status IN ('active', 'inactive'))
);
CREATE INDEX flows_list_idx ON flows (program_id, priority, specificity, created_at, id);
CREATE INDEX flows_group_idx ON flows (program_id, group_id) WHERE group_id IS NOT NULL;
CREATE INDEX flows_partner_idx ON flows (program_id, partner_id) WHERE partner_id IS NOT NULL;
CREATE INDEX flows_target_group_idx ON flows (program_id, target_group_id) WHERE target_group_id IS NOT NULL;

-- customer_id has no foreign key: a sale outlives its customer, so that one
-- charge stays one sale forever (decisions, 56).
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
    CONSTRAINT sales_pkey PRIMARY KEY (id),
    CONSTRAINT sales_charge_key UNIQUE (program_id, external_charge_id),
    CONSTRAINT sales_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT sales_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT sales_amount_check CHECK (amount_minor BETWEEN 1 AND 999999999999),
    CONSTRAINT sales_tax_check CHECK (tax_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT sales_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT sales_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api')),
    CONSTRAINT sales_billing_type_check CHECK (billing_type IN ('one_time', 'subscription')),
    CONSTRAINT sales_interval_check CHECK (interval IS NULL OR interval IN ('day', 'week', 'month', 'year') AND billing_type = 'subscription'),
    CONSTRAINT sales_outcome_check CHECK (activity_outcome IN ('commission_created', 'sale_recorded'))
);
CREATE UNIQUE INDEX sales_first_sale_key ON sales (customer_id) WHERE is_first_sale;
-- The lists' indexes carry what else a list filters by, so that rows which do not
-- fit are passed, and counted, within the index.
CREATE INDEX sales_list_idx ON sales (program_id, created_at, id, occurred_at) INCLUDE (refunded_at);
CREATE INDEX sales_partner_idx ON sales (program_id, partner_id, created_at, id, occurred_at);
CREATE INDEX sales_customer_idx ON sales (customer_id, created_at, id);
CREATE INDEX sales_occurred_idx ON sales (program_id, occurred_at);
CREATE INDEX sales_refunded_idx ON sales (program_id, created_at, id) WHERE refunded_at IS NOT NULL;

CREATE TABLE payout_batches (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    period_month date NOT NULL,
    period_end   timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT payout_batches_pkey PRIMARY KEY (id),
    CONSTRAINT payout_batches_month_key UNIQUE (program_id, period_month),
    CONSTRAINT payout_batches_program_id_key UNIQUE (program_id, id),
    CONSTRAINT payout_batches_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id)
);

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
    CONSTRAINT payouts_pkey PRIMARY KEY (id),
    CONSTRAINT payouts_month_key UNIQUE (program_id, partner_id, currency, period_month),
    CONSTRAINT payouts_member_key UNIQUE (program_id, partner_id, currency, id),
    CONSTRAINT payouts_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT payouts_batch_fkey FOREIGN KEY (program_id, batch_id) REFERENCES payout_batches (program_id, id),
    CONSTRAINT payouts_status_check CHECK (status IN ('pending', 'processing', 'paid', 'failed', 'not_eligible')),
    CONSTRAINT payouts_paid_at_check CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
    CONSTRAINT payouts_reason_check CHECK ((status = 'not_eligible') = (reason IS NOT NULL)),
    CONSTRAINT payouts_amount_check CHECK (amount_minor > 0),
    CONSTRAINT payouts_method_check CHECK (method IN ('paypal', 'wise', 'bank_transfer', 'wire', 'crypto'))
);
CREATE INDEX payouts_list_idx ON payouts (program_id, created_at, id);
CREATE INDEX payouts_batch_idx ON payouts (batch_id, created_at, id);
CREATE INDEX payouts_status_idx ON payouts (program_id, status, created_at, id);

-- The money of a commission never changes its owner or currency; its status
-- moves. flow_id and flow_branch_id have no foreign key: they outlive the flow.
CREATE TABLE commissions (
    id             text COLLATE "C" NOT NULL,
    org_id         text COLLATE "C" NOT NULL,
    program_id     text COLLATE "C" NOT NULL,
    partner_id     text COLLATE "C" NOT NULL,
    sale_id        text COLLATE "C",
    customer_id    text COLLATE "C",
    flow_id        text COLLATE "C",
    flow_branch_id text COLLATE "C",
    kind           text COLLATE "C" NOT NULL,
    amount_minor   bigint NOT NULL,
    revenue_minor  bigint,
    rate_type      text COLLATE "C",
    rate_value     bigint,
    currency       text COLLATE "C" NOT NULL,
    status         text COLLATE "C" NOT NULL,
    mature_at      timestamptz,
    approve_at     timestamptz,
    approved_at    timestamptz,
    voided_at      timestamptz,
    void_reason    text,
    payout_id      text COLLATE "C",
    metadata       json,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    created_xid    xid8 NOT NULL DEFAULT pg_current_xact_id(),
    CONSTRAINT commissions_pkey PRIMARY KEY (id),
    CONSTRAINT commissions_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id),
    CONSTRAINT commissions_sale_fkey FOREIGN KEY (sale_id) REFERENCES sales (id),
    CONSTRAINT commissions_payout_fkey FOREIGN KEY (program_id, partner_id, currency, payout_id) REFERENCES payouts (program_id, partner_id, currency, id),
    CONSTRAINT commissions_kind_check CHECK (kind IN ('referral', 'reward', 'clawback')),
    CONSTRAINT commissions_sign_check CHECK ((kind = 'clawback') = (amount_minor < 0) AND amount_minor <> 0 AND abs(amount_minor) < 100000000000000),
    CONSTRAINT commissions_status_check CHECK (status IN ('pending', 'approved', 'due', 'paid', 'rejected', 'voided')),
    CONSTRAINT commissions_void_check CHECK ((status IN ('voided', 'rejected')) = (voided_at IS NOT NULL) AND (voided_at IS NULL) = (void_reason IS NULL)),
    CONSTRAINT commissions_payout_check CHECK ((payout_id IS NULL OR status IN ('due', 'paid')) AND (status <> 'paid' OR payout_id IS NOT NULL)),
    CONSTRAINT commissions_rate_check CHECK ((rate_type IS NULL) = (rate_value IS NULL) AND (rate_type IS NULL OR rate_type IN ('percent', 'fixed'))),
    CONSTRAINT commissions_currency_check CHECK (currency ~ '^[A-Z]{3}$')
);
CREATE UNIQUE INDEX commissions_sale_key ON commissions (sale_id) WHERE kind = 'referral' AND sale_id IS NOT NULL;
CREATE UNIQUE INDEX commissions_signup_key ON commissions (customer_id) WHERE kind = 'referral' AND sale_id IS NULL;
CREATE INDEX commissions_list_idx ON commissions (program_id, created_at, id) INCLUDE (kind);
CREATE INDEX commissions_partner_idx ON commissions (program_id, partner_id, created_at, id, status);
CREATE INDEX commissions_status_idx ON commissions (program_id, status, created_at, id);
CREATE INDEX commissions_kind_idx ON commissions (program_id, kind, created_at, id) WHERE kind <> 'referral';
CREATE INDEX commissions_of_sale_idx ON commissions (sale_id, created_at, id) WHERE sale_id IS NOT NULL;
CREATE INDEX commissions_payout_idx ON commissions (payout_id, created_at, id) WHERE payout_id IS NOT NULL;
CREATE INDEX commissions_mature_idx ON commissions (program_id, mature_at, id, status);

-- The ledger: one immutable row a move of a commission's money from one bucket
-- to another, so that every move sums to zero by construction. source is where
-- money is earned, sink where it is rejected or voided, removed where the money
-- of a deleted partner went. It has no foreign keys: it outlives what it tells.
CREATE TABLE ledger_entries (
    id            bigint GENERATED ALWAYS AS IDENTITY,
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
    CONSTRAINT ledger_entries_bucket_check CHECK (
        from_bucket IN ('source', 'pending', 'due', 'paid', 'sink') AND to_bucket IN ('source', 'pending', 'due', 'paid', 'sink', 'removed')
        AND from_bucket <> to_bucket),
    CONSTRAINT ledger_entries_amount_check CHECK (amount_minor <> 0)
);
CREATE INDEX ledger_entries_open_idx ON ledger_entries (partner_id, currency, created_xid);
CREATE INDEX ledger_entries_commission_idx ON ledger_entries (commission_id);

-- A balance is the ledger folded up to folded_xid (every entry of an older
-- transaction is in the row); a reader adds the entries since. So no sale waits
-- for another one's commit to count its money.
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
    CONSTRAINT balances_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX balances_currency_idx ON balances (program_id, currency, partner_id);

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
    CONSTRAINT risk_flags_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT risk_flags_severity_check CHECK (severity IN ('high', 'medium', 'low')),
    CONSTRAINT risk_flags_status_check CHECK (status IN ('open', 'reviewing', 'resolved', 'dismissed')),
    CONSTRAINT risk_flags_resolved_check CHECK ((status IN ('resolved', 'dismissed')) = (resolved_at IS NOT NULL))
);
CREATE UNIQUE INDEX risk_flags_open_key ON risk_flags (program_id, kind, coalesce(partner_id, ''), coalesce(customer_id, '')) WHERE status IN ('open', 'reviewing');
CREATE INDEX risk_flags_partner_idx ON risk_flags (program_id, partner_id);

-- body is the exact bytes that are signed and sent. seq orders the events of
-- one transaction; across transactions order is (created_xid, seq).
CREATE TABLE events (
    seq         bigint GENERATED ALWAYS AS IDENTITY,
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    partner_id  text COLLATE "C",
    subject_id  text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C",
    body        text NOT NULL,
    created_at  timestamptz NOT NULL,
    created_xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    CONSTRAINT events_pkey PRIMARY KEY (id)
);
CREATE INDEX events_order_idx ON events (program_id, created_xid, seq);
CREATE INDEX events_subject_idx ON events (subject_id);

-- body is sealed with the server's key: some responses hold a secret.
CREATE TABLE idempotency_keys (
    org_id      text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    status      integer NOT NULL,
    body        bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, key),
    CONSTRAINT idempotency_keys_key_check CHECK (char_length(key) BETWEEN 1 AND 255)
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);

-- The audit log has no foreign keys: it outlives what it tells.
CREATE TABLE audit_log_entries (
    id         text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    action     text COLLATE "C" NOT NULL,
    target_id  text COLLATE "C" NOT NULL,
    api_key_id text COLLATE "C",
    request_id text COLLATE "C",
    reason     text,
    before     json,
    after      json,
    created_at timestamptz NOT NULL,
    CONSTRAINT audit_log_entries_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_log_entries_list_idx ON audit_log_entries (program_id, created_at, id);
CREATE INDEX audit_log_entries_target_idx ON audit_log_entries (target_id, created_at, id);

-- The history cannot be rewritten, whoever tries.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER events_unchanging BEFORE UPDATE ON events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
