ALTER TABLE audit_log_entries DROP COLUMN actor_type, DROP COLUMN actor_id;
