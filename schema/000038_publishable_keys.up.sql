-- Keys of pages, which are no secrets: they open the browser's endpoints for pages
-- of their hosts. allowed_hosts are in lower case, so that a host and what it is
-- below can be looked up (publishable_keys_hosts_idx). url_params are the program's,
-- which never change: the script tag names them.
--
-- The index of a visitor's current referrals leads with the visitor, so that all
-- of a browser's are found; for one partner's it serves as before.
-- Readers wait for the moment of the swap alone, writers while it is built.
-- The release before survives this: its statements ask for visitor and partner both.
SET LOCAL lock_timeout = '2s';

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

CREATE UNIQUE INDEX referrals_current_key_new ON referrals (program_id, visitor, partner_id) WHERE current;
DROP INDEX referrals_current_key;
ALTER INDEX referrals_current_key_new RENAME TO referrals_current_key;
