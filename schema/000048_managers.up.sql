-- What those who run a program ask for: notes about partners, mails to chosen partners,
-- the mails that failed as a list, and events of processors by why they came to nothing.
-- The release before survives this: it reads and writes none of it, and its campaigns
-- name no partners.
SET LOCAL lock_timeout = '2s';

-- author_id is the user or the API key that wrote the note, author_name the user's name
-- then. The content of a file lies apart under the note's id, so that lists do not read it.
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
    CONSTRAINT partner_notes_pkey PRIMARY KEY (id),
    CONSTRAINT partner_notes_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE,
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

-- partner_ids are a part of a campaign's audience, like its groups and tags.
ALTER TABLE campaigns ADD COLUMN partner_ids text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- form is the page's form that asked for the key, which makes one however often it is sent.
ALTER TABLE api_keys ADD COLUMN form text COLLATE "C";
CREATE UNIQUE INDEX api_keys_form_key ON api_keys (org_id, form) WHERE form IS NOT NULL;

CREATE INDEX mails_failed_list_idx ON mails (org_id, created_at, id) WHERE status = 'failed';
DROP INDEX mails_failed_idx;

CREATE INDEX inbox_events_reason_idx ON inbox_events (program_id, reason_code, created_at, id) WHERE reason_code IS NOT NULL;
