-- The merchant's own id of a partner.
-- The release before survives this: what it makes has none, and it leaves others as they are.
SET LOCAL lock_timeout = '2s';

ALTER TABLE partners ADD COLUMN external_id text COLLATE "C",
    ADD CONSTRAINT partners_external_id_check CHECK (char_length(external_id) BETWEEN 1 AND 255);
CREATE UNIQUE INDEX partners_external_id_key ON partners (program_id, external_id) WHERE external_id IS NOT NULL;
