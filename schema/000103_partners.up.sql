-- Partners, how they apply and sign in, and notes on them.
SET LOCAL lock_timeout = '2s';

CREATE TABLE partners (
    id                        text COLLATE "C" NOT NULL,
    org_id                    text COLLATE "C" NOT NULL,
    program_id                text COLLATE "C" NOT NULL,
    group_id                  text COLLATE "C",
    email                     text NOT NULL,
    first_name                text,
    last_name                 text,
    display_name              text,
    company_name              text,
    website_url               text,
    country_code              text COLLATE "C",
    language_code             text,
    handle                    text COLLATE "C" NOT NULL,
    status                    text COLLATE "C" NOT NULL,
    decline_reason            text,
    suspension_reason         text,
    min_payout_minor          bigint,
    terms_accepted_at         timestamptz,
    terms_version             text,
    completed_onboarding      boolean NOT NULL DEFAULT false,
    email_first_referral      boolean NOT NULL DEFAULT true,
    email_new_referral        boolean NOT NULL DEFAULT true,
    email_payout_paid         boolean NOT NULL DEFAULT true,
    metadata                  json,
    payout_method             text COLLATE "C",
    payout_details            bytea,
    created_at                timestamptz NOT NULL,
    updated_at                timestamptz NOT NULL,
    mail_token                text COLLATE "C" NOT NULL DEFAULT replace((gen_random_uuid())::text, '-'::text, ''::text),
    unsubscribed_at           timestamptz,
    payout_details_hash       bytea,
    payout_details_changed_at timestamptz,
    external_id               text COLLATE "C",
    address                   text,
    tax_id                    text,
    on_leaderboard            boolean NOT NULL DEFAULT true,
    -- a scheduled ban; ban_terms has its author, whether the partner is mailed, and the partner before it, to undo it
    ban_at                    timestamptz,
    ban_reason                text,
    ban_terms                 json,
    CONSTRAINT partners_pkey PRIMARY KEY (id),
    CONSTRAINT partners_program_id_key UNIQUE (program_id, id),
    CONSTRAINT partners_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT partners_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT partners_status_check CHECK (status IN ('pending', 'active', 'declined', 'suspended')),
    CONSTRAINT partners_handle_check CHECK (handle ~ '^[a-z0-9][a-z0-9-]{0,30}[a-z0-9]$'),
    CONSTRAINT partners_min_payout_minor_check CHECK (min_payout_minor >= 0),
    CONSTRAINT partners_suspension_reason_check CHECK (suspension_reason IS NULL OR status = 'suspended'),
    CONSTRAINT partners_ban_check CHECK (ban_at IS NULL AND ban_reason IS NULL AND ban_terms IS NULL
        OR ban_at IS NOT NULL AND ban_reason IS NOT NULL AND ban_terms IS NOT NULL AND status = 'suspended'),
    CONSTRAINT partners_payout_method_check CHECK (payout_method IN ('paypal', 'wise', 'bank_transfer', 'wire',
        'crypto')),
    CONSTRAINT partners_payout_details_hash_check CHECK (payout_details_hash IS NULL OR payout_details IS NOT NULL),
    CONSTRAINT partners_external_id_check CHECK (char_length(external_id) BETWEEN 1 AND 255)
);
CREATE UNIQUE INDEX partners_email_key ON partners (program_id, lower(email));
CREATE UNIQUE INDEX partners_handle_key ON partners (program_id, handle);
CREATE INDEX partners_list_idx ON partners (program_id, created_at, id);
CREATE INDEX partners_status_idx ON partners (program_id, status, created_at, id);
CREATE INDEX partners_group_idx ON partners (program_id, group_id, created_at, id);
CREATE INDEX partners_ban_idx ON partners (ban_at) WHERE ban_at IS NOT NULL;
CREATE UNIQUE INDEX partners_mail_token_key ON partners (mail_token);
CREATE INDEX partners_payout_details_hash_idx ON partners (program_id, payout_details_hash)
    WHERE payout_details_hash IS NOT NULL;
CREATE INDEX partners_address_idx ON partners (lower(email)) WHERE status = 'active';
CREATE UNIQUE INDEX partners_external_id_key ON partners (program_id, external_id) WHERE external_id IS NOT NULL;
ALTER TABLE flows ADD CONSTRAINT flows_partner_fkey FOREIGN KEY (program_id, partner_id)
    REFERENCES partners (program_id, id);

CREATE TABLE partner_tags (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    tag_id     text COLLATE "C" NOT NULL,
    CONSTRAINT partner_tags_pkey PRIMARY KEY (partner_id, tag_id),
    CONSTRAINT partner_tags_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT partner_tags_tag_fkey FOREIGN KEY (program_id, tag_id) REFERENCES tags (program_id, id) ON DELETE CASCADE
);
CREATE INDEX partner_tags_tag_idx ON partner_tags (program_id, tag_id);

-- Addresses and devices of partners. ip_hash and device are keyed hashes, as in clicks; device is empty if unknown.
CREATE TABLE partner_addresses (
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    ip_hash    bytea NOT NULL,
    device     bytea NOT NULL,
    seen_at    timestamptz NOT NULL,
    CONSTRAINT partner_addresses_pkey PRIMARY KEY (program_id, partner_id, ip_hash, device),
    CONSTRAINT partner_addresses_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX partner_addresses_seen_idx ON partner_addresses (seen_at);

-- author_id is the user or API key that wrote the note, author_name the user's name at that time. A separate table
-- has the content of a file, so that lists do not read it.
CREATE TABLE partner_notes (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    program_id  text COLLATE "C" NOT NULL,
    partner_id  text COLLATE "C" NOT NULL,
    author_id   text COLLATE "C" NOT NULL,
    author_name text,
    text        text NOT NULL,
    file_name   text,
    file_size   bigint,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz,
    CONSTRAINT partner_notes_pkey PRIMARY KEY (id),
    CONSTRAINT partner_notes_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT partner_notes_file_check CHECK ((file_name IS NULL) = (file_size IS NULL))
);
CREATE INDEX partner_notes_list_idx ON partner_notes (program_id, created_at, id);
CREATE INDEX partner_notes_partner_idx ON partner_notes (program_id, partner_id, created_at, id);

CREATE TABLE partner_note_files (
    id         text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    content    bytea NOT NULL,
    CONSTRAINT partner_note_files_pkey PRIMARY KEY (id),
    CONSTRAINT partner_note_files_note_fkey FOREIGN KEY (id) REFERENCES partner_notes (id) ON DELETE CASCADE
);

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
    -- the partner before the decision, to undo it
    before_decision     json,
    CONSTRAINT applications_pkey PRIMARY KEY (id),
    CONSTRAINT applications_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT applications_group_fkey FOREIGN KEY (program_id, group_id) REFERENCES groups (program_id, id),
    CONSTRAINT applications_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT applications_status_check CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
    CONSTRAINT applications_source_check CHECK (source IN ('portal', 'api', 'import', 'customer_enrol')),
    CONSTRAINT applications_reviewed_check CHECK (reviewed_at IS NULL OR status IN ('approved', 'rejected')),
    CONSTRAINT applications_before_decision_check CHECK (before_decision IS NULL OR reviewed_at IS NOT NULL)
);
CREATE INDEX applications_list_idx ON applications (program_id, created_at, id);
CREATE INDEX applications_status_idx ON applications (program_id, status, created_at, id);
CREATE INDEX applications_partner_idx ON applications (program_id, partner_id, created_at, id);
CREATE INDEX applications_group_idx ON applications (program_id, group_id) WHERE group_id IS NOT NULL;

CREATE TABLE magic_links (
    token_hash bytea NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    mailed     boolean NOT NULL,
    email      text,
    CONSTRAINT magic_links_pkey PRIMARY KEY (token_hash),
    CONSTRAINT magic_links_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX magic_links_partner_idx ON magic_links (program_id, partner_id) WHERE used_at IS NULL;
CREATE INDEX magic_links_expires_idx ON magic_links (expires_at);

CREATE TABLE portal_sessions (
    token_hash bytea NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    visitor    boolean NOT NULL DEFAULT false,
    embedded   boolean NOT NULL DEFAULT false,
    email      text,
    CONSTRAINT portal_sessions_pkey PRIMARY KEY (token_hash),
    CONSTRAINT portal_sessions_email_check CHECK (email IS NULL OR NOT visitor AND NOT embedded),
    CONSTRAINT portal_sessions_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX portal_sessions_partner_idx ON portal_sessions (program_id, partner_id);
CREATE INDEX portal_sessions_expires_idx ON portal_sessions (expires_at);

CREATE TABLE join_requests (
    token_hash     bytea NOT NULL,
    org_id         text COLLATE "C" NOT NULL,
    program_id     text COLLATE "C" NOT NULL,
    email          text NOT NULL,
    address_hash   bytea NOT NULL,
    application    json,
    application_id text COLLATE "C",
    language       text COLLATE "C" NOT NULL,
    created_at     timestamptz NOT NULL,
    confirmed_at   timestamptz,
    expires_at     timestamptz NOT NULL,
    CONSTRAINT join_requests_pkey PRIMARY KEY (token_hash),
    CONSTRAINT join_requests_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT join_requests_application_fkey FOREIGN KEY (application_id) REFERENCES applications (id)
        ON DELETE CASCADE,
    CONSTRAINT join_requests_confirmed_check CHECK ((confirmed_at IS NULL) = (application_id IS NULL))
);
CREATE INDEX join_requests_address_idx ON join_requests (program_id, address_hash, created_at);
CREATE INDEX join_requests_email_idx ON join_requests (program_id, lower(email), created_at);
CREATE INDEX join_requests_waiting_idx ON join_requests (program_id) WHERE application IS NOT NULL;
CREATE INDEX join_requests_application_idx ON join_requests (application_id) WHERE application_id IS NOT NULL;
CREATE INDEX join_requests_expires_idx ON join_requests (expires_at);

CREATE TABLE tax_form_statuses (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    partner_id   text COLLATE "C" NOT NULL,
    type         text COLLATE "C" NOT NULL,
    status       text COLLATE "C" NOT NULL,
    entity_type  text,
    country_code text COLLATE "C",
    signed_at    timestamptz,
    expires_at   timestamptz,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT tax_form_statuses_pkey PRIMARY KEY (id),
    CONSTRAINT tax_form_statuses_partner_fkey FOREIGN KEY (program_id, partner_id)
        REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT tax_form_statuses_type_check CHECK (type IN ('w9', 'w8ben', 'w8bene')),
    CONSTRAINT tax_form_statuses_status_check CHECK (status IN ('not_required', 'required', 'submitted', 'expired',
        'superseded')),
    CONSTRAINT tax_form_statuses_dates_check CHECK (expires_at > signed_at)
);
CREATE UNIQUE INDEX tax_form_statuses_submitted_key ON tax_form_statuses (program_id, partner_id)
    WHERE status = 'submitted';
CREATE INDEX tax_form_statuses_list_idx ON tax_form_statuses (program_id, created_at, id);
CREATE INDEX tax_form_statuses_partner_idx ON tax_form_statuses (program_id, partner_id, created_at, id, status);
CREATE INDEX tax_form_statuses_status_idx ON tax_form_statuses (program_id, status, created_at, id);
CREATE INDEX tax_form_statuses_to_expire_idx ON tax_form_statuses (expires_at) WHERE status = 'submitted';
