-- A page of the merchant's may frame the portal of one of its users: such a session has its
-- token in the address, and no cookie.
-- The release before survives this: it looks sessions up by cookies alone.
SET LOCAL lock_timeout = '2s';
ALTER TABLE portal_sessions ADD COLUMN embedded boolean NOT NULL DEFAULT false;
