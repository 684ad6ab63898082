-- Partners sign in by mail: they are found by their address, over all programs. A visitor is
-- somebody of the organization who looks at the portal as the partner.
-- A mail in the name of a program has its name and look.
-- The release before survives this: what it writes is not a visitor's, and of no program.
SET LOCAL lock_timeout = '2s';
ALTER TABLE portal_sessions ADD COLUMN visitor boolean NOT NULL DEFAULT false;
CREATE INDEX partners_address_idx ON partners (lower(email)) WHERE status = 'active';
ALTER TABLE mails ADD COLUMN program_id text COLLATE "C";
