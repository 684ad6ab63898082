-- The audit log names who did it: a key, a person, or something that acts by
-- itself. Entries of before name none, and are read as what they can only be: a
-- key's where they name one, else those of the partner whom the reason names.
-- The release before survives this: its entries name no actor either.
SET LOCAL lock_timeout = '2s';

ALTER TABLE audit_log_entries
    ADD COLUMN actor_type text COLLATE "C",
    ADD COLUMN actor_id text COLLATE "C",
    ADD CONSTRAINT audit_log_entries_actor_check
        CHECK (actor_type IN ('api_key', 'person', 'operator', 'job', 'processor', 'importer')) NOT VALID;
