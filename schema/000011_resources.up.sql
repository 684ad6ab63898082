-- Shelf items for partners. group_ids and tag_ids hold ids of the program's;
-- empty means everybody.
SET LOCAL lock_timeout = '2s';

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
