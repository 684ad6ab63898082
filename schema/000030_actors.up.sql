-- The audit log names who did it: a key, a person, or something that acts by
-- itself.
-- The release before survives this: it names no actor, and what it writes is
-- a key's, as nearly everything is.
SET LOCAL lock_timeout = '2s';

ALTER TABLE audit_log_entries
    ADD COLUMN actor_type text COLLATE "C" NOT NULL DEFAULT 'api_key',
    ADD COLUMN actor_id text COLLATE "C",
    ADD CONSTRAINT audit_log_entries_actor_check
        CHECK (actor_type IN ('api_key', 'person', 'operator', 'job', 'processor', 'importer')) NOT VALID;

-- What no key did was done by a partner in the portal, whom the reason named.
ALTER TABLE audit_log_entries DISABLE TRIGGER audit_log_entries_append_only;
UPDATE audit_log_entries SET actor_type = 'person', actor_id = substring(reason FROM 'partner ([0-9A-Za-z_]+) in the portal')
WHERE api_key_id IS NULL AND reason LIKE 'By the partner %';
ALTER TABLE audit_log_entries ENABLE TRIGGER audit_log_entries_append_only;
