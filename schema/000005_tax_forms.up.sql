-- Where the tax forms of partners stand; never their content.
SET LOCAL lock_timeout = '2s';

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
    CONSTRAINT tax_form_statuses_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
    CONSTRAINT tax_form_statuses_type_check CHECK (type IN ('w9', 'w8ben', 'w8bene')),
    CONSTRAINT tax_form_statuses_status_check CHECK (status IN ('not_required', 'required', 'submitted', 'expired', 'superseded')),
    CONSTRAINT tax_form_statuses_dates_check CHECK (expires_at > signed_at)
);
CREATE UNIQUE INDEX tax_form_statuses_submitted_key ON tax_form_statuses (program_id, partner_id) WHERE status = 'submitted';
CREATE INDEX tax_form_statuses_list_idx ON tax_form_statuses (program_id, created_at, id);
CREATE INDEX tax_form_statuses_partner_idx ON tax_form_statuses (program_id, partner_id, created_at, id, status);
CREATE INDEX tax_form_statuses_status_idx ON tax_form_statuses (program_id, status, created_at, id);
CREATE INDEX tax_form_statuses_to_expire_idx ON tax_form_statuses (expires_at) WHERE status = 'submitted';
