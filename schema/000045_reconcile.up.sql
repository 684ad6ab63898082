-- When a connection is compared next with what its processor knows; NULL for a day after
-- it was made.
-- The release before survives this: it writes none of it.
SET LOCAL lock_timeout = '2s';

ALTER TABLE processor_connections ADD COLUMN reconcile_at timestamptz;
