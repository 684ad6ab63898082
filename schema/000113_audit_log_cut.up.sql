-- Old entries of the audit log can be dropped, where the operator sets a retention. The
-- books need some facts of some of them: they move into a table, without the reason and
-- without who did it. The log is append-only otherwise.
-- The release before survives this: it drops no entries, and it reads none of these.
SET LOCAL lock_timeout = '2s';

LOCK TABLE audit_log_entries IN SHARE ROW EXCLUSIVE MODE;

-- Facts of entries that were dropped, a row an entry. named is whether the entry named
-- an API key or a person. partner_id is that of a deleted payout.
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

-- The facts of all entries, of those in the log and of those that were dropped.
CREATE VIEW audit_facts AS
SELECT id, org_id, program_id, action, target_id, before ->> 'partner_id' AS partner_id,
    (api_key_id IS NOT NULL OR actor_type = 'person' AND actor_id IS NOT NULL) AS named,
    (before ->> 'amount_minor')::bigint AS before_minor, (after ->> 'amount_minor')::bigint AS after_minor, created_at
FROM audit_log_entries
UNION ALL
SELECT id, org_id, program_id, action, target_id, partner_id, named, before_minor, after_minor, created_at
FROM audit_log_facts;

-- Whether the books need the facts of an action's entries.
CREATE FUNCTION audit_log_needs(action text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT action IN ('commission.created', 'commission.corrected', 'commission.redecided', 'commission.rejected',
        'payout.deleted')
$$;

-- The log refuses every change but a cut: a deletion by cut_audit_log.
CREATE FUNCTION refuse_log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('rail.audit_log_cut', true) = 'on' THEN
        RETURN NULL;
    END IF;
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME
        USING ERRCODE = '23514', CONSTRAINT = TG_TABLE_NAME || '_append_only';
END $$;
CREATE OR REPLACE TRIGGER audit_log_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_log_change();

-- Nor can a cut take an entry of the last 30 days, or one whose facts are missing.
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

-- Drops up to lim entries from before a time, and returns how many. One caller at a time
-- does. Programs are found by the index of the list: it has no other column before the time.
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
