SET LOCAL lock_timeout = '2s';

ALTER TABLE flows DROP COLUMN conditions_bytes, DROP COLUMN branches_digest;
DROP FUNCTION flow_conditions_bytes(json);
DROP FUNCTION flow_branches_digest(json);
