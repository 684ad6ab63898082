-- Links, coupons, clicks and referrals.
SET LOCAL lock_timeout = '2s';

-- rate_override is null or {"rate_type", "rate_value"}. Clicks are matched on value_key and destination_key.
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
    CONSTRAINT links_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id)
        ON DELETE CASCADE,
    CONSTRAINT links_value_key_check CHECK (value_key = lower(value) AND char_length(value) BETWEEN 1 AND 64)
);
CREATE INDEX links_list_idx ON links (program_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX links_partner_idx ON links (program_id, partner_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX links_value_idx ON links (partner_id, value_key, created_at, id);

-- One namespace per program for handles, former handles and custom link values: a link cannot shadow another
-- partner's handle (decisions 43 and 44). Imported values of several partners that differ only in case are exact:
-- value is = and their bytes in hexadecimal digits, and a reserved row keeps the lower-case value from others.
CREATE TABLE tracking_values (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    value      text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    link_id    text COLLATE "C",
    CONSTRAINT tracking_values_pkey PRIMARY KEY (program_id, value),
    CONSTRAINT tracking_values_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT tracking_values_kind_check CHECK (kind IN ('handle', 'link', 'reserved')),
    CONSTRAINT tracking_values_link_check CHECK ((kind = 'link') = (link_id IS NOT NULL)),
    CONSTRAINT tracking_values_value_check CHECK (value = lower(value))
);
CREATE INDEX tracking_values_partner_idx ON tracking_values (program_id, partner_id);

CREATE TABLE coupons (
    id                 text COLLATE "C" NOT NULL,
    org_id             text COLLATE "C" NOT NULL,
    program_id         text COLLATE "C" NOT NULL,
    partner_id         text COLLATE "C",
    group_id           text COLLATE "C",
    code               text NOT NULL,
    external_id        text,
    active             boolean NOT NULL DEFAULT true,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    external_parent_id text COLLATE "C",
    active_as_of       timestamptz,
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
CREATE INDEX coupons_parent_idx ON coupons (program_id, external_parent_id) WHERE external_parent_id IS NOT NULL;

-- visitor is a hash of the visitor token. A visitor and partner have one current referral; the next click after its
-- expiry replaces it.
CREATE TABLE referrals (
    id                text COLLATE "C" NOT NULL,
    org_id            text COLLATE "C" NOT NULL,
    program_id        text COLLATE "C" NOT NULL,
    partner_id        text COLLATE "C" NOT NULL,
    link_id           text COLLATE "C",
    visitor           bytea NOT NULL,
    current           boolean NOT NULL DEFAULT true,
    landing_url       text,
    utm               json,
    tracked_by        text COLLATE "C" NOT NULL,
    status            text COLLATE "C" NOT NULL,
    expires_at        timestamptz NOT NULL,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    returned_at       timestamptz,
    returned_click_id text COLLATE "C",
    CONSTRAINT referrals_pkey PRIMARY KEY (id),
    CONSTRAINT referrals_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT referrals_tracked_by_check CHECK (tracked_by IN ('link', 'coupon', 'manual', 'api', 'agent')),
    CONSTRAINT referrals_status_check CHECK (status IN ('visit', 'lead', 'converted'))
);
CREATE INDEX referrals_list_idx ON referrals (program_id, created_at, id);
CREATE INDEX referrals_status_idx ON referrals (program_id, status, created_at, id);
CREATE INDEX referrals_to_expire_idx ON referrals (expires_at) WHERE current;
CREATE INDEX referrals_partner_idx ON referrals (program_id, partner_id, created_at, id, status);
CREATE UNIQUE INDEX referrals_current_key ON referrals (program_id, visitor, partner_id) WHERE current;
CREATE INDEX referrals_past_idx ON referrals (program_id, visitor) WHERE NOT current;

-- ip_hash is a keyed hash cut to 16 bytes; the address is never stored.
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
    -- of the landing page and the referring page, normalized for reports
    source      text,
    medium      text,
    campaign    text,
    referrer    text COLLATE "C",
    CONSTRAINT clicks_pkey PRIMARY KEY (id),
    CONSTRAINT clicks_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id)
        ON DELETE CASCADE
) PARTITION BY RANGE (id);
CREATE INDEX clicks_list_idx ON clicks (program_id, created_at, id);
CREATE INDEX clicks_partner_idx ON clicks (program_id, partner_id, created_at, id);
CREATE INDEX clicks_link_idx ON clicks (link_id, created_at, id) WHERE link_id IS NOT NULL;
CREATE INDEX clicks_referral_idx ON clicks (referral_id, created_at, id) WHERE referral_id IS NOT NULL;
-- The first partition holds every month up to the next one. Ids outside of the range of times, such as those of
-- sample programs, are in the outer partitions.
DO $do$
DECLARE
    upper_id text := id_at('clk_', (date_trunc('month',
        now() AT TIME ZONE 'UTC') + interval '2 months') AT TIME ZONE 'UTC');
BEGIN
    CREATE TABLE clicks_low PARTITION OF clicks FOR VALUES FROM (MINVALUE) TO ('clk_0');
    EXECUTE format('CREATE TABLE clicks_first PARTITION OF clicks FOR VALUES FROM (%L) TO (%L)', 'clk_0', upper_id);
    CREATE TABLE clicks_other PARTITION OF clicks FOR VALUES FROM ('clk_1') TO (MAXVALUE);
    PERFORM make_partitions('clicks', 'clk_');
END $do$;

-- The number of deleted clicks and referrals, by day and, for clicks, origin.
CREATE TABLE forgotten (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    list       text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    -- empty for none
    link_id    text COLLATE "C" NOT NULL,
    day        date NOT NULL,
    total      bigint NOT NULL,
    at         timestamptz,
    -- empty for none
    source     text NOT NULL DEFAULT '',
    medium     text NOT NULL DEFAULT '',
    campaign   text NOT NULL DEFAULT '',
    referrer   text COLLATE "C" NOT NULL DEFAULT '',
    country    text COLLATE "C" NOT NULL DEFAULT '',
    device     text NOT NULL DEFAULT '',
    CONSTRAINT forgotten_pkey PRIMARY KEY (program_id, list, partner_id, link_id, day, source, medium, campaign,
        referrer, country, device),
    CONSTRAINT forgotten_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT forgotten_list_check CHECK (list IN ('clicks', 'referrals')),
    CONSTRAINT forgotten_total_check CHECK (total > 0)
);
CREATE INDEX forgotten_day_idx ON forgotten (program_id, list, day);
