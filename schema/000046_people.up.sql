-- Who works in the console. An address is in lower case, and may be a user of several
-- organizations. password_hash is argon2id in the form of the PHC, NULL for who signs in
-- without. totp_secret is sealed, totp_pending one that is not confirmed yet; totp_used is
-- the last step of time whose code was taken, so that a code works once. recovery_hashes
-- are of the codes that are left. seen_at is the last use of a session, to the minute.
-- The release before survives this: it knows none of these tables.
SET LOCAL lock_timeout = '2s';

CREATE TABLE users (
    id              text COLLATE "C" NOT NULL,
    org_id          text COLLATE "C" NOT NULL,
    email           text COLLATE "C" NOT NULL,
    name            text NOT NULL,
    role            text COLLATE "C" NOT NULL,
    password_hash   text,
    totp_secret     bytea,
    totp_pending    bytea,
    totp_used       bigint NOT NULL DEFAULT 0,
    recovery_hashes bytea[] NOT NULL DEFAULT '{}',
    oidc_issuer     text COLLATE "C",
    oidc_subject    text COLLATE "C",
    disabled_at     timestamptz,
    seen_at         timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_org_key UNIQUE (org_id, id),
    CONSTRAINT users_email_key UNIQUE (org_id, email),
    CONSTRAINT users_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT users_role_check CHECK (role IN ('owner', 'manager', 'finance', 'viewer')),
    CONSTRAINT users_oidc_check CHECK ((oidc_issuer IS NULL) = (oidc_subject IS NULL))
);
CREATE UNIQUE INDEX users_oidc_key ON users (org_id, oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;
CREATE INDEX users_email_idx ON users (email, created_at, id);
CREATE INDEX users_subject_idx ON users (oidc_subject, oidc_issuer) WHERE oidc_subject IS NOT NULL;

-- Who is signed in to the console. Only a hash of the cookie's token is kept, and of the
-- address what its network is.
CREATE TABLE user_sessions (
    id         text COLLATE "C" NOT NULL,
    token_hash bytea NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    user_id    text COLLATE "C" NOT NULL,
    user_agent text NOT NULL,
    address    text NOT NULL,
    created_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT user_sessions_pkey PRIMARY KEY (id),
    CONSTRAINT user_sessions_token_key UNIQUE (token_hash),
    CONSTRAINT user_sessions_user_fkey FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE
);
CREATE INDEX user_sessions_user_idx ON user_sessions (org_id, user_id, created_at, id);
CREATE INDEX user_sessions_expires_idx ON user_sessions (expires_at);
CREATE INDEX user_sessions_seen_idx ON user_sessions (seen_at);

-- Links that work once. The first one, which sets Rail up, may have no organization yet;
-- an invitation has an address and a role, every other link a user.
CREATE TABLE user_links (
    token_hash bytea NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C",
    user_id    text COLLATE "C",
    email      text COLLATE "C",
    role       text COLLATE "C",
    invited_by text COLLATE "C",
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    CONSTRAINT user_links_pkey PRIMARY KEY (token_hash),
    CONSTRAINT user_links_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT user_links_user_fkey FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE,
    CONSTRAINT user_links_kind_check CHECK (CASE kind WHEN 'setup' THEN user_id IS NULL AND email IS NULL
        WHEN 'invitation' THEN org_id IS NOT NULL AND user_id IS NULL AND email IS NOT NULL AND role IN ('owner', 'manager', 'finance', 'viewer')
        ELSE kind IN ('sign_in', 'reset') AND user_id IS NOT NULL AND org_id IS NOT NULL END)
);
CREATE UNIQUE INDEX user_links_invitation_key ON user_links (org_id, email) WHERE kind = 'invitation' AND used_at IS NULL;
CREATE INDEX user_links_email_idx ON user_links (email) WHERE kind = 'invitation' AND used_at IS NULL;
CREATE INDEX user_links_user_idx ON user_links (org_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX user_links_expires_idx ON user_links (expires_at);

-- Attempts to sign in that failed, or have not succeeded yet. A subject is the keyed hash
-- of an account or of a network.
CREATE TABLE sign_in_failures (
    id        bigint GENERATED ALWAYS AS IDENTITY,
    subject   bytea NOT NULL,
    failed_at timestamptz NOT NULL,
    CONSTRAINT sign_in_failures_pkey PRIMARY KEY (id)
);
CREATE INDEX sign_in_failures_subject_idx ON sign_in_failures (subject, failed_at);
CREATE INDEX sign_in_failures_failed_idx ON sign_in_failures (failed_at);
