-- Who asked to become a partner on a join page, until the address is confirmed by the link that
-- was mailed to it. application is NULL for an address that is a partner's already, which was
-- mailed a way in instead, and once it has become application_id. Only a hash of the link's
-- token is kept, and of the address that it was asked from.
-- The release before survives this: it does not know the table.
SET LOCAL lock_timeout = '2s';

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
    CONSTRAINT join_requests_application_fkey FOREIGN KEY (application_id) REFERENCES applications (id) ON DELETE CASCADE,
    CONSTRAINT join_requests_confirmed_check CHECK ((confirmed_at IS NULL) = (application_id IS NULL))
);
CREATE INDEX join_requests_address_idx ON join_requests (program_id, address_hash, created_at);
CREATE INDEX join_requests_email_idx ON join_requests (program_id, lower(email), created_at);
CREATE INDEX join_requests_waiting_idx ON join_requests (program_id) WHERE application IS NOT NULL;
CREATE INDEX join_requests_application_idx ON join_requests (application_id) WHERE application_id IS NOT NULL;
CREATE INDEX join_requests_expires_idx ON join_requests (expires_at);
