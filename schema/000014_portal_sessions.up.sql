-- Who is signed in to the portal. Only a hash of the cookie's token is kept.
SET LOCAL lock_timeout = '2s';

CREATE TABLE portal_sessions (
    token_hash bytea NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    partner_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT portal_sessions_pkey PRIMARY KEY (token_hash),
    CONSTRAINT portal_sessions_partner_fkey FOREIGN KEY (program_id, partner_id) REFERENCES partners (program_id, id) ON DELETE CASCADE
);
CREATE INDEX portal_sessions_partner_idx ON portal_sessions (program_id, partner_id);
CREATE INDEX portal_sessions_expires_idx ON portal_sessions (expires_at);
CREATE INDEX magic_links_expires_idx ON magic_links (expires_at);
CREATE INDEX webhook_endpoints_partner_idx ON webhook_endpoints (program_id, partner_id) WHERE partner_id IS NOT NULL;
