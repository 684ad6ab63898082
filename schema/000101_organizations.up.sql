-- The tables of Rail. Every row of a tenant has its organization. Every unique index over a value that a client
-- chooses begins with the organization or the program. Ids are text in byte order, money is bigint in minor units,
-- states are text with a CHECK. Constraints are named because code maps them by name.
--
-- Organizations, their API keys, people and plans.
SET LOCAL lock_timeout = '2s';

-- Refuses every change of an append-only table.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '23514',
        CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;

-- The lowest id of a moment. An id is a prefix and a UUID of version 7 in base 32; its first ten characters are the
-- milliseconds and two bits of the version.
CREATE FUNCTION id_at(prefix text, at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT prefix || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz',
        (floor(extract(epoch FROM at) * 1000)::bigint << 2 >> 5 * n & 31)::int + 1, 1), '' ORDER BY n DESC)
    FROM generate_series(0, 9) n
$$;

-- The partitions of a table, lowest first. upper_id is the id that a partition ends before, null for the last.
CREATE FUNCTION partitions_of(list text) RETURNS TABLE (name text, upper_id text) LANGUAGE sql STABLE AS $$
    SELECT c.relname::text, substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']*)''\)$')
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = list::regclass
    ORDER BY substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([^'']*)''\)$') COLLATE "C" NULLS LAST
$$;

-- Creates the missing partitions up to the end of the month after next and returns their number. This function and
-- drop_partitions run as the owner of the tables, so that a server's role needs no right to create tables.
CREATE FUNCTION make_partitions(list text, prefix text) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    covered text COLLATE "C";
    upper_id text COLLATE "C";
    month timestamp;
    name text;
    made bigint := 0;
BEGIN
    IF NOT (has_table_privilege(session_user, list, 'INSERT') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not insert into %s', session_user, list);
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('partitions/' || list, 0)) THEN
        RETURN 0;
    END IF;
    -- A partition for ids outside of the range of times always follows.
    SELECT max(p.upper_id COLLATE "C") INTO covered FROM partitions_of(list) p WHERE p.upper_id IS NOT NULL;
    FOR ahead IN 0..2 LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month';
        upper_id := id_at(prefix, (month + interval '1 month') AT TIME ZONE 'UTC');
        CONTINUE WHEN upper_id <= covered;
        name := list || to_char(month, '_YYYY_MM');
        -- ATTACH PARTITION lets others write; CREATE TABLE PARTITION OF does not.
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING CONSTRAINTS)', name, list);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            list, name, covered, upper_id);
        covered := upper_id;
        made := made + 1;
    END LOOP;
    RETURN made;
END $$;

-- Drops the partitions whose rows are all older than before and returns their number. A partition stays while its
-- month has not ended by the database's clock, and while its rows are needed. If a long read blocks the lock, the
-- function returns and the next call tries again.
CREATE FUNCTION drop_partitions(list text, prefix text, before timestamptz) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    p record;
    need text;
    needed boolean;
    dropped bigint := 0;
BEGIN
    IF NOT (has_table_privilege(session_user, list, 'DELETE') OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s may not delete from %s', session_user, list);
    END IF;
    PERFORM set_config('lock_timeout', '500ms', true);
    FOR p IN SELECT o.name, o.upper_id FROM partitions_of(list) o
        WHERE o.upper_id COLLATE "C" <= id_at(prefix, least(before, now()))
            AND o.upper_id COLLATE "C" > prefix || '0' LOOP
        -- A delivery is needed until it has ended, an event as long as a delivery of it. A sample program's
        -- delivery never ends and has no event. The check is repeated under the lock because a replay may
        -- have been added.
        need := CASE list WHEN 'events' THEN
                format('SELECT EXISTS (SELECT FROM webhook_deliveries WHERE event_id < %L
                    AND NOT starts_with(id, ''sample_''))', p.upper_id)
            ELSE format('SELECT EXISTS (SELECT FROM %I WHERE next_attempt_at IS NOT NULL)', p.name) END;
        EXECUTE need INTO needed;
        EXIT WHEN needed;
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', list);
        EXECUTE need INTO needed;
        EXIT WHEN needed;
        EXECUTE format('DROP TABLE %I', p.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;

-- The first moment of a day in a time zone. Where clocks go back across midnight, the moment comes twice and
-- PostgreSQL returns the later one; the offset of the day before gives the earlier one.
CREATE FUNCTION zone_midnight(day date, zone text) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    late timestamptz := day::timestamp AT TIME ZONE zone;
    before timestamp;
    early timestamptz;
BEGIN
    IF zone = 'UTC' THEN
        RETURN late;
    END IF;
    before := late AT TIME ZONE 'UTC' - interval '24 hours';
    early := (day::timestamp - (before AT TIME ZONE 'UTC' AT TIME ZONE zone - before)) AT TIME ZONE 'UTC';
    RETURN CASE WHEN early < late AND early AT TIME ZONE zone >= day THEN early ELSE late END;
END $$;

-- The day of a moment, which is the last day that has begun. Where clocks go back across midnight, the calendar
-- shows the day before again; the moment still belongs to the new day.
CREATE FUNCTION zone_day(at timestamptz, zone text) RETURNS date LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    day date := (at AT TIME ZONE zone)::date;
BEGIN
    IF zone <> 'UTC' AND zone_midnight(day + 1, zone) <= at THEN
        RETURN day + 1;
    END IF;
    RETURN day;
END $$;

-- Reports whether PostgreSQL has a time zone. A query with an unknown one fails.
CREATE FUNCTION zone_known(zone text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM now() AT TIME ZONE zone;
    RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;

DO $do$
BEGIN
    EXECUTE format('ALTER FUNCTION make_partitions(text, text) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION drop_partitions(text, text, timestamptz) SET search_path = %I, pg_temp',
        current_schema());
    EXECUTE format('ALTER FUNCTION partitions_of(text) SET search_path = %I, pg_temp', current_schema());
END $do$;
ALTER FUNCTION make_partitions(text, text) SET lock_timeout = '500ms';

CREATE TABLE organizations (
    id                  text COLLATE "C" NOT NULL,
    name                text NOT NULL,
    owner_email         text,
    created_at          timestamptz NOT NULL,
    flow_quota          bigint,
    revenue_meter_minor bigint,
    fraud_monitoring    boolean,
    CONSTRAINT organizations_pkey PRIMARY KEY (id),
    CONSTRAINT organizations_name_check CHECK (char_length(name) BETWEEN 1 AND 255),
    CONSTRAINT organizations_flow_quota_check CHECK (flow_quota >= 0),
    CONSTRAINT organizations_revenue_meter_minor_check CHECK (revenue_meter_minor >= 0)
);

-- A key is stored as a keyed hash. prefix and last4 are for display.
CREATE TABLE api_keys (
    id                 text COLLATE "C" NOT NULL,
    org_id             text COLLATE "C" NOT NULL,
    user_id            text COLLATE "C" NOT NULL,
    hash               bytea NOT NULL,
    last4              text NOT NULL,
    livemode           boolean NOT NULL,
    scopes             text[] NOT NULL,
    rate_limit         integer NOT NULL,
    signing_required   boolean NOT NULL DEFAULT false,
    version            text NOT NULL,
    created_at         timestamptz NOT NULL,
    last_used_at       timestamptz,
    revoked_at         timestamptz,
    form               text COLLATE "C",
    CONSTRAINT api_keys_pkey PRIMARY KEY (id),
    CONSTRAINT api_keys_hash_key UNIQUE (hash),
    CONSTRAINT api_keys_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT api_keys_rate_limit_check CHECK (rate_limit BETWEEN 1 AND 1000000),
    CONSTRAINT api_keys_scopes_check CHECK (scopes <@ ARRAY['read', 'write', 'partners:write', 'commissions:write',
        'payouts:write', 'webhooks:write'])
);
CREATE INDEX api_keys_org_idx ON api_keys (org_id, created_at, id);
CREATE UNIQUE INDEX api_keys_form_key ON api_keys (org_id, form) WHERE form IS NOT NULL;

-- The keys that sign an organization's statements. A row is never deleted, since old statements need its public key.
-- private_key is sealed with the server's key. A rotation begins in the future: until retired_at the old key signs,
-- and from created_at of the new row that one.
CREATE TABLE statement_keys (
    id          text COLLATE "C" NOT NULL,
    org_id      text COLLATE "C" NOT NULL,
    public_key  bytea NOT NULL,
    private_key bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    retired_at  timestamptz,
    CONSTRAINT statement_keys_pkey PRIMARY KEY (id),
    CONSTRAINT statement_keys_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT statement_keys_public_key_check CHECK (octet_length(public_key) = 32),
    CONSTRAINT statement_keys_retired_check CHECK (retired_at > created_at)
);
CREATE UNIQUE INDEX statement_keys_current_key ON statement_keys (org_id) WHERE retired_at IS NULL;
CREATE INDEX statement_keys_org_idx ON statement_keys (org_id, created_at, id);

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
    proven_at       timestamptz,
    -- filters of lists that the user saved: program, page, name, query
    views           jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT users_pkey PRIMARY KEY (id),
    CONSTRAINT users_org_key UNIQUE (org_id, id),
    CONSTRAINT users_email_key UNIQUE (org_id, email),
    CONSTRAINT users_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT users_role_check CHECK (role IN ('owner', 'manager', 'finance', 'viewer')),
    CONSTRAINT users_views_check CHECK (jsonb_typeof(views) = 'array' AND jsonb_array_length(views) <= 50),
    CONSTRAINT users_oidc_check CHECK ((oidc_issuer IS NULL) = (oidc_subject IS NULL))
);
CREATE UNIQUE INDEX users_oidc_key ON users (org_id, oidc_issuer, oidc_subject) WHERE oidc_subject IS NOT NULL;
CREATE INDEX users_email_idx ON users (email, created_at, id);
CREATE INDEX users_subject_idx ON users (oidc_subject, oidc_issuer) WHERE oidc_subject IS NOT NULL;

-- Sessions of the console. token_hash is the hash of the cookie's token; the address is stored as a hash of its
-- network.
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

-- Single-use links. The first-owner link may have no organization yet; an invitation has an address and a role,
-- every other link a user.
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
    mailed     boolean NOT NULL DEFAULT false,
    CONSTRAINT user_links_pkey PRIMARY KEY (token_hash),
    CONSTRAINT user_links_org_fkey FOREIGN KEY (org_id) REFERENCES organizations (id),
    CONSTRAINT user_links_user_fkey FOREIGN KEY (org_id, user_id) REFERENCES users (org_id, id) ON DELETE CASCADE,
    CONSTRAINT user_links_kind_check CHECK (CASE kind WHEN 'setup' THEN user_id IS NULL AND email IS NULL
        WHEN 'invitation' THEN org_id IS NOT NULL AND user_id IS NULL AND email IS NOT NULL
        AND role IN ('owner', 'manager', 'finance', 'viewer') ELSE kind IN ('sign_in', 'reset')
        AND user_id IS NOT NULL AND org_id IS NOT NULL END)
);
CREATE UNIQUE INDEX user_links_invitation_key ON user_links (org_id, email) WHERE kind = 'invitation'
    AND used_at IS NULL;
CREATE INDEX user_links_email_idx ON user_links (email) WHERE kind = 'invitation' AND used_at IS NULL;
CREATE INDEX user_links_user_idx ON user_links (org_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX user_links_expires_idx ON user_links (expires_at);

-- Failed and unfinished attempts to sign in. subject is the keyed hash of an account or a network.
CREATE TABLE sign_in_failures (
    id        bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    subject   bytea NOT NULL,
    failed_at timestamptz NOT NULL,
    CONSTRAINT sign_in_failures_pkey PRIMARY KEY (id)
);
CREATE INDEX sign_in_failures_subject_idx ON sign_in_failures (subject, failed_at);
CREATE INDEX sign_in_failures_failed_idx ON sign_in_failures (failed_at);

-- The audit log has no foreign keys, because entries outlive the objects they describe.
CREATE TABLE audit_log_entries (
    id         text COLLATE "C" NOT NULL,
    org_id     text COLLATE "C" NOT NULL,
    program_id text COLLATE "C" NOT NULL,
    action     text COLLATE "C" NOT NULL,
    target_id  text COLLATE "C" NOT NULL,
    api_key_id text COLLATE "C",
    request_id text COLLATE "C",
    reason     text,
    before     json,
    after      json,
    created_at timestamptz NOT NULL,
    actor_type text COLLATE "C",
    actor_id   text COLLATE "C",
    client     text,
    CONSTRAINT audit_log_entries_pkey PRIMARY KEY (id),
    CONSTRAINT audit_log_entries_actor_check CHECK (actor_type IN ('api_key', 'person', 'operator', 'job', 'processor',
        'importer'))
);
CREATE INDEX audit_log_entries_list_idx ON audit_log_entries (program_id, created_at, id);
CREATE INDEX audit_log_entries_target_idx ON audit_log_entries (target_id, created_at, id);
CREATE INDEX audit_log_entries_action_idx ON audit_log_entries (program_id, action, created_at, id);

-- Facts that the books need of deleted audit log entries, without actor and reason. named reports whether the entry
-- had an API key or a person. partner_id is set for deleted payouts.
CREATE TABLE audit_log_facts (
    id           text COLLATE "C" NOT NULL,
    org_id       text COLLATE "C" NOT NULL,
    program_id   text COLLATE "C" NOT NULL,
    action       text COLLATE "C" NOT NULL,
    target_id    text COLLATE "C" NOT NULL,
    partner_id   text COLLATE "C",
    named        boolean NOT NULL,
    before_minor bigint,
    after_minor  bigint,
    created_at   timestamptz NOT NULL,
    CONSTRAINT audit_log_facts_pkey PRIMARY KEY (id)
);
CREATE INDEX audit_log_facts_target_idx ON audit_log_facts (target_id, created_at, id);
CREATE INDEX audit_log_facts_action_idx ON audit_log_facts (program_id, action, created_at, id);
CREATE TRIGGER audit_log_facts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log_facts
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The facts of all entries, present and deleted.
CREATE VIEW audit_facts AS
SELECT id, org_id, program_id, action, target_id, before ->> 'partner_id' AS partner_id,
    (api_key_id IS NOT NULL OR actor_type = 'person' AND actor_id IS NOT NULL) AS named,
    (before ->> 'amount_minor')::bigint AS before_minor, (after ->> 'amount_minor')::bigint AS after_minor, created_at
FROM audit_log_entries
UNION ALL
SELECT id, org_id, program_id, action, target_id, partner_id, named, before_minor, after_minor, created_at
FROM audit_log_facts;

-- Reports whether the books need the facts of an action's entries.
CREATE FUNCTION audit_log_needs(action text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT action IN ('commission.created', 'commission.corrected', 'commission.redecided', 'commission.rejected',
        'payout.deleted')
$$;

-- Refuses every change of the audit log except deletions by cut_audit_log.
CREATE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('rail.audit_log_cut', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
        USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
CREATE TRIGGER audit_log_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();

-- Refuses the deletion of an entry that is younger than 30 days or whose facts are missing.
CREATE FUNCTION refuse_wrong_cut() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM gone g WHERE g.created_at > now() - interval '30 days'
        OR audit_log_needs(g.action) AND NOT EXISTS (SELECT FROM audit_log_facts f WHERE f.id = g.id)) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
            USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_append_only';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_log_entries_cut AFTER DELETE ON audit_log_entries REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_wrong_cut();

-- Deletes up to lim entries that are older than before and returns their number; 0 while another call runs. The
-- programs are read first, because the index of the list begins with the program.
CREATE FUNCTION cut_audit_log(before timestamptz, lim bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    gone text[];
BEGIN
    IF NOT (has_table_privilege(session_user, 'audit_log_entries', 'DELETE')
        OR pg_has_role(session_user, current_user, 'MEMBER')) THEN
        RAISE insufficient_privilege
            USING MESSAGE = format('%s may not delete from audit_log_entries', session_user);
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('audit_log_cut', 0)) THEN
        RETURN 0;
    END IF;
    WITH RECURSIVE p AS (
        SELECT min(program_id) AS id FROM audit_log_entries
        UNION ALL
        SELECT (SELECT min(a.program_id) FROM audit_log_entries a WHERE a.program_id > p.id)
        FROM p WHERE p.id IS NOT NULL
    )
    SELECT array_agg(o.id) INTO gone FROM (
        SELECT e.id FROM p CROSS JOIN LATERAL (
            SELECT a.id FROM audit_log_entries a
            WHERE a.program_id = p.id AND a.created_at < least(cut_audit_log.before, now() - interval '30 days')
            ORDER BY a.created_at, a.id LIMIT lim) e
        LIMIT lim) o;
    INSERT INTO audit_log_facts (id, org_id, program_id, action, target_id, partner_id, named, before_minor,
        after_minor, created_at)
    SELECT f.id, f.org_id, f.program_id, f.action, f.target_id, f.partner_id, f.named, f.before_minor,
        f.after_minor, f.created_at
    FROM audit_facts f WHERE f.id = ANY (gone) AND audit_log_needs(f.action);
    PERFORM set_config('rail.audit_log_cut', 'on', true);
    DELETE FROM audit_log_entries a WHERE a.id = ANY (gone);
    PERFORM set_config('rail.audit_log_cut', 'off', true);
    RETURN coalesce(cardinality(gone), 0);
END $$;

DO $do$
BEGIN
    EXECUTE format('ALTER FUNCTION cut_audit_log(timestamptz, bigint) SET search_path = %I, pg_temp', current_schema());
END $do$;

-- body is encrypted with the server's key, because some responses contain a secret.
CREATE TABLE idempotency_keys (
    org_id      text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    status      integer NOT NULL,
    body        bytea NOT NULL,
    created_at  timestamptz NOT NULL,
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (org_id, key),
    CONSTRAINT idempotency_keys_key_check CHECK (char_length(key) BETWEEN 1 AND 255)
);
CREATE INDEX idempotency_keys_created_idx ON idempotency_keys (created_at);

CREATE TABLE key_fingerprints (
    fingerprint text COLLATE "C" NOT NULL,
    used_since  timestamptz NOT NULL,
    replaced_at timestamptz,
    CONSTRAINT key_fingerprints_pkey PRIMARY KEY (fingerprint),
    CONSTRAINT key_fingerprints_fingerprint_check CHECK (fingerprint ~ '^[0-9a-f]{8}$')
);

CREATE TABLE schema_floor (
    id      boolean NOT NULL DEFAULT true,
    version bigint NOT NULL,
    CONSTRAINT schema_floor_pkey PRIMARY KEY (id),
    CONSTRAINT schema_floor_id_check CHECK (id)
);
INSERT INTO schema_floor (version) VALUES (113);
