-- Programs with their groups, tags, rules, resources and pages.
SET LOCAL lock_timeout = '2s';

-- The encoding is explicit, so that the digest is the same in every database.
CREATE FUNCTION flow_branches_digest(branches json) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT sha256(convert_to(branches::text, 'UTF8'))
$$;

CREATE FUNCTION flow_conditions_bytes(branches json) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(sum(octet_length((b -> 'conditions')::text)), 0)::bigint FROM json_array_elements(branches) b
$$;

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
    enrols_first_commission   boolean NOT NULL DEFAULT false,
    attribution_model         text COLLATE "C" NOT NULL DEFAULT 'last',
    click_on_redirect         boolean NOT NULL DEFAULT true,
    commission_net_of_fee     boolean NOT NULL DEFAULT false,
    auto_enrol_customers      boolean NOT NULL DEFAULT false,
    lead_match_days           bigint,
    time_zone                 text COLLATE "C" NOT NULL DEFAULT 'UTC',
    coupon_beats_link         boolean NOT NULL DEFAULT false,
    ignore_late_clicks        boolean NOT NULL DEFAULT false,
    zone_changed_at           timestamptz,
    min_paying_customers      bigint NOT NULL DEFAULT 0,
    statement_prefix          text COLLATE "C" NOT NULL DEFAULT 'R',
    statement_seller          json,
    self_billing              boolean NOT NULL DEFAULT false,
    vat_rate_bps              bigint,
    agent_limit_minor         bigint NOT NULL DEFAULT 0,
    -- What agents have granted on the program's day that begins at agent_day.
    agent_day                 timestamptz,
    agent_granted_minor       bigint NOT NULL DEFAULT 0,
    auto_payouts_since        timestamptz,
    CONSTRAINT programs_pkey PRIMARY KEY (id),
    CONSTRAINT programs_org_id_key UNIQUE (org_id, id),
    CONSTRAINT programs_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT programs_currency_check CHECK (currency ~ '^[A-Z]{3}$'),
    CONSTRAINT programs_status_check CHECK (status IN ('active', 'paused')),
    CONSTRAINT programs_cookie_days_check CHECK (cookie_days BETWEEN 1 AND 365),
    CONSTRAINT programs_holding_period_days_check CHECK (holding_period_days BETWEEN 0 AND 180),
    CONSTRAINT programs_min_payout_minor_check CHECK (min_payout_minor >= 0),
    CONSTRAINT programs_payout_term_check CHECK (payout_term IN ('net_15', 'net_30', 'net_60')),
    CONSTRAINT programs_processor_check CHECK (processor IN ('stripe', 'paddle', 'chargebee', 'manual', 'api',
        'lemon_squeezy', 'polar', 'generic')),
    CONSTRAINT programs_attribution_model_check CHECK (attribution_model IN ('last', 'first')),
    CONSTRAINT programs_lead_match_days_check CHECK (lead_match_days BETWEEN 1 AND 365),
    CONSTRAINT programs_vat_rate_bps_check CHECK (vat_rate_bps BETWEEN 1 AND 5000),
    CONSTRAINT programs_statement_prefix_check CHECK (statement_prefix ~ '^[A-Za-z0-9]([A-Za-z0-9-]{0,10}[A-Za-z0-9])?$'),
    CONSTRAINT programs_time_zone_check CHECK (char_length(time_zone) BETWEEN 1 AND 64),
    CONSTRAINT programs_min_paying_customers_check CHECK (min_paying_customers BETWEEN 0 AND 1000),
    CONSTRAINT programs_agent_limit_minor_check CHECK (agent_limit_minor >= 0)
);
CREATE INDEX programs_list_idx ON programs (org_id, created_at, id);
CREATE INDEX programs_auto_payouts_idx ON programs (id) WHERE auto_payouts_enabled;
CREATE INDEX programs_subdomain_idx ON programs (subdomain, created_at, id);

CREATE TABLE portal_settings (
    program_id        text COLLATE "C" NOT NULL,
    org_id            text COLLATE "C" NOT NULL,
    joining           text COLLATE "C" NOT NULL,
    accent_color      text COLLATE "C",
    second_color      text COLLATE "C",
    typeface          text COLLATE "C" NOT NULL,
    corners           text COLLATE "C" NOT NULL,
    logo_version      text COLLATE "C",
    -- logo_dark_version is the logo for dark mode; NULL is the other one.
    logo_dark_version text COLLATE "C",
    headline          text,
    hero_version      text COLLATE "C",
    introduction      text,
    -- offer replaces the description of the rates for all partners; NULL describes the rules.
    offer             text,
    benefits          text[] NOT NULL,
    faq               json NOT NULL,
    calculator        json,
    reply_to          text,
    questions         json NOT NULL,
    auto_approve      json,
    link_hosts        text[] COLLATE "C" NOT NULL,
    max_links         bigint NOT NULL,
    embed_hosts       text[] COLLATE "C" NOT NULL,
    leaderboard       boolean NOT NULL,
    updated_at        timestamptz NOT NULL,
    CONSTRAINT portal_settings_pkey PRIMARY KEY (program_id),
    CONSTRAINT portal_settings_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT portal_settings_joining_check CHECK (joining IN ('open', 'closed')),
    CONSTRAINT portal_settings_accent_color_check CHECK (accent_color ~ '^#[0-9a-f]{6}$'),
    CONSTRAINT portal_settings_second_color_check CHECK (second_color ~ '^#[0-9a-f]{6}$'),
    CONSTRAINT portal_settings_typeface_check CHECK (typeface IN ('inter', 'system', 'serif', 'rounded')),
    CONSTRAINT portal_settings_corners_check CHECK (corners IN ('square', 'soft', 'round')),
    CONSTRAINT portal_settings_introduction_check CHECK (char_length(introduction) BETWEEN 1 AND 2000),
    CONSTRAINT portal_settings_offer_check CHECK (char_length(offer) BETWEEN 1 AND 1000),
    CONSTRAINT portal_settings_headline_check CHECK (char_length(headline) BETWEEN 1 AND 120),
    CONSTRAINT portal_settings_benefits_check CHECK (cardinality(benefits) <= 3),
    CONSTRAINT portal_settings_max_links_check CHECK (max_links BETWEEN 0 AND 1000),
    CONSTRAINT portal_settings_hosts_check CHECK (cardinality(link_hosts) <= 20 AND cardinality(embed_hosts) <= 20)
);

CREATE TABLE portal_images (
    program_id   text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    version      text COLLATE "C" NOT NULL,
    content_type text COLLATE "C" NOT NULL,
    image        bytea NOT NULL,
    CONSTRAINT portal_images_pkey PRIMARY KEY (program_id, kind),
    CONSTRAINT portal_images_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT portal_images_kind_check CHECK (kind IN ('logo', 'logo_dark', 'hero')),
    CONSTRAINT portal_images_image_check
        CHECK (octet_length(image) <= CASE kind WHEN 'hero' THEN 500000 ELSE 200000 END)
);

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

-- branches is an ordered array of {id, label, conditions, rate_type, rate_value}. A flow and its branches change
-- together, so they are one row.
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
    specificity         smallint NOT NULL GENERATED ALWAYS AS (CASE WHEN (partner_id IS NOT NULL) THEN 0
        WHEN (group_id IS NOT NULL) THEN 1 ELSE 2 END) STORED,
    created_at          timestamptz NOT NULL,
    updated_at          timestamptz NOT NULL,
    conditions_bytes    bigint NOT NULL GENERATED ALWAYS AS (flow_conditions_bytes(branches)) STORED,
    branches_digest     bytea NOT NULL GENERATED ALWAYS AS (flow_branches_digest(branches)) STORED,
    CONSTRAINT flows_pkey PRIMARY KEY (id),
    CONSTRAINT flows_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT flows_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT flows_target_group_fkey FOREIGN KEY (program_id, target_group_id) REFERENCES groups (program_id, id),
    CONSTRAINT flows_scope_check CHECK (group_id IS NULL OR partner_id IS NULL),
    CONSTRAINT flows_trigger_check CHECK (trigger IN ('new_payment', 'new_signup')),
    CONSTRAINT flows_action_check CHECK (action IN ('generate_commission', 'switch_group')),
    CONSTRAINT flows_rate_check CHECK ( (action = 'switch_group' AND target_group_id IS NOT NULL
        AND rate_type IS NULL AND rate_value IS NULL) OR (action = 'generate_commission'
        AND target_group_id IS NULL AND rate_type IS NOT NULL AND rate_value IS NOT NULL AND (rate_type = 'percent'
        AND rate_value BETWEEN 0 AND 50000 OR rate_type = 'fixed' AND rate_value BETWEEN 0 AND 99999999))),
    CONSTRAINT flows_approval_check CHECK ( approval_mode IN ('immediate', 'after_days', 'manual')
        AND (approval_mode = 'after_days') = (approval_delay_days IS NOT NULL) AND (approval_delay_days IS NULL
        OR approval_delay_days BETWEEN 1 AND 999)),
    CONSTRAINT flows_priority_check CHECK (priority BETWEEN 0 AND 1000),
    CONSTRAINT flows_status_check CHECK (status IN ('active', 'inactive'))
);
CREATE INDEX flows_list_idx ON flows (program_id, priority, specificity, created_at, id);
CREATE INDEX flows_group_idx ON flows (program_id, group_id) WHERE group_id IS NOT NULL;
CREATE INDEX flows_partner_idx ON flows (program_id, partner_id) WHERE partner_id IS NOT NULL;
CREATE INDEX flows_target_group_idx ON flows (program_id, target_group_id) WHERE target_group_id IS NOT NULL;

CREATE TABLE resources (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    kind         text COLLATE "C" NOT NULL,
    title        text NOT NULL,
    url          text NOT NULL,
    folder       text COLLATE "C",
    mime_type    text,
    size_bytes   bigint,
    group_ids    text[] COLLATE "C" NOT NULL,
    tag_ids      text[] COLLATE "C" NOT NULL,
    position     bigint NOT NULL,
    published    boolean NOT NULL,
    published_at timestamptz,
    metadata     json,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT resources_pkey PRIMARY KEY (id),
    CONSTRAINT resources_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT resources_kind_check CHECK (kind IN ('file', 'link')),
    CONSTRAINT resources_folder_check CHECK (char_length(folder) BETWEEN 1 AND 64),
    CONSTRAINT resources_published_check CHECK (NOT published OR published_at IS NOT NULL)
);
CREATE INDEX resources_list_idx ON resources (program_id, coalesce(folder, ''), position, id);

CREATE TABLE publishable_keys (
    id            text COLLATE "C" NOT NULL,
    org_id        text COLLATE "C" NOT NULL,
    program_id    text COLLATE "C" NOT NULL,
    key           text COLLATE "C" NOT NULL,
    allowed_hosts text[] COLLATE "C" NOT NULL,
    allow_leads   boolean NOT NULL,
    url_params    text[] NOT NULL,
    last_used_at  timestamptz,
    revoked_at    timestamptz,
    created_at    timestamptz NOT NULL,
    CONSTRAINT publishable_keys_pkey PRIMARY KEY (id),
    CONSTRAINT publishable_keys_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT publishable_keys_hosts_check CHECK (cardinality(allowed_hosts) BETWEEN 1 AND 50)
);
CREATE UNIQUE INDEX publishable_keys_key_key ON publishable_keys (key);
CREATE INDEX publishable_keys_list_idx ON publishable_keys (program_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX publishable_keys_hosts_idx ON publishable_keys USING gin (allowed_hosts) WHERE revoked_at IS NULL;
