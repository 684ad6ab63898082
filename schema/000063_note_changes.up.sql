-- When a note's text was last changed; null for never.
-- The release before survives this: it leaves the column empty.
SET LOCAL lock_timeout = '2s';

ALTER TABLE partner_notes ADD COLUMN updated_at timestamptz;
