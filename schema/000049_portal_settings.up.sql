-- How a program shows itself to those who are, or want to become, its partners; a program
-- without a row has the defaults. questions and auto_approve are as the API shows them,
-- auto_approve NULL for never; its groups are no references, as a rule that lost one would
-- hold for more. logo_version names the image of portal_logos, by a hash of it. A program
-- is found by its subdomain, the oldest where several have it.
-- The release before survives this: it knows neither table.
SET LOCAL lock_timeout = '2s';

CREATE TABLE portal_settings (
    program_id   text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    joining      text COLLATE "C" NOT NULL,
    accent_color text COLLATE "C",
    logo_version text COLLATE "C",
    introduction text,
    reply_to     text,
    questions    json NOT NULL,
    auto_approve json,
    link_hosts   text[] COLLATE "C" NOT NULL,
    max_links    bigint NOT NULL,
    embed_hosts  text[] COLLATE "C" NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT portal_settings_pkey PRIMARY KEY (program_id),
    CONSTRAINT portal_settings_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT portal_settings_joining_check CHECK (joining IN ('open', 'closed')),
    CONSTRAINT portal_settings_accent_color_check CHECK (accent_color ~ '^#[0-9a-f]{6}$'),
    CONSTRAINT portal_settings_introduction_check CHECK (char_length(introduction) BETWEEN 1 AND 2000),
    CONSTRAINT portal_settings_max_links_check CHECK (max_links BETWEEN 0 AND 1000),
    CONSTRAINT portal_settings_hosts_check CHECK (cardinality(link_hosts) <= 20 AND cardinality(embed_hosts) <= 20)
);

CREATE TABLE portal_logos (
    program_id   text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    version      text COLLATE "C" NOT NULL,
    content_type text COLLATE "C" NOT NULL,
    image        bytea NOT NULL,
    CONSTRAINT portal_logos_pkey PRIMARY KEY (program_id),
    CONSTRAINT portal_logos_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT portal_logos_image_check CHECK (octet_length(image) <= 200000)
);

CREATE INDEX programs_subdomain_idx ON programs (subdomain, created_at, id);
