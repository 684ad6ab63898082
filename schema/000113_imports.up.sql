-- Imports from other affiliate products.
SET LOCAL lock_timeout = '2s';

-- api_key is sealed, and deleted when the import ends. place is the position in the phase of the status, as JSON.
-- counts has the numbers of rows by kind and outcome; balances and groups are for the report.
CREATE TABLE imports (
    id             text COLLATE "C" NOT NULL,
    org_id         text COLLATE "C" NOT NULL,
    program_id     text COLLATE "C" NOT NULL,
    source         text COLLATE "C" NOT NULL,
    source_account text,
    api_key        bytea,
    since          timestamptz,
    dry_run        boolean NOT NULL,
    emit_events    boolean NOT NULL,
    status         text COLLATE "C" NOT NULL,
    place          json NOT NULL,
    counts         json NOT NULL,
    balances       json NOT NULL,
    groups         json NOT NULL,
    problems_count bigint NOT NULL DEFAULT 0,
    -- query parameters of links that the import added to the program
    params         text[] NOT NULL DEFAULT '{}',
    error          text,
    -- the user who started it, for the mail at its end
    user_id        text COLLATE "C",
    attempts       bigint NOT NULL DEFAULT 0,
    -- until when one server works on it, or waits after a failure
    busy_until     timestamptz,
    created_at     timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    finished_at    timestamptz,
    CONSTRAINT imports_pkey PRIMARY KEY (id),
    CONSTRAINT imports_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT imports_status_check CHECK (status IN ('reading', 'ready', 'writing', 'done', 'failed', 'undoing', 'undone')),
    CONSTRAINT imports_api_key_check CHECK (api_key IS NULL OR status IN ('reading', 'failed')),
    CONSTRAINT imports_error_check CHECK (error IS NULL OR status IN ('reading', 'writing', 'undoing', 'failed'))
);
-- A program has one import at a time.
CREATE UNIQUE INDEX imports_active_key ON imports (program_id) WHERE status IN ('reading', 'writing', 'undoing');
CREATE INDEX imports_list_idx ON imports (program_id, created_at, id);
CREATE INDEX imports_to_work_idx ON imports (created_at, id) WHERE status IN ('reading', 'writing', 'undoing');

-- The rows of an import as they were read. kind is the position of its kind in the order of writing, at the time that
-- orders the rows of a kind. target is the id of the object in Rail, refs the ids and amounts that were resolved.
CREATE TABLE import_rows (
    import_id  text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    kind       smallint NOT NULL,
    source_id  text COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    data       json NOT NULL,
    outcome    text COLLATE "C",
    target     text COLLATE "C",
    refs       json,
    CONSTRAINT import_rows_pkey PRIMARY KEY (import_id, kind, source_id),
    CONSTRAINT import_rows_import_fkey FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE,
    CONSTRAINT import_rows_outcome_check CHECK (outcome IN ('new', 'same', 'changed', 'refused'))
);
CREATE INDEX import_rows_order_idx ON import_rows (import_id, kind, at, source_id);
-- kind 1 are links, kind 5 commissions
CREATE INDEX import_rows_links_idx ON import_rows (import_id, (data ->> 'partner_id')) WHERE kind = 1;
CREATE INDEX import_rows_values_idx ON import_rows (import_id, lower(data ->> 'value')) WHERE kind = 1;
CREATE INDEX import_rows_payouts_idx ON import_rows (import_id, (refs ->> 'payout')) WHERE kind = 5;

-- Values that one row of an import has for itself: the email of a partner, the code of a coupon, the id of a charge.
CREATE TABLE import_keys (
    import_id  text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    source_id  text COLLATE "C" NOT NULL,
    CONSTRAINT import_keys_pkey PRIMARY KEY (import_id, kind, key),
    CONSTRAINT import_keys_import_fkey FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
);

-- The uploaded files of an import, in parts of bounded size, until their rows are read. Part 0 has the kind of a file's
-- rows, '' to leave the file out, and the headers of Rail's fields; without them, headers are matched by meaning.
CREATE TABLE import_files (
    import_id  text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    file       integer NOT NULL,
    part       integer NOT NULL,
    name       text NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    mapping    json,
    content    bytea NOT NULL,
    CONSTRAINT import_files_pkey PRIMARY KEY (import_id, file, part),
    CONSTRAINT import_files_import_fkey FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
);

-- Objects that an import refused, changed on the way, or could not remove, and differences that people should know.
CREATE TABLE import_problems (
    id         text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    import_id  text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    source_id  text COLLATE "C" NOT NULL,
    code       text COLLATE "C" NOT NULL,
    detail     text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT import_problems_pkey PRIMARY KEY (id),
    CONSTRAINT import_problems_import_fkey FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
);
CREATE INDEX import_problems_list_idx ON import_problems (program_id, created_at, id);
CREATE INDEX import_problems_import_idx ON import_problems (import_id, created_at, id);
CREATE INDEX import_problems_kind_idx ON import_problems (import_id, kind, created_at, id);
CREATE INDEX import_problems_code_idx ON import_problems (import_id, code, created_at, id);

-- The unpaid money of each partner of the source and currency: at the source, and of imported commissions.
CREATE TABLE import_balances (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    import_id    text COLLATE "C" NOT NULL,
    source_id    text COLLATE "C" NOT NULL,
    email        text,
    currency     text COLLATE "C" NOT NULL,
    source_minor bigint NOT NULL,
    rail_minor   bigint NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT import_balances_pkey PRIMARY KEY (id),
    CONSTRAINT import_balances_import_fkey FOREIGN KEY (import_id) REFERENCES imports (id) ON DELETE CASCADE
);
CREATE INDEX import_balances_list_idx ON import_balances (program_id, created_at, id);
CREATE INDEX import_balances_import_idx ON import_balances (import_id, created_at, id);
CREATE UNIQUE INDEX import_balances_partner_key ON import_balances (import_id, source_id, currency);

-- The objects of Rail that belong to objects of a source. data is the source's object when it was written last;
-- written_at is the object's updated_at then. created is false for an object that Rail had before.
CREATE TABLE import_objects (
    program_id text COLLATE "C" NOT NULL,
    source     text COLLATE "C" NOT NULL,
    kind       smallint NOT NULL,
    source_id  text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    import_id  text COLLATE "C" NOT NULL,
    target     text COLLATE "C" NOT NULL,
    created    boolean NOT NULL,
    data       json NOT NULL,
    written_at timestamptz NOT NULL,
    CONSTRAINT import_objects_pkey PRIMARY KEY (program_id, source, kind, source_id),
    CONSTRAINT import_objects_program_fkey FOREIGN KEY (org_id, program_id) REFERENCES programs (org_id, id),
    CONSTRAINT import_objects_import_fkey FOREIGN KEY (import_id) REFERENCES imports (id)
);
CREATE INDEX import_objects_target_idx ON import_objects (target);
CREATE INDEX import_objects_import_idx ON import_objects (import_id, kind, source_id);
