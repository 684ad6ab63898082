ALTER TABLE processor_connections DROP COLUMN reconcile_at;
